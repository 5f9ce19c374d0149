//! A fuzzer for a stable toolchain: mutates the corpus and checks what must always hold.
//!
//! `cargo run --release -p twining-code --example fuzz_definitions -- 1000000 [seed]`
//!
//! The runs are the same for the same seed. A failure prints the input and stops; a parser that
//! crashes leaves it in the panic message or, killed by a signal, as the last number printed.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use twining_code::{Excerpt, read_source};

/// Mutants at most that join the corpus for the rest of the run, because they reach something new.
const KEPT: usize = 4_000;
const LONGEST: usize = 1_500;

/// What is being examined, for the one who finds the pieces.
static CURRENT: Mutex<(String, Vec<u8>)> = Mutex::new((String::new(), Vec::new()));

fn main() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let mut words = std::env::args().skip(1);
    let runs: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(100_000);
    let seed: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let mut corpus = corpus()?;
    let (files, mut dice, mut seen) =
        (corpus.len(), Dice(seed | 1), std::collections::HashSet::new());
    // A release build aborts on panic; print the input first.
    std::panic::set_hook(Box::new(|panic| {
        let input = CURRENT.lock().map(|input| input.clone()).unwrap_or_default();
        let text = input.1.escape_ascii().to_string();
        let _ = writeln!(std::io::stderr(), "{panic}\n  {} {text:?}", input.0);
    }));
    let mut definitions = 0_u64;
    for run in 0..runs {
        if run % 10_000 == 0 {
            writeln!(out, "{run}")?;
        }
        let (path, mut input) = corpus[dice.below(corpus.len())].clone();
        for _ in 0..=dice.below(4) {
            mutate(&mut input, &corpus, &mut dice);
        }
        input.truncate(LONGEST);
        // Now and then in the language of another file.
        let path = if dice.below(8) == 0 { corpus[dice.below(files)].0.clone() } else { path };
        if let Ok(mut current) = CURRENT.lock() {
            current.clone_from(&(path.clone(), input.clone()));
        }
        match examine(&path, &input) {
            Ok((shape, count)) => {
                definitions += count;
                if seen.len() < KEPT && seen.insert(shape) {
                    corpus.push((path, input));
                }
            }
            Err(what) => {
                let text = input.escape_ascii().to_string();
                writeln!(out, "run {run}: {what}\n  {path} {text:?}")?;
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    let kept = corpus.len() - files;
    writeln!(
        out,
        "{runs} runs clean, seed {seed}: {files} files, {kept} mutants kept, {definitions} definitions"
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Checks what must hold for any input; answers with its rough shape.
fn examine(path: &str, input: &[u8]) -> Result<(String, u64), &'static str> {
    let file = read_source(path, input);
    let mut places: Vec<String> = file.definitions.iter().map(|found| found.place()).collect();
    places.sort();
    places.dedup();
    if places.len() != file.definitions.len() {
        return Err("two definitions are at one place");
    }
    for found in &file.definitions {
        if found.first_line < 1
            || found.first_line > found.last_line
            || found.last_line > file.whole.last_line
        {
            return Err("a definition is outside of the file");
        }
        if found.tokens > file.whole.tokens {
            return Err("a definition is larger than the file");
        }
    }
    if Excerpt::read(path, input, &(1..=u32::MAX)).lines.len() > file.whole.last_line as usize {
        return Err("there are more lines than the file has");
    }
    if file != read_source(path, input) {
        return Err("it is not read the same way twice");
    }
    let kinds: Vec<&str> = file.definitions.iter().map(|found| found.kind.name()).collect();
    let shape = format!("{path} {} {}", file.imports.len().min(4), kinds.join(" "));
    Ok((shape, u64::try_from(kinds.len()).unwrap_or_default()))
}

fn mutate(input: &mut Vec<u8>, corpus: &[(String, Vec<u8>)], dice: &mut Dice) {
    const WORDS: [&str; 44] = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        ";",
        ",",
        ":",
        "::",
        ".",
        "=",
        "=>",
        "->",
        "\"",
        "'",
        "`",
        "\"\"\"",
        "'''",
        "${",
        "#{",
        "//",
        "/*",
        "*/",
        "#",
        "\\",
        "\n",
        "\r\n",
        " ",
        "\n    ",
        "class A",
        "fn a",
        "def a",
        "function a",
        "r#\"",
        "R\"x(",
        "<<~A\n",
        "<<<A\n",
        "@\"",
        "=begin\n",
        "é",
        "\0",
    ];
    let at = dice.below(input.len() + 1);
    let length = dice.below(40).min(input.len() - at);
    let word = WORDS[dice.below(WORDS.len())].bytes();
    match dice.below(8) {
        0 => drop(input.splice(at..at, word)),
        1 => drop(input.splice(at..at + length, word)),
        2 => drop(input.drain(at..at + length)),
        3 => {
            let piece = input[at..at + length].to_vec();
            let to = dice.below(input.len() + 1);
            drop(input.splice(to..to, piece));
        }
        4 | 5 => {
            let other = &corpus[dice.below(corpus.len())].1;
            let from = dice.below(other.len() + 1);
            let piece = other[from..(from + dice.below(120)).min(other.len())].to_vec();
            drop(input.splice(at..at, piece));
        }
        6 if at < input.len() => {
            let piece = input[at..at + length].repeat(dice.below(30));
            drop(input.splice(at..at, piece));
        }
        _ if at < input.len() => input[at] ^= 1 << dice.below(8),
        _ => input.truncate(at),
    }
}

/// The files of the corpus with their names.
fn corpus() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files = std::fs::read_dir(folder)?
        .map(|entry| {
            let entry = entry?;
            Ok((entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path())?))
        })
        .collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

/// Numbers that are the same on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, sides: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(sides.max(1)).unwrap_or(1)).unwrap_or_default()
    }
}
