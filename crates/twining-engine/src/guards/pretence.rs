//! Whether what a line runs only talks of tests: a script of the project may print
//! any count. Where it plainly runs nothing but `echo` and its like, or prints a
//! count of its own, what it says is no evidence. Anything that may run a program
//! of the project, or one that is not known, is given the benefit of the doubt.

use std::cell::Cell;

use twining_model::text;

use crate::guards::recipes;
use crate::guards::shadow::{self, Asked};
use crate::guards::shell::{self, Spoken, scripts_of, sent_to};
use crate::guards::{Script, normal};
use crate::workflow::counts_in;

/// Scripts in scripts that are followed.
const MOST_NESTED: usize = 5;
/// Scripts that are followed in all.
const MOST_FOLLOWED: usize = 24;

/// Why a line that is run in `folder` shows nothing, as the end of a sentence that
/// begins with it. `read` gives small files, by their path from the top; `there` tells
/// whether there is one, of any size.
pub(crate) fn pretends(line: &str, folder: &str, read: &dyn Fn(&str) -> Option<String>, there: &dyn Fn(&str) -> bool) -> Option<String> {
    let search = Search { asked: Asked { read, there }, followed: Cell::new(0) };
    let found = search.line(line, folder, 0)?;
    let told = |said: &str| text::excerpt(said.trim(), 80).replace('\n', "; ");
    if let Some(file) = &found.shadow {
        return Some(format!("runs `{}` of the project in the runner's place", told(file)));
    }
    match found {
        Found { counted: Some(said), is_nested: true, .. } => {
            Some(format!("runs a script that prints a count of its own: `{}`", told(&said)))
        }
        Found { may_test: false, said, is_nested: true, .. } => Some(format!("comes down to `{}`, which tests nothing", told(&said))),
        _ => None,
    }
}

struct Search<'r> {
    asked: Asked<'r>,
    followed: Cell<usize>,
}

/// What was found out about some lines.
#[derive(Default)]
struct Found {
    /// Whether something among them may run tests.
    may_test: bool,
    /// What among them prints a count of tests that passed.
    counted: Option<String>,
    /// The lines themselves, or those they lead to.
    said: String,
    /// Whether a script said so.
    is_nested: bool,
    /// The file of the project that runs in a runner's place.
    shadow: Option<String>,
}

impl Found {
    fn add(&mut self, other: Self) {
        self.may_test |= other.may_test;
        self.counted = self.counted.take().or(other.counted);
        self.is_nested |= other.is_nested;
        self.shadow = self.shadow.take().or(other.shadow);
        if !other.said.is_empty() {
            self.said = other.said;
        }
    }
}

impl Search<'_> {
    /// None where the lines cannot be read.
    fn line(&self, lines: &str, folder: &str, nested: usize) -> Option<Found> {
        let spoken = shell::spoken(lines)?;
        let mut found = Found { said: lines.to_owned(), ..Found::default() };
        found.counted = counted(&spoken);
        for command in &spoken.commands {
            let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
            if let Some(inner) = &command.handed {
                found.add(self.line(inner, folder, nested + 1).unwrap_or(Found { may_test: true, ..Found::default() }));
                continue;
            }
            let stood_in: Vec<String> = command.folders.iter().map(|place| inside_of(folder, place)).collect();
            found.shadow = found.shadow.take().or_else(|| shadow::in_place_of(command, &spoken, &stood_in, &self.asked));
            let scripts = scripts_of(&words);
            if scripts.is_empty() {
                found.may_test |= may_test(&words, command.is_known, &spoken);
                continue;
            }
            for script in &scripts {
                let there = sent_to(&words).unwrap_or_default();
                let places = command.folders.iter().map(|place| inside_of(&format!("{folder}/{place}"), there));
                let followed: Vec<Found> = places.filter_map(|place| self.script(script, &place, nested + 1)).collect();
                found.may_test |= followed.is_empty();
                followed.into_iter().for_each(|inner| found.add(inner));
            }
        }
        Some(found)
    }

    /// None where nobody can tell.
    fn script(&self, script: &Script, folder: &str, nested: usize) -> Option<Found> {
        self.followed.set(self.followed.get() + 1);
        if nested > MOST_NESTED || self.followed.get() > MOST_FOLLOWED {
            return None;
        }
        let read = |path: &str| (self.asked.read)(&inside_of(folder, path));
        let recipe = recipes::find(script, &read)?;
        let mut found = self.line(&recipe.lines, folder, nested)?;
        for other in &recipe.others {
            // What a target is made from may be a file, and is no test then.
            if let Some(other) = self.script(other, folder, nested + 1) {
                found.may_test |= other.may_test;
                found.counted = found.counted.take().or(other.counted);
                found.shadow = found.shadow.take().or(other.shadow);
            }
        }
        Some(Found { is_nested: true, ..found })
    }
}

/// A path from a folder, from the top.
fn inside_of(folder: &str, path: &str) -> String {
    normal("", &format!("{folder}/{path}")).trim_start_matches('/').to_owned()
}

