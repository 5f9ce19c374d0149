//! A fuzzer for a stable toolchain: mutates the corpus and checks what must always hold.
//!
//! `cargo run --release -p twining-dot --example fuzz -- 1000000 [seed]`
//!
//! The runs are the same for the same seed. A failure prints the input and stops;
//! put it into `corpus/`, which the tests read too.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use twining_dot::{
    AlwaysClash, DotDocument, DrawOptions, EdgeSelector, check, dot, merge, mermaid, svg,
};

/// Mutants at most that join the corpus for the rest of the run, because they reach something new.
const KEPT: usize = 4_000;
const LONGEST: usize = 600;

/// What is being examined, for the one who finds the pieces.
static CURRENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn main() -> std::io::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    let mut words = std::env::args().skip(1);
    let runs: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(100_000);
    let seed: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let mut corpus = corpus()?;
    let mut sound: Vec<Vec<u8>> = corpus.iter().filter(|input| check(input).ok).cloned().collect();
    let (files, mut dice, mut seen) =
        (corpus.len(), Dice(seed | 1), std::collections::HashSet::new());
    let (mut valid, mut edited, mut merged) = (0_u64, 0_u64, 0_u64);
    // A release build aborts on panic; print the input first.
    std::panic::set_hook(Box::new(|panic| {
        let input =
            CURRENT.lock().map(|input| input.escape_ascii().to_string()).unwrap_or_default();
        let _ = writeln!(std::io::stderr(), "{panic}\n  input {input:?}");
    }));
    for run in 0..runs {
        // Mutants of what is sound are sound more often, and only those are edited and merged.
        let pool = if dice.below(3) > 0 { &sound } else { &corpus };
        let mut input = pool[dice.below(pool.len())].clone();
        for _ in 0..=dice.below(3) {
            if dice.below(3) > 0 {
                mutate_tokens(&mut input, &corpus, &mut dice);
            } else {
                mutate(&mut input, &corpus, &mut dice);
            }
        }
        input.truncate(LONGEST);
        let other = corpus[dice.below(corpus.len())].clone();
        let pick = dice.next();
        if let Ok(mut current) = CURRENT.lock() {
            current.clone_from(&input);
        }
        match examine(&input, &other, pick) {
            Ok(reached) => {
                valid += u64::from(reached.valid);
                edited += u64::from(reached.edited);
                merged += u64::from(reached.merged);
                if seen.len() < KEPT && seen.insert(reached.shape) {
                    if reached.valid {
                        sound.push(input.clone());
                    }
                    corpus.push(input);
                }
            }
            Err(what) => return failed(&mut out, run, what, &input, &other),
        }
    }
    let kept = corpus.len() - files;
    writeln!(
        out,
        "{runs} runs clean, seed {seed}: {files} files, {kept} mutants kept, {valid} valid, {edited} edited, {merged} merged"
    )?;
    Ok(ExitCode::SUCCESS)
}

fn failed(
    out: &mut impl std::io::Write,
    run: u64,
    what: &str,
    input: &[u8],
    other: &[u8],
) -> std::io::Result<ExitCode> {
    writeln!(
        out,
        "run {run}: {what}\n  input {:?}\n  other {:?}",
        input.escape_ascii().to_string(),
        other.escape_ascii().to_string()
    )?;
    Ok(ExitCode::FAILURE)
}

/// What an input reached: a rough substitute for coverage.
struct Reached {
    valid: bool,
    edited: bool,
    merged: bool,
    shape: String,
}

/// Checks what must hold for any input.
fn examine(input: &[u8], other: &[u8], pick: u64) -> Result<Reached, &'static str> {
    let document = DotDocument::parse(input);
    let mut printed = Vec::with_capacity(input.len());
    document.tokens().for_each(|token| printed.extend_from_slice(token.span.of(input)));
    if printed != input {
        return Err("it is not printed back");
    }
    let found = check(input);
    let mut shape: Vec<String> =
        found.errors.iter().map(|error| error.message.chars().take(24).collect()).collect();
    shape.push(format!(
        "{} {} {}",
        found.nodes.min(9),
        found.edges.min(9),
        document.graph().subgraphs.len().min(4)
    ));
    let mut reached =
        Reached { valid: found.ok, edited: false, merged: false, shape: shape.join("|") };
    if !found.ok {
        return Ok(reached);
    }
    let again = DotDocument::parse(dot(document.graph()));
    if !again.errors.is_empty()
        || again.graph().nodes.len() != found.nodes
        || again.graph().edges.len() != found.edges
    {
        return Err("what is written from its meaning is not the same graph");
    }
    if pick.is_multiple_of(8) {
        let _ = (
            svg(document.graph(), &DrawOptions::default()),
            mermaid(document.graph(), &DrawOptions::default()),
        );
    }
    reached.edited = edit(&document, pick)?;
    let mut ours = document.clone();
    let _ = ours.add_node("fuzz-ours", &[]);
    match merge(other, ours.bytes(), input, &AlwaysClash) {
        Ok(merged) => {
            reached.merged = true;
            let merged = DotDocument::parse(merged.text);
            if !merged.errors.is_empty() {
                return Err("a merge is not valid");
            }
            if document.graph().nodes.iter().any(|node| merged.graph().node(&node.id).is_none()) {
                return Err("a merge loses what both sides have");
            }
        }
        Err(twining_dot::MergeError::Unwritable(_)) => return Err("a merge cannot be written"),
        Err(_) => {}
    }
    Ok(reached)
}

