//! Which tests a line selects: the names it gives, and the options by which it
//! leaves others out.

use crate::guards::shell::runners::WHERE;

/// Words that say what is done, not to which tests.
const VERBS: [&str; 12] =
    ["test", "tests", "t", "tst", "run", "nextest", "check", "discover", "manage.py", "llvm-cov", "tarpaulin", "verify"];

/// Options whose value names no test.
const ASIDE: [&str; 32] = [
    "--cov",
    "--cov-report",
    "--tb",
    "--junitxml",
    "--junit-xml",
    "--config",
    "-c",
    "-W",
    "-n",
    "-j",
    "--jobs",
    "--color",
    "--colour",
    "--features",
    "--target",
    "--target-dir",
    "--profile",
    "--cargo-profile",
    "--reporter",
    "--reporters",
    "--outputFile",
    "--format",
    "--timeout",
    "-timeout",
    "--test-threads",
    "--maxWorkers",
    "--log-level",
    "--durations",
    "--retries",
    "--test-reporter",
    "--test-reporter-destination",
    "--coverprofile",
];

/// Whether an option is followed by a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Value,
    Nothing,
}

/// Options that leave tests out, with the programs that mean them so; any, where none is named.
const NARROWS: [(&str, Takes, &[&str]); 56] = [
    ("-k", Takes::Value, &[]),
    ("-m", Takes::Value, &["pytest", "py.test"]),
    ("--deselect", Takes::Value, &[]),
    ("--ignore", Takes::Value, &[]),
    ("--ignore-glob", Takes::Value, &[]),
    ("--lf", Takes::Nothing, &[]),
    ("--last-failed", Takes::Nothing, &[]),
    ("--sw", Takes::Nothing, &[]),
    ("--stepwise", Takes::Nothing, &[]),
    ("--collect-only", Takes::Nothing, &[]),
    ("--co", Takes::Nothing, &[]),
    ("--pyargs", Takes::Nothing, &[]),
    ("-s", Takes::Value, &["unittest"]),
    ("-p", Takes::Value, &["cargo", "unittest"]),
    ("--package", Takes::Value, &["cargo"]),
    ("--exclude", Takes::Value, &[]),
    ("--skip", Takes::Value, &[]),
    ("--lib", Takes::Nothing, &["cargo"]),
    ("--bins", Takes::Nothing, &["cargo"]),
    ("--bin", Takes::Value, &["cargo"]),
    ("--doc", Takes::Nothing, &["cargo"]),
    ("--test", Takes::Value, &["cargo"]),
    ("--tests", Takes::Nothing, &["cargo"]),
    ("--tests", Takes::Value, &["gradle", "gradlew"]),
    ("--example", Takes::Value, &[]),
    ("--examples", Takes::Nothing, &["cargo"]),
    ("--bench", Takes::Value, &["cargo"]),
    ("--benches", Takes::Nothing, &["cargo"]),
    ("--ignored", Takes::Nothing, &["cargo"]),
    ("-E", Takes::Value, &["cargo", "ctest"]),
    ("--filter-expr", Takes::Value, &[]),
    ("--filterset", Takes::Value, &[]),
    ("--partition", Takes::Value, &[]),
    ("--shard", Takes::Value, &[]),
    ("-run", Takes::Value, &["go"]),
    ("--run", Takes::Value, &["go"]),
    ("-skip", Takes::Value, &["go"]),
    ("-short", Takes::Nothing, &["go"]),
    ("-t", Takes::Value, &["jest", "vitest", "npm", "pnpm", "yarn", "bun"]),
    ("--testNamePattern", Takes::Value, &[]),
    ("--testPathPattern", Takes::Value, &[]),
    ("--testPathPatterns", Takes::Value, &[]),
    ("--testPathIgnorePatterns", Takes::Value, &[]),
    ("--onlyChanged", Takes::Nothing, &[]),
    ("--changed", Takes::Nothing, &[]),
    ("--changedSince", Takes::Value, &[]),
    ("--findRelatedTests", Takes::Nothing, &[]),
    ("--test-name-pattern", Takes::Value, &[]),
    ("-g", Takes::Value, &[]),
    ("--grep", Takes::Value, &[]),
    ("--fgrep", Takes::Value, &[]),
    ("--filter", Takes::Value, &[]),
    ("--testsuite", Takes::Value, &[]),
    ("--group", Takes::Value, &[]),
    ("--exclude-group", Takes::Value, &[]),
    ("--only", Takes::Value, &[]),
];

/// Which tests a line names: what is no option and says neither what runs nor where.
pub(super) fn named(words: &[&str]) -> Vec<String> {
    let mut named = handed(words.get(1..).unwrap_or_default());
    named.retain(|word| !VERBS.contains(&word.as_str()));
    named
}

/// The same of what a script is handed, where no word says what is done.
pub(super) fn handed(words: &[&str]) -> Vec<String> {
    let mut named = Vec::new();
    let mut before = "";
    for word in words {
        let is_value = WHERE.iter().any(|(option, _)| *option == before) || ASIDE.contains(&before);
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        if !word.starts_with(['-', '+']) && !is_value && !is_number {
            named.push((*word).to_owned());
        }
        before = word;
    }
    named
}

/// The options by which a line leaves tests out, each with its value.
pub(super) fn narrowing(words: &[&str]) -> Vec<String> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let program = program.rsplit('/').next().unwrap_or(program);
    let mut found = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        let option = word.split('=').next().unwrap_or(word);
        // Maven and Gradle set by `-D` what others have options for.
        if option == "-Dtest" || option.starts_with("-DskipTests") || (option == "-x" && program.starts_with("gradle")) {
            found.push((*word).to_owned());
            continue;
        }
        let Some((_, takes, _)) = NARROWS.iter().find(|(known, _, by)| *known == option && (by.is_empty() || by.contains(&program))) else {
            continue;
        };
        let value = rest.get(at + 1).filter(|_| *takes == Takes::Value && !word.contains('='));
        found.push(value.map_or_else(|| (*word).to_owned(), |value| format!("{word}={value}")));
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> (Vec<String>, Vec<String>) {
        let words: Vec<&str> = line.split(' ').collect();
        (named(&words), narrowing(&words))
    }

    #[test]
    fn names_and_options_tell_which_tests_are_meant() {
        let says = |line: &str, names: &[&str], options: &[&str]| {
            let (named, narrowed) = of(line);
            assert_eq!(
                (named, narrowed),
                (names.iter().map(|&n| n.to_owned()).collect(), options.iter().map(|&n| n.to_owned()).collect()),
                "{line}"
            );
        };
        says("pytest -q --tb short --cov src -n 4", &[], &[]);
        says("pytest tests/a.py", &["tests/a.py"], &[]);
        says("pytest -k good", &["good"], &["-k=good"]);
        says("pytest --deselect=tests/a.py::t", &[], &["--deselect=tests/a.py::t"]);
        says("cargo test --all-features", &[], &[]);
        says("cargo test --lib login", &["login"], &["--lib"]);
        says("cargo nextest run -p auth", &[], &["-p=auth"]);
        says("go test -run TestA ./...", &["TestA", "./..."], &["-run=TestA"]);
        says("mvn test -Dtest=A", &[], &["-Dtest=A"]);
    }
}
