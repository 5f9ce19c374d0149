//! What runs tests: programs behind their wrappers, whose tests they run, which of
//! them, and where a file of the project says what is run.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::guards::shell::commands::name_of;
use crate::guards::shell::lists::SHELLS;
use crate::guards::shell::stand::{self, Stand};
use crate::guards::shell::word::{Piece, Word};

/// A folder that tests run in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// This one.
    Known(String),
    /// Nobody can tell from the line.
    Unknown,
}

/// Where a file of the project says what is run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Script {
    /// A script of `package.json`, by its name.
    Package(String),
    /// A target of a makefile; of this one, where the line says which.
    Make(Option<String>, String),
    /// A recipe of a justfile.
    Just(String),
    /// A file of commands for the shell.
    File(String),
}

/// What runs tests.
pub(super) struct Runner {
    pub(super) runner: String,
    /// Whether it always tells how many ran.
    pub(super) counts: bool,
    /// Whether a file of the project says what it runs.
    pub(super) is_script: bool,
    /// Whose tests; none where a script may run anybody's.
    pub(super) family: Option<&'static str>,
}

/// Options that say where a run happens, with the programs that mean it so; any, where none is named.
pub(super) const WHERE: [(&str, &[&str]); 14] = [
    ("--manifest-path", &[]),
    ("-C", &[]),
    ("--directory", &[]),
    ("--prefix", &[]),
    ("--dir", &["pnpm", "npm", "yarn", "vitest"]),
    ("--cwd", &[]),
    ("--rootdir", &[]),
    ("--rootDir", &[]),
    ("--root", &[]),
    ("--project", &["gradle", "gradlew", "uv", "poetry", "pdm"]),
    ("--project-dir", &[]),
    ("-p", &["gradle", "gradlew"]),
    ("-f", &["mvn", "mvnw", "make", "just"]),
    ("--file", &["mvn", "mvnw", "make"]),
];

/// Where a command runs: where it stands, where its options say, and where the
/// tests lie that it is given.
pub(super) fn places_of(stands: Option<Rc<[Stand]>>, words: &[Word]) -> BTreeSet<Place> {
    let Some(stands) = stands else { return BTreeSet::from([Place::Unknown]) };
    let programs: Vec<String> = words.iter().map(name_of).collect();
    let means = |option: &str| {
        let meant =
            |(known, by): &&(&str, &[&str])| *known == option && (by.is_empty() || programs.iter().any(|name| by.contains(&name.as_str())));
        WHERE.iter().any(|known| meant(&known))
    };
    // What they test is named from the top of their own workspace: `//app:tests`.
    let has_labels = programs.iter().any(|name| matches!(name.as_str(), "bazel" | "bazelisk" | "buck" | "buck2" | "pants" | "plz"));
    let mut pointed: Vec<Word> = Vec::new();
    let mut is_valued = false;
    // What stands behind `--` is for the tests themselves.
    for (at, word) in words.iter().enumerate().skip(1).take_while(|(_, word)| word.gist() != "--") {
        let gist = word.gist();
        let joined = gist.split_once('=').filter(|(option, _)| means(option)).and_then(|(option, _)| word.after(&format!("{option}=")));
        let close = gist.starts_with("-C").then(|| word.after("-C")).flatten().filter(|rest| !rest.gist().is_empty());
        if let Some(folder) = joined.or(close) {
            pointed.push(folder);
        } else if means(&gist) {
            pointed.extend(words.get(at + 1).cloned());
        } else if has_labels && gist.starts_with("//") {
            is_valued = false;
            continue;
        } else if !gist.starts_with('-') && !is_valued && (gist.starts_with(['/', '~']) || gist.split('/').any(|part| part == "..")) {
            pointed.push(word.clone());
        }
        is_valued = gist.starts_with('-') && !gist.contains('=');
    }
    let mut places = BTreeSet::new();
    for stand in stands.iter() {
        places.insert(place(&stand.at));
        places.extend(pointed.iter().map(|folder| place(&stand::joined(&stand.at, folder.clone()))));
    }
    places
}

pub(super) fn place(folder: &Word) -> Place {
    // The top of the repository that the line stands in is as good as where it stands.
    let is_top = matches!(folder.0.as_slice(), [Piece::Hole(made_of)] if made_of.iter().any(|word| word == "--show-toplevel"));
    match folder.known() {
        Some(known) => Place::Known(known),
        None if is_top => Place::Known(String::new()),
        None => Place::Unknown,
    }
}

