//! Which tests failed, told by what a runner printed. Either all of them or none: a
//! list that was cut short would excuse what is missing from it.

use std::collections::BTreeSet;

use twining_model::text;

use crate::governance::TestCounts;

/// Tests that are kept by name.
const MOST_NAMES: usize = 32;
/// Characters of a name.
const MOST_NAME: usize = 200;

/// The tests that failed by an output, if it names as many as it counts.
#[must_use]
pub fn failing_in(output: &str, tests: Option<TestCounts>) -> Vec<String> {
    let Some(counted) = tests.map(|tests| tests.failed).filter(|failed| *failed > 0) else { return Vec::new() };
    let (mut names, mut files) = (BTreeSet::new(), BTreeSet::new());
    for line in output.lines() {
        match named_in(line.trim()) {
            Some(Named::Test(name)) => drop(names.insert(name.to_owned())),
            Some(Named::File(name)) => drop(files.insert(name.to_owned())),
            None => {}
        }
    }
    // Some runners name the file alone, once for all that failed in it.
    let found = if names.is_empty() { files } else { names };
    let is_all =
        found.len() as u64 == counted || (!found.is_empty() && found.iter().all(|name| is_file(name)) && found.len() as u64 <= counted);
    if !is_all || found.len() > MOST_NAMES {
        return Vec::new();
    }
    found.into_iter().map(|name| text::excerpt(&name, MOST_NAME)).collect()
}

enum Named<'l> {
    Test(&'l str),
    File(&'l str),
}

fn named_in(line: &str) -> Option<Named<'_>> {
    // cargo: `test login::tests::ok ... FAILED`
    if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
        return Some(Named::Test(name.split(" - ").next().unwrap_or(name)));
    }
    // go: `--- FAIL: TestLogin (0.00s)`
    if let Some(rest) = line.strip_prefix("--- FAIL: ") {
        return rest.split(' ').next().map(Named::Test);
    }
    // unittest: `FAIL: test_ok (tests.test_login.Login.test_ok)`
    if let Some(rest) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
        let inner = rest.split_once(" (").and_then(|(_, inner)| inner.split_once(')')).map(|(inner, _)| inner)?;
        return Some(Named::Test(inner));
    }
    // pytest: `FAILED tests/test_login.py::test_ok - assert 1 == 2`
    if let Some(rest) = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")) {
        let name = rest.split(" - ").next().unwrap_or(rest);
        return (name.contains("::") || is_file(name)).then_some(Named::Test(name));
    }
    let rest = line.strip_prefix("FAIL ")?.trim_start();
    // nextest: `FAIL [   0.005s] (1/3) auth login::tests::ok`
    if rest.starts_with('[') {
        return rest.rsplit(' ').next().map(Named::Test);
    }
    // jest: `FAIL tests/login.test.js`, vitest: `FAIL  tests/login.test.ts > logs in`
    rest.split(' ').next().filter(|name| is_file(name)).map(Named::File)
}

fn is_file(name: &str) -> bool {
    !name.contains("::")
        && name.rsplit_once('.').is_some_and(|(stem, kind)| !stem.is_empty() && (1..=4).contains(&kind.len()) && name.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_failed_are_named_or_none() {
        let of = |output: &str, failed: u64| failing_in(output, Some(TestCounts { run: 9, passed: 9 - failed, failed }));
        let pytest = "..F\n==== short test summary info ====\nFAILED tests/test_a.py::test_x - assert 1 == 2\n=== 1 failed, 8 passed ===";
        assert_eq!(of(pytest, 1), ["tests/test_a.py::test_x"]);
        assert_eq!(of(pytest, 2), Vec::<String>::new(), "one is missing");
        assert_eq!(of("test net::tests::a ... FAILED\ntest net::tests::b ... ok", 1), ["net::tests::a"]);
        assert_eq!(
            of("        FAIL [   0.005s] (1/9) auth login::tests::ok\n        FAIL [   0.005s] (1/9) auth login::tests::ok", 1),
            ["login::tests::ok"]
        );
        assert_eq!(of("--- FAIL: TestLogin (0.00s)", 1), ["TestLogin"]);
        assert_eq!(of("FAIL: test_ok (tests.test_login.Login.test_ok)", 1), ["tests.test_login.Login.test_ok"]);
        assert_eq!(of("FAIL tests/login.test.js\n  ● one\n  ● two", 2), ["tests/login.test.js"]);
        assert_eq!(of("FAIL  tests/login.test.ts > logs in", 1), ["tests/login.test.ts"]);
        assert_eq!(of("something broke", 1), Vec::<String>::new());
        assert_eq!(failing_in(pytest, None), Vec::<String>::new());
    }
}
