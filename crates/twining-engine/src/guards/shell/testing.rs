//! Which tests a command line runs, and whether its ending is theirs.
//!
//! `cargo test | tail` ends as `tail` does, and `pytest || true` always ends well:
//! such an ending says nothing about the tests. Read with the grammar, as guards
//! read lines, so that no text of a command is taken for one.

use std::collections::BTreeSet;
use std::rc::Rc;

use tree_sitter::Node;

use crate::guards::shell::commands::name_of;
use crate::guards::shell::stand::{self, Sourced, Stand, Stands};
use crate::guards::shell::steps::Steps;
use crate::guards::shell::tree;
use crate::guards::shell::word::{self, Piece, Variables, Word};

/// Runs of tests on one line that are looked at.
const MOST_RUNS: usize = 64;

/// A run of tests on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCommand {
    /// What runs them: `cargo test`.
    pub runner: String,
    /// Whether it always tells how many ran, so that silence means none.
    pub counts: bool,
    /// Whether the line ends well only if the tests did.
    pub is_ending: bool,
    /// Whether what it runs is written in a file of the project, and may be anything.
    pub is_script: bool,
    /// The folders it may run in, or is pointed at, from the one the line begins in.
    pub places: BTreeSet<Place>,
}

/// A folder that tests run in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// This one.
    Known(String),
    /// Nobody can tell from the line.
    Unknown,
}

impl TestCommand {
    /// Where it runs, if that is not for certain inside, as the end of a sentence.
    #[must_use]
    pub fn is_elsewhere(&self, inside: &dyn Fn(&str) -> bool) -> Option<String> {
        self.places.iter().find_map(|place| match place {
            Place::Known(folder) if inside(folder) => None,
            Place::Known(folder) => Some(format!("ran in `{}`, outside the project", twining_model::text::excerpt(folder, 80))),
            Place::Unknown => Some("ran in a folder that cannot be told from the line".to_owned()),
        })
    }
}

/// What puts words of its own among those of a test run.
const SPEAKERS: [&str; 5] = ["echo", "printf", "cat", "yes", "seq"];
/// With these a runner runs nothing.
const TESTS_NOTHING: [&str; 3] = ["--help", "--version", "--no-run"];

/// The tests a line runs; none if it runs none, hides what runs them, or cannot be read.
#[must_use]
pub fn test_command(line: &str) -> Option<TestCommand> {
    let steps = Steps::default();
    let tree = tree::parsed(line, &steps).ok()?;
    let walk = tree::Walk::of(tree.root_node(), &steps).ok()?;
    let nodes = &walk.nodes;
    let mut variables = Variables::new(steps);
    let mut made_up = Vec::new();
    for node in nodes {
        tree::assign(*node, line, &mut variables).ok()?;
        match node.kind() {
            "function_definition" => {
                made_up.extend(node.child_by_field_name("name").map(|name| word::said(line, name.byte_range()).to_owned()));
            }
            // Another `PATH` is another `cargo`.
            "variable_assignment" if node.child_by_field_name("name").is_some_and(|name| word::said(line, name.byte_range()) == "PATH") => {
                return None;
            }
            _ => {}
        }
    }
    let stands = Stands::of(&walk, line, &variables, &[Stand::default()], None, Sourced::StaysHere).ok()?;
    let mut found: Option<TestCommand> = None;
    let (mut keeps_failures, mut speaks, mut runs) = (false, false, 0);
    for node in nodes.iter().filter(|node| node.kind() == "command") {
        let mut cursor = node.walk();
        let words: Option<Vec<Word>> = node
            .children(&mut cursor)
            .filter(|child| !matches!(child.kind(), "variable_assignment" | "file_redirect" | "herestring_redirect" | "heredoc_redirect"))
            .map(|child| word::read(child, line, &variables, 0).ok())
            .collect();
        let all = words?;
        let words: Vec<String> = all.iter().map(Word::gist).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["alias", names @ ..] => {
                made_up.extend(names.iter().filter_map(|name| name.split_once('=')).map(|(name, _)| name.to_owned()));
            }
            ["set", options @ ..] if options.contains(&"pipefail") => keeps_failures = true,
            [name, ..] if SPEAKERS.contains(name) => speaks |= *name == "cat" || may_count(word::said(line, node.byte_range())),
            // Nothing after it runs.
            ["exec" | "exit" | "return", ..] if runs == 0 => speaks = true,
            _ => {}
        }
        let words = unwrapped(&words);
        if words.iter().any(|word| TESTS_NOTHING.contains(word)) {
            continue;
        }
        let Some(Runner { runner, counts, is_script }) = runner(words) else { continue };
        if made_up.iter().any(|name| words.first() == Some(&name.as_str())) {
            return None;
        }
        runs += 1;
        // Whether each ends the line takes as long as the line is.
        if runs > MOST_RUNS {
            return None;
        }
        let is_ending = ends_the_line(*node, line, keeps_failures);
        // Of several, each must have ended well.
        let so_far = found.take();
        let mut places = places_of(stands.as_ref().and_then(|stands| stands.at(*node)), &all);
        places.extend(so_far.iter().flat_map(|run| run.places.iter().cloned()));
        found = Some(TestCommand {
            runner,
            counts: counts || so_far.as_ref().is_some_and(|run| run.counts),
            is_script: is_script || so_far.as_ref().is_some_and(|run| run.is_script),
            is_ending: is_ending && so_far.is_none_or(|run| run.is_ending),
            places,
        });
    }
    found.map(|test| TestCommand { is_ending: test.is_ending && !speaks, ..test })
}

