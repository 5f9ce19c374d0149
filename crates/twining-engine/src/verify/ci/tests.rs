//! What needs no repository.

use super::report::{CiFinding, Severity};
use super::{features, policy};
use crate::governance::reports::TestCase;
use twining_testcases::each;

fn is_named(test: &str, [file, suite, class, name]: [&str; 4]) -> bool {
    let place = [file, suite, class, name].map(str::to_owned);
    features::is_named(test, &TestCase { place, passed: Some(true) })
}

#[test]
fn a_test_is_named_as_its_runner_names_it() {
    let pytest = ["", "pytest", "tests.test_login.TestLogin", "test_ok[1-2]"];
    each(
        [
            "test_ok",
            "tests/test_login.py::TestLogin::test_ok",
            "tests/test_login.py",
            "TestLogin",
            "test_ok[1-2]",
        ],
        |test| {
            assert!(is_named(test, pytest), "{test}");
        },
    );
    let nextest = ["", "twining-store", "twining-store", "integrity::tests::an_entry"];
    for test in ["integrity::tests::an_entry", "an_entry", "integrity::tests", "twining-store"] {
        assert!(is_named(test, nextest), "{test}");
    }
    assert!(is_named("logs in", ["src/login.test.ts", "login", "login", "logs in"]));
    assert!(is_named("login > logs in", ["", "login", "login", "logs in"]));
    assert!(is_named("src/login.test.ts", ["src/login.test.ts", "login", "login", "logs in"]));
}

#[test]
fn a_test_with_a_longer_name_is_another() {
    assert!(!is_named("test_ok", ["", "", "tests.test_login", "test_ok_twice"]));
    assert!(!is_named("login", ["", "", "tests.test_login", "test_ok"]));
    assert!(!is_named("", ["", "", "tests", "test_ok"]));
}

#[test]
fn settings_go_up_and_not_down() {
    let lowered = |before: &str, after: &str| policy::lowered(before, after).len();
    let needs = |grade: &str| format!("workflow: {{tested_needs: {grade}}}\n");
    assert_eq!(lowered(&needs("ci"), &needs("seen")), 1);
    assert_eq!(lowered(&needs("seen"), ""), 1, "left out is not said");
    assert_eq!(lowered(&needs("told"), &needs("ci")), 0);
    let gate = |coverage: &str| {
        format!("gates: {{feature: {{overrides: [{{coverage_threshold: {coverage}}}]}}}}\n")
    };
    assert_eq!((lowered(&gate("0.8"), &gate("0.7")), lowered(&gate("0.8"), &gate("0.9"))), (1, 0));
}

#[test]
fn a_message_has_at_most_sixty_words() {
    let long = CiFinding::of("records", Severity::Error, &"word ".repeat(100));
    assert_eq!(long.message.split_whitespace().count(), 60);
    assert_eq!(CiFinding::of("records", Severity::Error, "a few words").message, "a few words");
}