fn edit(document: &DotDocument, pick: u64) -> Result<bool, &'static str> {
    let graph = document.graph();
    let Ok(place) = usize::try_from(pick >> 8) else { return Ok(false) };
    let Some(node) = graph.nodes.get(place % graph.nodes.len().max(1)) else {
        return Ok(false);
    };
    let (nodes, edges) = (graph.nodes.len(), graph.edges.len());
    let mut edited = document.clone();
    match pick % 4 {
        0 => {
            edited
                .set_node_attr(&node.id, "fuzz", "a b")
                .map_err(|_| "a node's attribute cannot be set")?;
            let set =
                edited.graph().node(&node.id).and_then(|node| node.get("fuzz")) == Some("a b");
            if !set || edited.graph().nodes.len() != nodes || edited.graph().edges.len() != edges {
                return Err("setting an attribute does something else");
            }
        }
        1 => {
            edited.remove_node(&node.id).map_err(|_| "a node cannot be removed")?;
            let joined = graph
                .edges
                .iter()
                .filter(|edge| edge.from == node.id || edge.to == node.id)
                .count();
            if edited.graph().nodes.len() != nodes - 1
                || edited.graph().edges.len() != edges - joined
            {
                return Err("removing a node does something else");
            }
        }
        2 => {
            let Some(edge) = graph.edges.get(place % edges.max(1)) else { return Ok(false) };
            let selector = EdgeSelector::new(&edge.from, &edge.to);
            let removed = edited.remove_edge(&selector).map_err(|_| "an edge cannot be removed")?;
            if edited.graph().nodes.len() != nodes || edited.graph().edges.len() != edges - removed
            {
                return Err("removing an edge does something else");
            }
        }
        _ => {
            edited
                .add_edge(&node.id, "fuzz-new", &[("x", "1".into())])
                .map_err(|_| "an edge cannot be added")?;
            if edited.graph().edges.len() != edges + 1 {
                return Err("adding an edge does something else");
            }
        }
    }
    Ok(true)
}

/// Takes, doubles, moves or brings in whole tokens.
fn mutate_tokens(input: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
    let spans: Vec<(usize, usize)> = DotDocument::parse(input.as_slice())
        .tokens()
        .map(|token| (token.span.start, token.span.end))
        .collect();
    let first = dice.below(spans.len());
    let last = (first + dice.below(6)).min(spans.len() - 1);
    let (start, end) = (spans[first].0, spans[last].1);
    let to = spans[dice.below(spans.len())].0;
    match dice.below(4) {
        0 => drop(input.drain(start..end)),
        1 => {
            let piece = input[start..end].to_vec();
            drop(input.splice(to..to, piece));
        }
        _ => {
            let other = DotDocument::parse(corpus[dice.below(corpus.len())].as_slice());
            let tokens: Vec<_> = other.tokens().map(|token| token.span).collect();
            let first = dice.below(tokens.len());
            let last = (first + dice.below(8)).min(tokens.len() - 1);
            let mut piece = other.bytes()[tokens[first].start..tokens[last].end].to_vec();
            piece.push(b' ');
            drop(input.splice(to..to, piece));
        }
    }
}

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], dice: &mut Dice) {
    const WORDS: [&[u8]; 40] = [
        b"digraph",
        b"graph",
        b"strict",
        b"node",
        b"edge",
        b"subgraph",
        b"{",
        b"}",
        b"[",
        b"]",
        b"->",
        b"--",
        b"=",
        b";",
        b",",
        b":",
        b"+",
        b"\"",
        b"\\",
        b"<",
        b">",
        b"/*",
        b"*/",
        b"//",
        b"#",
        b"\n",
        b"\r\n",
        b" ",
        b"a",
        b"b",
        b"0",
        b"-1",
        b".5",
        b"\xEF\xBB\xBF",
        b"\xC3\xA9",
        b"\xFF",
        b"\0",
        b"[key=k]",
        b"{a b}",
        b"<!--",
    ];
    let at = dice.below(input.len() + 1);
    let length = dice.below(12).min(input.len() - at);
    match dice.below(7) {
        0 => drop(input.splice(at..at, WORDS[dice.below(WORDS.len())].iter().copied())),
        1 => drop(input.splice(at..at + length, WORDS[dice.below(WORDS.len())].iter().copied())),
        2 => drop(input.drain(at..at + length)),
        3 => {
            let piece = input[at..at + length].to_vec();
            let to = dice.below(input.len() + 1);
            drop(input.splice(to..to, piece));
        }
        4 => {
            let other = &corpus[dice.below(corpus.len())];
            let from = dice.below(other.len() + 1);
            let piece = other[from..(from + dice.below(40)).min(other.len())].to_vec();
            drop(input.splice(at..at, piece));
        }
        5 if at < input.len() => input[at] = u8::try_from(dice.below(256)).unwrap_or_default(),
        _ if at < input.len() => input[at] ^= 1 << dice.below(8),
        _ => input.truncate(at),
    }
}

fn corpus() -> std::io::Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files.iter().map(std::fs::read).collect()
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