/// Whether a command that prints may say how many tests there were.
fn may_count(command: &str) -> bool {
    !command.bytes().all(|byte| byte.is_ascii_alphabetic() || b" .,:;!?-_=#*'\"".contains(&byte))
}

/// Options that say where a run happens, with the programs that mean it so; any, where none is named.
const WHERE: [(&str, &[&str]); 14] = [
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
fn places_of(stands: Option<Rc<[Stand]>>, words: &[Word]) -> BTreeSet<Place> {
    let Some(stands) = stands else { return BTreeSet::from([Place::Unknown]) };
    let programs: Vec<String> = words.iter().map(name_of).collect();
    let means = |option: &str| {
        let meant =
            |(known, by): &&(&str, &[&str])| *known == option && (by.is_empty() || programs.iter().any(|name| by.contains(&name.as_str())));
        WHERE.iter().any(|known| meant(&known))
    };
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

fn place(folder: &Word) -> Place {
    // The top of the repository that the line stands in is as good as where it stands.
    let is_top = matches!(folder.0.as_slice(), [Piece::Hole(made_of)] if made_of.iter().any(|word| word == "--show-toplevel"));
    match folder.known() {
        Some(known) => Place::Known(known),
        None if is_top => Place::Known(String::new()),
        None => Place::Unknown,
    }
}

/// A command without what only starts it.
fn unwrapped<'w, 'l>(mut words: &'w [&'l str]) -> &'w [&'l str] {
    loop {
        words = match words {
            ["time" | "nice" | "nohup" | "sudo" | "command" | "exec" | "npx" | "bunx" | "xvfb-run" | "chronic", rest @ ..] => {
                past_options(rest)
            }
            ["timeout", rest @ ..] => past_options(rest).get(1..).unwrap_or_default(),
            ["env", rest @ ..] => {
                let set = rest.iter().take_while(|word| word.contains('=') || word.starts_with('-')).count();
                &rest[set..]
            }
            ["uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "mise" | "direnv", "run" | "exec" | "x", rest @ ..]
            | ["bundle" | "pnpm" | "yarn" | "npm", "exec" | "dlx", rest @ ..] => past_options(rest),
            ["python" | "python3", "-m", rest @ ..] => rest,
            _ => return words,
        };
    }
}

fn past_options<'w, 'l>(words: &'w [&'l str]) -> &'w [&'l str] {
    &words[words.iter().take_while(|word| word.starts_with('-')).count()..]
}

/// What runs tests.
struct Runner {
    runner: String,
    /// Whether it always tells how many ran.
    counts: bool,
    /// Whether a file of the project says what it runs.
    is_script: bool,
}

fn runner(words: &[&str]) -> Option<Runner> {
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
        "make" | "just" | "task" | "ninja" | "rake" | "bazel" | "sbt" | "tox" | "nox"
            if name == "tox" || name == "nox" || plain.iter().any(is_test) || plain.contains(&"check") =>
        {
            false
        }
        _ => return None,
    };
    let runner = if verb.is_empty() || counts && rest.is_empty() { name.to_owned() } else { format!("{name} {verb}") };
    let is_script = matches!(name, "npm" | "pnpm" | "yarn" | "bun" | "make" | "just" | "task" | "ninja" | "rake" | "tox" | "nox");
    Some(Runner { runner, counts, is_script: is_script && !counts })
}

fn is_test(word: &&str) -> bool {
    *word == "test"
        || *word == "tests"
        || word.starts_with("test:")
        || word.starts_with("test-")
        || word.ends_with("-test")
        || word.ends_with("Test")
}

/// Whether the line ends well only if this command did.
fn ends_the_line(node: Node<'_>, line: &str, keeps_failures: bool) -> bool {
    let mut inner = node;
    while let Some(outer) = inner.parent() {
        let holds = match outer.kind() {
            // What comes after it speaks for it, unless joined by `&&`.
            "program" | "subshell" | "compound_statement" => is_last(inner, outer) && !is_in_background(inner, line),
            "list" => {
                let mut cursor = outer.walk();
                outer.children(&mut cursor).all(|part| part.is_named() || word::said(line, part.byte_range()) == "&&")
            }
            "pipeline" => keeps_failures || is_last(inner, outer),
            "redirected_statement" => true,
            // Loops, conditions, `!`, `$(..)`: too many ways to end well.
            _ => false,
        };
        if !holds {
            return false;
        }
        inner = outer;
    }
    true
}

