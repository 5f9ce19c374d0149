//! Which tests a command line runs, and whether its ending is theirs.
//!
//! `cargo test | tail` ends as `tail` does, and `pytest || true` always ends well:
//! such an ending says nothing about the tests. Read with the grammar, as guards
//! read lines, so that no text of a command is taken for one.

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::guards::shell::runners::{self, Place, Runner, Script};
use crate::guards::shell::selection;
use crate::guards::shell::stand::{self, Sourced, Stand, Stands};
use crate::guards::shell::steps::Steps;
use crate::guards::shell::tree;
use crate::guards::shell::word::{self, Variables, Word};
use crate::workflow::PACKAGE_SCRIPT;

/// Runs of tests on one line that are looked at.
const MOST_RUNS: usize = 64;
/// Lines in lines (`bash -c '…'`) that are followed.
const MOST_NESTED: usize = 3;

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
    /// Each of them.
    pub runs: Vec<TestRun>,
}

/// One of the runs of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// Whose tests: `cargo`, `python`, `js` …; none where a script may run anybody's.
    pub family: Option<&'static str>,
    /// The program that runs them.
    pub program: String,
    /// Whether that program runs what a file of the project says.
    pub is_script: bool,
    /// Which of them; all, where none is named.
    pub named: Vec<String>,
    /// Options that leave some of them out.
    pub narrowed: Vec<String>,
    /// The folders it may run in.
    pub places: BTreeSet<Place>,
    /// Where files of the project say what is run.
    pub scripts: Vec<Script>,
}

impl TestCommand {
    fn of(runner: Runner, words: &[&str], places: BTreeSet<Place>) -> Self {
        let Runner { runner, counts, is_script, family } = runner;
        let scripts = if is_script { runners::scripts(words) } else { Vec::new() };
        let program = words.first().map(|word| word.rsplit('/').next().unwrap_or(word)).unwrap_or_default();
        let program = if program == "py.test" { "pytest" } else { program }.to_owned();
        let (named, narrowed) = (selection::named(words), selection::narrowing(words));
        // A script of a package is the same by whichever of them it is run.
        let (program, named) = match runners::package_script(words).filter(|_| is_script) {
            Some((script, handed)) => (format!("{PACKAGE_SCRIPT}{script}"), selection::handed(handed)),
            None => (program, named),
        };
        let run = TestRun { family, program, is_script, named, narrowed, places: places.clone(), scripts };
        Self { runner, counts, is_ending: true, is_script, places, runs: vec![run] }
    }

    /// Both on one line: each must have ended well.
    fn and(mut self, other: Self) -> Self {
        self.places.extend(other.places);
        self.runs.extend(other.runs);
        Self {
            runner: other.runner,
            counts: self.counts || other.counts,
            is_script: self.is_script || other.is_script,
            is_ending: self.is_ending && other.is_ending,
            ..self
        }
    }

    /// The same, begun where a line stands.
    fn moved(mut self, stands: Option<&[Stand]>) -> Self {
        let from = |places: &BTreeSet<Place>| -> BTreeSet<Place> {
            let Some(stands) = stands else { return BTreeSet::from([Place::Unknown]) };
            let join = |place: &Place, stand: &Stand| match place {
                Place::Known(folder) => runners::place(&stand::joined(&stand.at, Word::text(folder))),
                Place::Unknown => Place::Unknown,
            };
            places.iter().flat_map(|place| stands.iter().map(move |stand| join(place, stand))).collect()
        };
        self.places = from(&self.places);
        for run in &mut self.runs {
            run.places = from(&run.places);
        }
        self
    }

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
    in_line(line, &Steps::default(), &[], 0)
}

/// The same of a line in a line; `made_up` are the names that those around it gave a meaning of their own.
fn in_line(line: &str, steps: &Steps, made_up: &[String], nested: usize) -> Option<TestCommand> {
    let tree = tree::parsed(line, steps).ok()?;
    let walk = tree::Walk::of(tree.root_node(), steps).ok()?;
    let nodes = &walk.nodes;
    let mut variables = Variables::new(steps.clone());
    let mut made_up = made_up.to_vec();
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
            // Another `PATH` is another `cargo`, however it is set.
            ["env" | "export" | "declare", set @ ..] if set.iter().any(|word| word.starts_with("PATH=")) => return None,
            // Nothing after it runs.
            ["exec" | "exit" | "return", ..] if runs == 0 => speaks = true,
            _ => {}
        }
        let stands = stands.as_ref().and_then(|stands| stands.at(*node));
        let handed = runners::handed(&all).filter(|_| nested < MOST_NESTED);
        let run = match handed {
            Some(inner) => {
                let run = in_line(&inner, steps, &made_up, nested + 1);
                speaks |= run.is_none() && may_count(&inner);
                run.map(|run| run.moved(stands.as_deref()))
            }
            None => {
                let words = runners::unwrapped(&words);
                let run = runners::runner(words).filter(|_| !words.iter().any(|word| TESTS_NOTHING.contains(word)));
                if run.is_some() && made_up.iter().any(|name| words.first() == Some(&name.as_str())) {
                    return None;
                }
                run.map(|runner| TestCommand::of(runner, words, runners::places_of(stands, &all)))
            }
        };
        let Some(run) = run else { continue };
        runs += 1;
        // Whether each ends the line takes as long as the line is.
        if runs > MOST_RUNS {
            return None;
        }
        let run = TestCommand { is_ending: run.is_ending && ends_the_line(*node, line, keeps_failures), ..run };
        found = Some(match found.take() {
            Some(before) => before.and(run),
            None => run,
        });
    }
    found.map(|test| TestCommand { is_ending: test.is_ending && !speaks, ..test })
}

/// Whether a command that prints may say how many tests there were.
fn may_count(command: &str) -> bool {
    !command.bytes().all(|byte| byte.is_ascii_alphabetic() || b" .,:;!?-_=#*'\"".contains(&byte))
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
            ("bash -c \"cargo test\"", "cargo test", true),
            ("sh -lc 'cd app && cargo test'", "cargo test", true),
            ("bash -euo pipefail -c 'cargo test | tail'", "cargo test", true),
            ("bash -c 'cargo test | tail'", "cargo test", false),
            ("bash -c 'cargo test; true'", "cargo test", false),
            ("bash -c 'cargo test' || true", "cargo test", false),
            ("bash -c 'echo 5 passed' && npm test", "npm test", false),
            ("env -u RUSTFLAGS X=1 cargo test", "cargo test", true),
            ("env -S 'X=1 cargo test'", "cargo test", true),
            ("timeout -k 5 -s KILL 60 cargo test", "cargo test", true),
            ("timeout 60 bash -c 'cargo test'", "cargo test", true),
            ("time cargo test", "cargo test", true),
            ("nice -n 10 cargo test", "cargo test", true),
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
            "cd app && bash -c 'cd sub && cargo test'",
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
            "cd .. && bash -c 'cargo test'",
            "bash -c 'cd /elsewhere && cargo test'",
        ] {
            assert!(test_command(line).is_none_or(|found| found.is_elsewhere(&inside).is_some()), "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_a_run_is_none() {
        for line in [
            "bash -c 'echo cargo test'",
            "cargo() { echo; }; export -f cargo; bash -c 'cargo test'",
            "env PATH=/x:$PATH cargo test",
            "bash -c \"$LINE\"",
            "command -v cargo test",
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