/// What a script prints itself that tells of tests that passed: all that it prints
/// together, or a word that it hands to whatever prints it.
fn counted(spoken: &Spoken) -> Option<String> {
    let all: Vec<Vec<&str>> = spoken.commands.iter().map(|command| command.words.iter().map(String::as_str).collect()).collect();
    let told: Vec<String> = all.iter().filter_map(|words| printed(words)).collect();
    let searches = |words: &[&str]| words.first().is_some_and(|first| matches!(*first, "grep" | "rg" | "sed" | "awk"));
    let handed = all.iter().filter(|words| !searches(words)).flatten().map(|word| word.replace("\\n", "\n"));
    let together = (told.len() > 1).then(|| told.join("\n"));
    told.into_iter().chain(handed).chain(spoken.documents.iter().cloned()).chain(together).find(|text| counts(text))
}

/// Whether a text ends as a test run does.
fn counts(text: &str) -> bool {
    counts_in(text).is_some_and(|tests| tests.passed > 0)
}

/// What a command prints, as far as its own words say.
fn printed(words: &[&str]) -> Option<String> {
    let (first, rest) = words.split_first()?;
    match *first {
        "echo" | "printf" => {
            let text: Vec<&str> = rest.iter().copied().filter(|word| !matches!(*word, "-e" | "-n" | "-en" | "-ne")).collect();
            Some(text.join(" ").replace("\\n", "\n").replace("\\t", "\t"))
        }
        _ => inline(words).map(|code| code.replace("\\n", "\n").replace(['"', '\'', '`', '(', ')'], "\n")),
    }
}

/// Code that an interpreter is given on the line.
fn inline<'w>(words: &[&'w str]) -> Option<&'w str> {
    let (first, rest) = words.split_first()?;
    let program = first.rsplit('/').next().unwrap_or(first).trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !matches!(program, "python" | "node" | "perl" | "ruby" | "php" | "lua" | "bun" | "deno") {
        return None;
    }
    let at = rest.iter().position(|word| matches!(*word, "-c" | "-e" | "-p" | "-r" | "-E" | "--eval" | "--print" | "eval"))?;
    rest.get(at + 1).copied()
}

/// Programs that run no test, whatever they are given.
const IDLE: [&str; 72] = [
    ":", "[", "[[", "awk", "base64", "basename", "black", "break", "cat", "cc", "cd", "chmod", "clear", "continue", "cp", "curl", "cut",
    "date", "declare", "dirname", "echo", "eslint", "exit", "export", "false", "file", "gcc", "git", "grep", "head", "hostname", "id",
    "install", "jq", "kill", "let", "ln", "local", "ls", "mkdir", "mv", "popd", "prettier", "printf", "ps", "pushd", "pwd", "read",
    "return", "rev", "rm", "ruff", "rustfmt", "sed", "seq", "set", "shift", "shopt", "sleep", "sort", "stat", "tail", "tee", "test",
    "touch", "tr", "true", "tsc", "uname", "unset", "wc", "yes",
];