fn is_last(inner: Node<'_>, outer: Node<'_>) -> bool {
    let count = outer.named_child_count();
    (0..count)
        .rev()
        .filter_map(|at| outer.named_child(at))
        .find(|child| child.kind() != "comment")
        .is_some_and(|last| last.id() == inner.id())
}

fn is_in_background(inner: Node<'_>, line: &str) -> bool {
    inner.next_sibling().is_some_and(|next| !next.is_named() && word::said(line, next.byte_range()) == "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_is_asked_for_help_tests_nothing() {
        for line in ["python3 -m unittest --help", "cargo test --no-run", "pytest --version"] {
            assert!(test_command(line).is_none(), "{line}");
        }
    }

    #[test]
    fn a_run_of_tests_is_known_by_its_program_and_its_ending_by_the_grammar() {
        for (line, runner, is_ending) in [
            ("cargo test", "cargo test", true),
            ("cargo nextest run -p a 2>&1", "cargo nextest", true),
            ("cd app && RUST_LOG=x cargo test --all", "cargo test", true),
            ("cargo test | tail -5", "cargo test", false),
            ("echo 'test result: ok. 5 passed'; exit 0; cargo test", "cargo test", false),
            ("printf 'Tests: 5 passed, 5 total' && npm test", "npm test", false),
            ("exec echo ok; cargo test", "cargo test", false),
            ("cargo test && echo \"${n} passed\"", "cargo test", false),
            ("echo the tests && cargo test", "cargo test", true),
            ("set -o pipefail; cargo test | tail -5", "cargo test", true),
            ("cargo test || true", "cargo test", false),
            ("cargo test; echo done", "cargo test", false),
            ("! cargo test", "cargo test", false),
            ("cargo test &", "cargo test", false),
            ("if cargo test; then echo ok; fi", "cargo test", false),
            ("cargo test && echo ok", "cargo test", true),
            ("(cd a && timeout 60 uv run pytest -q)", "pytest", true),
            ("python -m pytest tests/", "pytest tests/", true),
            ("go test ./...", "go test", true),
            ("npm run test:unit -- --ci", "npm run", true),
            ("npx vitest run", "vitest run", true),
            ("./gradlew :app:test", "gradlew :app:test", true),
            ("mvn -q test", "mvn test", true),
            ("make -j2 test", "make test", true),
            ("node_modules/.bin/jest", "jest", true),
        ] {
            let found = test_command(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((found.runner.as_str(), found.is_ending), (runner, is_ending), "{line}");
        }
    }

    #[test]
    fn where_tests_run_is_told_from_the_line() {
        let inside = |folder: &str| !folder.starts_with(['/', '~']) && !folder.starts_with("..") || folder.starts_with("/p/");
        for line in [
            "cargo test",
            "cd app && cargo test",
            "cd /p/app && cargo test --manifest-path Cargo.toml",
            "make -C app test",
            "(cd app; npm test)",
            "source .venv/bin/activate && pytest -q --junitxml /elsewhere/x.xml",
            "cd \"$(git rev-parse --show-toplevel)\" && cargo test -p a",
            "for i in 1 2; do cargo test; done",
            "cd app && npm test && cd .. && cargo test -- ../x",
        ] {
            let found = test_command(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(found.is_elsewhere(&inside), None, "{line}");
        }
        for line in [
            "cd /elsewhere && cargo test",
            "cd /elsewhere; cargo test",
            "cargo test --manifest-path /elsewhere/Cargo.toml",
            "cargo test --manifest-path=../other/Cargo.toml",
            "make -C /elsewhere test",
            "make -C../other test",
            "npm --prefix /elsewhere test",
            "cd .. && pytest",
            "pytest /elsewhere/tests",
            "pytest ../other/tests",
            "mvn -f /elsewhere/pom.xml test",
            "gradle -p ../other test",
            "cd \"$SOMEWHERE\" && cargo test",
            "pushd ~/other && go test ./...",
            "uv --directory /elsewhere run pytest",
            "cd app && cargo test && cd /elsewhere && cargo test",
        ] {
            assert!(test_command(line).is_none_or(|found| found.is_elsewhere(&inside).is_some()), "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_a_run_is_none() {
        for line in [
            "echo 'test result: ok. 5 passed; 0 failed'",
            "cargo build",
            "cat pytest.log",
            "cargo() { echo fine; }; cargo test",
            "alias pytest=true; pytest",
            "PATH=/x:$PATH cargo test",
            "./pytest",
            "git commit -m 'cargo test'",
            "npm install",
            "",
        ] {
            assert_eq!(test_command(line), None, "{line}");
        }
    }
}