/// A command without what only starts it.
pub(super) fn unwrapped<'w, 'l>(mut words: &'w [&'l str]) -> &'w [&'l str] {
    loop {
        words = match words {
            // Only asked where it lies.
            ["command", "-v" | "-V", ..] => &[],
            [
                "time" | "nice" | "ionice" | "nohup" | "setsid" | "stdbuf" | "sudo" | "doas" | "command" | "exec" | "npx" | "bunx"
                | "xvfb-run" | "chronic" | "unbuffer" | "caffeinate" | "builtin",
                rest @ ..,
            ] => past_options(rest),
            ["timeout" | "gtimeout", rest @ ..] => past_options(rest).get(1..).unwrap_or_default(),
            ["env", rest @ ..] => {
                let mut rest = past_options(rest);
                while let [set, more @ ..] = rest
                    && set.contains('=')
                {
                    rest = more;
                }
                rest
            }
            ["uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "mise" | "direnv", "run" | "exec" | "x", rest @ ..]
            | ["bundle" | "pnpm" | "yarn" | "npm", "exec" | "dlx", rest @ ..] => past_options(rest),
            ["python" | "python3", "-m", rest @ ..] => rest,
            _ => return words,
        };
    }
}

/// What follows the options. A value is known by its option, or by being a number.
fn past_options<'w, 'l>(mut words: &'w [&'l str]) -> &'w [&'l str] {
    while let [option, rest @ ..] = words
        && option.starts_with('-')
    {
        let is_valued = match (*option, rest) {
            ("-u" | "-s" | "--signal" | "--unset" | "-C" | "--chdir", [_, _, ..]) => true,
            ("-n" | "-k" | "-c" | "--kill-after", [value, _, ..]) => value.starts_with(|c: char| c.is_ascii_digit()),
            _ => false,
        };
        words = if is_valued { rest.get(1..).unwrap_or_default() } else { rest };
    }
    words
}

/// The line that a shell is handed: `bash -lc 'cargo test'`, `env -S 'cargo test'`.
pub(super) fn handed(all: &[Word]) -> Option<String> {
    let gists: Vec<String> = all.iter().map(Word::gist).collect();
    let gists: Vec<&str> = gists.iter().map(String::as_str).collect();
    if let ["env", rest @ ..] = gists.as_slice()
        && let Some(at) = rest.iter().position(|word| *word == "-S" || word.starts_with("--split-string"))
    {
        return match rest.get(at)?.split_once('=') {
            Some((_, line)) => Some(line.to_owned()),
            None => all.get(at + 2)?.known(),
        };
    }
    let plain = unwrapped(&gists);
    let words = all.get(all.len() - plain.len()..)?;
    if !words.first().map(name_of).is_some_and(|name| SHELLS.contains(&name.as_str())) {
        return None;
    }
    let (mut at, mut keeps_failures) = (1, false);
    while let Some(option) = plain.get(at).filter(|word| word.starts_with('-')) {
        if option.starts_with('-') && !option.starts_with("--") && option.contains('c') {
            let line = words.get(at + 1)?.known()?;
            return Some(if keeps_failures { format!("set -o pipefail; {line}") } else { line });
        }
        let is_valued = option.ends_with(['o', 'O']) && !option.starts_with("--");
        keeps_failures |= is_valued && plain.get(at + 1) == Some(&"pipefail");
        at += if is_valued { 2 } else { 1 };
    }
    None
}

/// The folder a runner of scripts is sent to: `make -C sub`, `npm --prefix web`.
pub(crate) fn sent_to<'w>(words: &[&'w str]) -> Option<&'w str> {
    let sends = |option: &str| matches!(option, "-C" | "--directory" | "--prefix" | "--dir" | "--cwd");
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((option, folder)) if sends(option) => return Some(folder),
            None if sends(word) => return words.next().copied(),
            _ => {}
        }
        if let Some(folder) = word.strip_prefix("-C").filter(|folder| !folder.is_empty()) {
            return Some(folder);
        }
    }
    None
}

/// With these a script is another package's, or stands in a file that lies elsewhere.
const ELSEWHERE: [&str; 10] =
    ["-w", "-ws", "-r", "-F", "--workspace", "--workspaces", "--recursive", "--filter", "workspace", "workspaces"];