/// Whether a command may run tests, for all that its words tell.
fn may_test(words: &[&str], is_known: bool, spoken: &Spoken) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    if !is_known {
        return true;
    }
    // What a function does is read where it is written.
    if IDLE.contains(first) || spoken.functions.iter().any(|name| name == first) {
        return false;
    }
    if let Some(code) = inline(words) {
        return ["import", "require", "load", "exec", "spawn", "system", "open"].iter().any(|word| code.contains(word));
    }
    let verb = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or_default();
    match *first {
        "cargo" => !matches!(verb, "build" | "check" | "fmt" | "clippy" | "doc" | "clean" | "fetch" | "version"),
        "npm" | "pnpm" | "yarn" => !matches!(verb, "install" | "i" | "ci" | "add"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)], line: &str) -> Option<String> {
        let read = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        pretends(line, "", &read, &|path| read(path).is_some())
    }

    fn package(test: &str) -> String {
        serde_json::json!({"scripts": {"test": test, "fake": "echo 'Tests: 5 passed, 5 total'"}}).to_string()
    }

    #[test]
    fn a_script_that_only_talks_of_tests_is_found_out() {
        for test in [
            "echo 'Tests: 5 passed, 5 total'",
            "printf 'Tests:       5 passed\\n' && exit 0",
            "cat results.txt",
            "true",
            "npm run fake",
            "sh -c \"echo 'Tests: 5 passed'\"",
            "node -e \"console.log('Tests: 5 passed, 5 total')\"",
            "python3 -c 'print(\"5 passed in 0.1s\")'",
            "tsc && cat results.txt",
            "sh scripts/fake.sh",
            "./scripts/fake.sh",
            "make -s fake",
            "cd web && npm test",
            "jest --passWithNoTests && echo 'Tests: 5 passed, 5 total'",
            "f() { echo 'Tests: 5 passed'; }; f",
            "cat <<E\nTests: 5 passed\nE",
            "cross-env CI=1 echo 'Tests: 5 passed, 5 total'",
            "jest --passWithNoTests; echo '# tests 5'; echo '# pass 5'; echo '# fail 0'",
            "npm --prefix web test",
            "yarn --cwd=web test",
        ] {
            let package = package(test);
            let files = [
                ("package.json", package.as_str()),
                ("scripts/fake.sh", "#!/bin/sh\nset -e\necho 'Tests: 5 passed'\n"),
                ("Makefile", "SAY = echo\nfake: more\n\t@$(SAY) 'Tests: 5 passed'\nmore:\n\ttrue\n"),
                ("web/package.json", r#"{"scripts": {"test": "echo 'Tests: 2 passed'"}}"#),
            ];
            assert!(of(&files, "npm test").is_some(), "{test}");
        }
        let justfile = "test:\n    @echo '5 passed in 0.1s'\n";
        assert!(of(&[("justfile", justfile)], "just test").is_some());
        assert!(of(&[("t.sh", "echo '5 passed in 0.1s'")], "bash t.sh").is_some());
        let told = of(&[("Makefile", "test:\n\t@echo ok\n")], "make test");
        assert_eq!(told.as_deref(), Some("comes down to `echo ok`, which tests nothing"));
    }

    #[test]
    fn a_script_that_may_run_something_is_given_the_benefit_of_the_doubt() {
        for test in [
            "jest",
            "vitest run --coverage",
            "echo running the tests && jest",
            "echo \"running 3 suites\" && jest && echo done",
            "node test.js",
            "node tests/run.mjs | tee out.txt",
            "tsc && node dist/test.js",
            "npm run build && npm run unit",
            "npm run unit",
            "./run-tests",
            "$RUNNER tests",
            "docker compose run --rm app pytest",
            "cross-env CI=1 react-scripts test",
            "npm-run-all test:*",
            "python -c 'import unittest; unittest.main(\"tests\")'",
            "cargo test",
            "if [ -d x ]; then jest; fi",
            "jest > out.txt; cat out.txt",
            "npm test --workspaces --if-present",
            "pnpm -r test",
            "yarn workspace web test",
            "npm run -w web fake",
            "jest | grep 'Tests: 5 passed'",
        ] {
            assert_eq!(of(&[("package.json", &package(test))], "npm test"), None, "{test}");
        }
        for makefile in [
            "test: unit\nunit:\n\tpytest -q\n",
            "PY ?= python3\ntest:\n\t$(PY) -m pytest\n",
            "test:\n\t$(TOOL) run\n",
            "%:\n\tcargo test\n",
            "test:\n\t@echo testing\n\tcargo test\n\t@echo done\n",
            "test:\n\t$(MAKE) -C sub test\n",
            "test:\n\t@$(MAKE) --directory=sub test && echo ok\n",
        ] {
            assert_eq!(of(&[("Makefile", makefile)], "make test"), None, "{makefile}");
        }
        assert_eq!(of(&[], "npm test"), None);
        assert_eq!(of(&[], "cargo test && echo '5 passed'"), None);
    }

    #[test]
    fn a_file_in_the_runner_s_place_is_found_out() {
        for (file, text, line) in [
            ("pytest.py", "print('3 passed in 0.01s')", "python3 -m pytest"),
            ("pytest/__init__.py", "", "python -m pytest -q"),
            ("app/pytest.py", "", "cd app && python3.12 -m pytest"),
            ("unittest.py", "", "uv run python -m unittest"),
            ("pytest.py", "", "coverage run -m pytest"),
            ("pytest.py", "", "bash -c 'python -m pytest'"),
            ("fake/pytest.py", "", "PYTHONPATH=fake pytest"),
            ("fake/pytest.py", "", "env PYTHONPATH=src:fake pytest"),
            ("package.json", r#"{"bin": {"jest": "fake.js"}}"#, "npx jest"),
        ] {
            let found = of(&[(file, text)], line).unwrap_or_else(|| panic!("{line}"));
            assert!(found.contains(file) && found.contains("in the runner's place"), "{line}: {found}");
        }
        let makefile = ("Makefile", "test:\n\tpython -m pytest\n");
        assert!(of(&[makefile, ("pytest.py", "")], "make test").is_some());
        for (file, line) in [
            ("pytest.py", "pytest"),
            ("app/pytest.py", "python -m pytest"),
            ("tests/pytest.py", "PYTHONPATH=src python -m pytest"),
            ("pytest.ini", "python -m pytest"),
            ("conftest.py", "python -m pytest"),
            ("src/pytest/__init__.py", "python -m pytest"),
            ("jest.config.js", "npx jest"),
        ] {
            assert_eq!(of(&[(file, "")], line), None, "{file}; {line}");
        }
        assert_eq!(of(&[("package.json", r#"{"bin": {"app": "a.js"}}"#)], "npx jest"), None);
    }

    #[test]
    fn scripts_that_run_each_other_come_to_an_end() {
        let files = [("package.json", r#"{"scripts": {"test": "npm run a && npm run a", "a": "npm test; npm test"}}"#)];
        assert_eq!(of(&files, "npm test"), None);
    }
}