/// The script of a package that a line runs, and the words that it is handed.
pub(super) fn package_script<'w, 's>(words: &'w [&'s str]) -> Option<(&'s str, &'w [&'s str])> {
    let is_elsewhere = |word: &&str| ELSEWHERE.contains(&word.split('=').next().unwrap_or(word));
    let (first, rest) = words.split_first()?;
    if !matches!(*first, "npm" | "pnpm" | "yarn" | "bun") || rest.iter().any(is_elsewhere) {
        return None;
    }
    // What stands behind the folder a package is in is the verb.
    let from = if WHERE.iter().any(|(option, _)| rest.first() == Some(option)) { 2 } else { 0 };
    let is_plain = |word: &&str| !word.starts_with('-');
    let rest = rest.get(from..)?;
    let at = rest.iter().position(is_plain)?;
    let (verb, behind) = rest.get(at..)?.split_first()?;
    match *verb {
        "run" | "run-script" => {
            let at = behind.iter().position(is_plain)?;
            behind.get(at..)?.split_first().map(|(name, handed)| (*name, handed))
        }
        "t" | "tst" => Some(("test", behind)),
        name => Some((name, behind)),
    }
}

/// Where a file of the project says what a runner of scripts does.
pub(crate) fn scripts(words: &[&str]) -> Vec<Script> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let plain: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let has = |options: &[&str]| rest.iter().any(|word| options.contains(&word.split('=').next().unwrap_or(word)));
    match *first {
        "just" if has(&["-f", "-d", "--justfile", "--working-directory"]) => Vec::new(),
        "npm" | "pnpm" | "yarn" | "bun" => {
            package_script(words).map(|(script, _)| Script::Package(script.to_owned())).into_iter().collect()
        }
        "make" | "gmake" => {
            let mut file = None;
            let mut targets = Vec::new();
            let mut words = rest.iter();
            while let Some(word) = words.next() {
                match *word {
                    "-f" | "--file" | "--makefile" => file = words.next().map(|name| (*name).to_owned()),
                    "-C" | "--directory" | "-I" | "-o" | "-W" => drop(words.next()),
                    word if word.starts_with('-') || word.contains('=') || word.bytes().all(|byte| byte.is_ascii_digit()) => {}
                    word => targets.push(word.to_owned()),
                }
            }
            targets.into_iter().map(|target| Script::Make(file.clone(), target)).collect()
        }
        "just" => plain.first().map(|recipe| Script::Just((*recipe).to_owned())).into_iter().collect(),
        name if SHELLS.contains(&name) || matches!(name, "." | "source") => {
            plain.first().map(|file| Script::File((*file).to_owned())).into_iter().collect()
        }
        path if path.contains('/')
            && !path.starts_with('/')
            && (path.ends_with(".sh") || !path.rsplit('/').next().is_some_and(|n| n.contains('.'))) =>
        {
            vec![Script::File(path.to_owned())]
        }
        _ => Vec::new(),
    }
}

pub(super) fn runner(words: &[&str]) -> Option<Runner> {
    let (first, rest) = words.split_first()?;
    // A program of the project's own by the same name may print what it likes.
    let name = match first.rsplit_once('/') {
        None => *first,
        Some((folder, name)) if folder.ends_with("bin") || (folder == "." && matches!(name, "gradlew" | "mvnw")) => name,
        Some(_) => return None,
    };
    let plain: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-') && !word.starts_with('+')).collect();
    let verb = plain.first().copied().unwrap_or_default();
    let counts = match name {
        "cargo" => match verb {
            "test" | "t" => true,
            "nextest" => plain.get(1) == Some(&"run"),
            "llvm-cov" | "tarpaulin" => true,
            _ => return None,
        },
        "pytest" | "py.test" | "jest" | "vitest" | "mocha" | "phpunit" | "rspec" | "ava" | "ctest" | "bats" | "unittest" | "trial" => true,
        "go" | "dotnet" | "deno" | "bun" | "swift" | "mix" | "flutter" | "dart" | "zig" if verb == "test" => name != "zig",
        "python" | "python3" if plain.contains(&"manage.py") && plain.contains(&"test") => true,
        "node" if rest.contains(&"--test") => true,
        "playwright" | "cypress" if matches!(verb, "test" | "run") => true,
        "npm" | "pnpm" | "yarn" | "bun" if matches!(verb, "test" | "t" | "tst") || (verb == "run" && plain.get(1).is_some_and(is_test)) => {
            false
        }
        "pnpm" | "yarn" if is_test(&verb) => false,
        "mvn" | "mvnw" if plain.iter().any(|goal| matches!(*goal, "test" | "verify" | "install" | "package")) => true,
        "gradle" | "gradlew" if plain.iter().any(|task| task.rsplit(':').next().is_some_and(|task| is_test(&task) || task == "check")) => {
            false
        }
        "make" | "just" | "task" | "ninja" | "rake" | "bazel" | "bazelisk" | "sbt" | "tox" | "nox"
            if name == "tox" || name == "nox" || plain.iter().any(is_test) || plain.contains(&"check") =>
        {
            false
        }
        _ => return None,
    };
    let runner = if verb.is_empty() || counts && rest.is_empty() { name.to_owned() } else { format!("{name} {verb}") };
    let family = family_of(name);
    let is_script = matches!(name, "npm" | "pnpm" | "yarn" | "bun" | "make" | "just" | "task" | "ninja" | "rake" | "tox" | "nox");
    Some(Runner { runner, counts, is_script: is_script && !counts, family })
}

fn family_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "cargo" => "cargo",
        "pytest" | "py.test" | "unittest" | "trial" | "python" | "python3" | "tox" | "nox" => "python",
        "jest" | "vitest" | "mocha" | "ava" | "node" | "deno" | "bun" | "playwright" | "cypress" | "npm" | "pnpm" | "yarn" => "js",
        "phpunit" => "php",
        "rspec" | "rake" => "ruby",
        "mvn" | "mvnw" | "gradle" | "gradlew" | "sbt" => "jvm",
        "flutter" | "dart" => "dart",
        "go" => "go",
        "dotnet" => "dotnet",
        "swift" => "swift",
        "mix" => "mix",
        "zig" => "zig",
        "bats" => "bats",
        _ => return None,
    })
}

fn is_test(word: &&str) -> bool {
    *word == "test"
        || *word == "tests"
        || word.starts_with("test:")
        || word.starts_with("test-")
        || word.ends_with("-test")
        || word.ends_with("Test")
}
