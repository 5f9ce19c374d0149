//! Tests that the host saw fail: what lifts them, whom they concern, and what is no way around them.

mod common;

use common::hooked::{LIST, answer, hook, read, write};
use common::{Project, Ran};
use serde_json::{Value, json};

const FEATURES: &str = r#"{"features":[{"id":"F1","status":"completed","tested":false,"files":["src/a.py"]},{"id":"F2","status":"completed","tested":false,"files":["src/b.py"]}]}"#;

fn project() -> Project {
    with(FEATURES)
}

fn with(list: &str) -> Project {
    let project = Project::new();
    std::fs::create_dir_all(project.path().join(".twining")).expect("makes a folder");
    write(&project, LIST, list);
    for file in ["src/a.py", "src/b.py", "docs/a.md", "tests/test_a.py", "tests/test_b.py"] {
        write(&project, file, "x = 1\n");
    }
    project
}

/// A command as a host runs it for one of its agents.
fn ran_by(project: &Project, agent: Option<&str>, command: &str, ended: i32, printed: &str) {
    let mut call = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    if let Some(agent) = agent {
        (call["agent_id"], call["agent_type"]) = (json!(agent), json!("tester"));
    }
    let asked = answer(&hook(project, "PreToolUse", call.clone()));
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], Value::Null, "{command}: {asked}");
    let event = if ended == 0 {
        call["tool_response"] = json!({"stdout": printed, "stderr": "", "interrupted": false});
        "PostToolUse"
    } else {
        call["error"] = json!(format!("Exit code {ended}\n{printed}"));
        "PostToolUseFailure"
    };
    answer(&hook(project, event, call));
}

fn ran(project: &Project, command: &str, ended: i32, printed: &str) {
    ran_by(project, None, command, ended, printed);
}

fn red(project: &Project, command: &str) {
    ran(project, command, 1, "3 failed, 7 passed in 0.10s");
}

fn green(project: &Project, command: &str) {
    ran(project, command, 0, "4 passed in 0.10s");
}

/// Why a feature may not be called tested; nothing if it may.
fn denied(project: &Project, id: &str) -> String {
    let list: Value = serde_json::from_str(&read(project, LIST)).expect("a list");
    let mut list = list;
    let features = list["features"].as_array_mut().expect("features");
    features.iter_mut().filter(|feature| feature["id"] == id).for_each(|feature| feature["tested"] = json!(true));
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": LIST, "content": list.to_string()}});
    let answered = answer(&hook(project, "PreToolUse", call));
    answered["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default().to_owned()
}

fn report(project: &Project, id: &str, outcome: &str, more: &[&str]) -> Ran {
    let role = if matches!(outcome, "started" | "completed") { "coder" } else { "tester" };
    project.run(&[&["report", id, "--role", role, "--outcome", outcome, "--summary", "as seen"], more].concat())
}

const WORD: [&str; 6] = ["--exit-code", "0", "--tests-run", "3", "--tests-passed", "3"];

#[test]
fn what_failed_is_not_lifted_by_less() {
    for (failed, passed) in [
        ("pytest", "pytest tests/test_other.py"),
        ("pytest", "pytest -k good"),
        ("pytest", "pytest --deselect tests/test_a.py::t"),
        ("pytest", "pytest --ignore=tests/slow"),
        ("pytest", "pytest -m 'not slow'"),
        ("pytest", "python3 -m unittest"),
        ("pytest", "npm test"),
        ("pytest", "cargo test"),
        ("pytest", "make test"),
        ("pytest tests/test_a.py", "pytest tests/test_b.py"),
        ("pytest tests/test_a.py", "pytest tests/test_a.py::one"),
        ("make test-unit", "make test"),
        ("cd tests && pytest", "cd src && pytest"),
    ] {
        let project = project();
        red(&project, failed);
        green(&project, passed);
        let why = denied(&project, "F1");
        assert!(why.contains("3 of 10 tests failed"), "{failed}; {passed}: {why}");
        assert!(why.contains(&format!("run `{failed}` again, alone: its last run failed (3 of 10)")), "{failed}; {passed}: {why}");
        assert!(report(&project, "F1", "passed", &[]).code != 0, "{failed}; {passed}");
    }
}

/// However it is asked for, and by whichever program, `test` is the one script of a package.
#[test]
fn the_whole_script_of_a_package_lifts_a_part_of_it_and_no_other_does() {
    let list = r#"{"features":[{"id":"F1","status":"completed","tested":false,"files":["src/a.js"]}]}"#;
    for (failed, passed, is_lifted) in [
        ("npm test -- test/b.test.js", "npm run test", true),
        ("npm test -- test/b.test.js", "npm test", true),
        ("npm run test -- --grep slow", "npm t", true),
        ("npm t", "yarn run test", true),
        ("yarn test src/b", "pnpm test", true),
        ("npm run test:unit -- test/b.test.js", "npm run test:unit", true),
        ("npm test", "npm test -- test/b.test.js", false),
        ("npm test", "npm test -- test", false),
        ("npm test -- test/a.test.js", "npm test -- test/b.test.js", false),
        ("npm run test:e2e", "npm test", false),
        ("npm run test:e2e -- test/a.test.js", "npm test", false),
        ("npm test -w app", "npm test", false),
    ] {
        let project = with(list);
        write(&project, "src/a.js", "let a = 1\n");
        write(&project, "package.json", r#"{"scripts":{"test":"jest","test:unit":"jest unit","test:e2e":"jest e2e"}}"#);
        red(&project, failed);
        green(&project, passed);
        let why = denied(&project, "F1");
        assert_eq!(why.is_empty(), is_lifted, "{failed}; {passed}: {why}");
    }
}

#[test]
fn what_failed_is_lifted_by_the_same_and_by_more() {
    for (failed, passed) in [
        ("pytest", "pytest"),
        ("pytest", "python -m pytest -q --tb short"),
        ("pytest -q --cov src", "uv run pytest"),
        ("pytest tests/test_a.py", "pytest tests"),
        ("pytest tests/test_a.py::one", "pytest tests/test_a.py"),
        ("pytest -k slow", "pytest"),
        ("cd src && pytest", "pytest"),
        ("pytest", "set -o pipefail; pytest 2>&1 | tail -5"),
        ("make test", "make test"),
        ("npm test", "npm test"),
        ("tox", "tox"),
    ] {
        let project = project();
        red(&project, failed);
        green(&project, passed);
        assert_eq!(denied(&project, "F1"), "", "{failed}; {passed}");
    }
    // Mended, the narrow test first, then all again.
    let project = project();
    red(&project, "pytest");
    write(&project, "src/a.py", "x = 2\n");
    green(&project, "pytest tests/test_a.py");
    assert!(denied(&project, "F1").contains("does not run all that failed"));
    green(&project, "pytest");
    assert_eq!((denied(&project, "F1"), denied(&project, "F2")), (String::new(), String::new()), "one run shows both");
    // Once all passed, a narrow run after another edit is enough.
    write(&project, "src/a.py", "x = 3\n");
    green(&project, "pytest tests/test_a.py");
    assert_eq!(denied(&project, "F1"), "");
}

#[test]
fn the_failed_tests_by_name_lift_what_failed() {
    let printed = "FAILED tests/test_a.py::one - assert 0\nFAILED tests/test_a.py::two - assert 0\n2 failed, 7 passed in 0.1s";
    for (passed, lifts) in [
        ("pytest tests/test_a.py", true),
        ("pytest tests/test_a.py::one tests/test_a.py::two", true),
        ("pytest tests/test_a.py::one", false),
        ("pytest tests/test_b.py", false),
    ] {
        let project = project();
        ran(&project, "pytest", 1, printed);
        green(&project, passed);
        assert_eq!(denied(&project, "F1").is_empty(), lifts, "{passed}");
    }
    // Named in part only, by an output that was cut short.
    let project = project();
    ran(&project, "pytest", 1, "FAILED tests/test_a.py::one - assert 0\n2 failed, 7 passed in 0.1s");
    green(&project, "pytest tests/test_a.py::one");
    assert_ne!(denied(&project, "F1"), "");
}

#[test]
fn no_word_and_no_file_outweighs_what_the_host_saw() {
    let project = project();
    red(&project, "pytest");
    for command in ["pytest", "cargo test", "python3 -m unittest", "npx jest", "./scripts/check.sh", "pytest tests/test_b.py"] {
        let refused = report(&project, "F1", "passed", &[&["--command", command][..], &WORD].concat());
        assert!(refused.code != 0 && refused.stderr.contains("as the host saw"), "{command}: {refused:?}");
    }
    let junit = r#"<testsuite tests="3" failures="0"><testcase name="a"/><testcase name="b"/><testcase name="c"/></testsuite>"#;
    write(&project, "j.xml", junit);
    let named = ["--command", "pytest", "--exit-code", "0", "--report", "j.xml"];
    let refused = report(&project, "F1", "passed", &named);
    assert!(refused.code != 0 && refused.stderr.contains("as the host saw"), "{refused:?}");
    // A file changed since: the word is no better for it.
    write(&project, "src/a.py", "x = 2\n");
    assert!(report(&project, "F1", "passed", &[&["--command", "pytest"][..], &WORD].concat()).code != 0);
    // The report of a run that the host saw, and could not tell the end of, is.
    write(&project, "j.xml", junit);
    ran(&project, "pytest --junitxml=j.xml > /dev/null; cat j.xml | wc -l", 0, "1");
    let taken = report(&project, "F1", "passed", &named);
    assert_eq!(taken.code, 0, "{taken:?}");
}

#[test]
fn a_report_that_a_tool_wrote_by_hand_is_of_no_run() {
    let project = project();
    let junit = r#"<testsuite tests="3" failures="0"><testcase name="a"/><testcase name="b"/><testcase name="c"/></testsuite>"#;
    write(&project, "out/j.xml", junit);
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": "out/j.xml", "content": junit}, "tool_response": {}});
    answer(&hook(&project, "PostToolUse", call));
    let named = ["--command", "pytest", "--exit-code", "0", "--report", "out/j.xml"];
    let refused = report(&project, "F1", "passed", &named);
    assert!(refused.code != 0 && refused.stderr.contains("written by hand"), "{refused:?}");
    // A run wrote it anew.
    std::thread::sleep(std::time::Duration::from_millis(20));
    write(&project, "out/j.xml", junit);
    assert_eq!(report(&project, "F1", "passed", &named).code, 0);
}

#[test]
fn another_s_failure_stands_in_nobody_s_way() {
    // Of another language, or in another part of the tree.
    let project = with(&FEATURES.replace("src/b.py", "web/b.ts"));
    write(&project, "web/b.ts", "export {}\n");
    red(&project, "pytest");
    ran(&project, "cd web && npx vitest run", 0, "Tests  4 passed (4)");
    assert_eq!(denied(&project, "F2"), "");
    assert_ne!(denied(&project, "F1"), "");

    let project = with(&FEATURES.replace("src/a.py", "api/a.py").replace("src/b.py", "app/b.py"));
    write(&project, "api/a.py", "x = 1\n");
    write(&project, "app/b.py", "x = 1\n");
    red(&project, "cd api && pytest");
    green(&project, "cd app && pytest");
    assert_eq!(denied(&project, "F2"), "");
    assert_ne!(denied(&project, "F1"), "");

    // Side by side: another agent's own tests.
    let project = self::project();
    ran_by(&project, Some("one"), "pytest tests/test_b.py", 1, "1 failed in 0.1s");
    ran_by(&project, Some("two"), "pytest tests/test_a.py", 0, "4 passed in 0.1s");
    assert_eq!(denied(&project, "F1"), "");

    // The feature lists its own tests, ran them, and something else failed.
    let project = with(&FEATURES.replace("\"src/a.py\"", "\"src/a.py\",\"tests/test_a.py\""));
    ran(&project, "pytest", 1, "FAILED tests/test_b.py::one - assert 0\n1 failed, 7 passed in 0.1s");
    green(&project, "pytest tests/test_c.py");
    assert_ne!(denied(&project, "F1"), "", "none of its own");
    green(&project, "pytest tests/test_a.py");
    assert_eq!(denied(&project, "F1"), "");
    assert_ne!(denied(&project, "F2"), "", "that one lists none");

    // Reported as the other's failure.
    let project = self::project();
    red(&project, "pytest");
    assert_eq!(report(&project, "F2", "failed", &[]).code, 0);
    green(&project, "pytest tests/test_a.py");
    assert_eq!(denied(&project, "F1"), "");

    // It failed so before the work began, and still does.
    let project = with(&FEATURES.replacen("completed", "pending", 1));
    let old = "FAILED tests/test_old.py::one - assert 0\n1 failed, 7 passed in 0.1s";
    ran(&project, "pytest", 1, old);
    assert_eq!(report(&project, "F1", "started", &[]).code, 0);
    write(&project, "src/a.py", "x = 2\n");
    assert_eq!(report(&project, "F1", "completed", &[]).code, 0);
    ran(&project, "pytest", 1, old);
    green(&project, "pytest tests/test_a.py");
    assert_eq!(denied(&project, "F1"), "");
    ran(&project, "pytest", 1, &old.replace("test_old", "test_a"));
    assert_ne!(denied(&project, "F1"), "", "that one did not");
}

#[test]
fn a_line_that_names_what_is_not_there_fails_nothing() {
    let project = project();
    ran(&project, "pytest tests/tset_a.py", 4, "ERROR: file or directory not found: tests/tset_a.py\n\nno tests ran in 0.00s");
    green(&project, "pytest tests/test_a.py");
    assert_eq!(denied(&project, "F1"), "");
}

#[test]
fn files_that_are_dropped_after_the_run_still_count() {
    for by_hand in [true, false] {
        let project = project();
        green(&project, "pytest");
        write(&project, "src/a.py", "x = 2\n");
        assert!(denied(&project, "F1").contains("`src/a.py` changed after the run"));
        if by_hand {
            write(&project, LIST, &FEATURES.replace("src/a.py", "docs/a.md"));
        } else {
            assert_eq!(project.run(&["features", "update", "F1", "--file", "docs/a.md"]).code, 0);
        }
        assert!(denied(&project, "F1").contains("`src/a.py` changed after the run"), "by hand: {by_hand}");
        assert!(report(&project, "F1", "passed", &[]).code != 0, "by hand: {by_hand}");
        // Run on the files as they are, all is well.
        green(&project, "pytest");
        assert_eq!(denied(&project, "F1"), "", "by hand: {by_hand}");
    }
    // One that is listed anew, and was not changed, costs nothing; nor does a file that moved before the run.
    let project = project();
    std::fs::remove_file(project.path().join("src/a.py")).expect("moves");
    write(&project, LIST, &FEATURES.replace("src/a.py", "docs/a.md"));
    green(&project, "pytest");
    write(&project, LIST, &FEATURES.replace("\"src/a.py\"", "\"docs/a.md\",\"tests/test_a.py\""));
    assert_eq!(denied(&project, "F1"), "");
}

/// Nor is a file left behind for a run that is older than the feature, or that is only told of.
#[test]
fn files_that_are_dropped_count_for_older_runs_and_for_reported_ones() {
    let project = project();
    green(&project, "pytest");
    let added = project.run(&["features", "add", "P", "--description", "p", "--file", "src/p.py"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    write(&project, "src/p.py", "p = 1\n");
    assert_eq!(report(&project, "P", "started", &[]).code, 0);
    assert_eq!(report(&project, "P", "completed", &[]).code, 0);
    green(&project, "pytest");
    write(&project, "src/p.py", "p = 2\n");
    assert_eq!(project.run(&["features", "update", "P", "--file", "src/a.py"]).code, 0);
    assert!(denied(&project, "P").contains("`src/p.py` changed after the run"));
    assert_ne!(report(&project, "P", "passed", &["--command", "pytest", "--exit-code", "0"]).code, 0);
    green(&project, "pytest");
    assert_eq!(denied(&project, "P"), "");

    let project = with(FEATURES);
    let seen = r#"<testsuite tests="1" failures="0" errors="0"><testcase classname="t" name="a"/></testsuite>"#;
    write(&project, "out.xml", seen);
    std::thread::sleep(std::time::Duration::from_millis(50));
    write(&project, "src/a.py", "x = 2\n");
    let told = ["--command", "pytest --junitxml=out.xml", "--exit-code", "0", "--report", "out.xml"];
    assert_ne!(report(&project, "F1", "passed", &told).code, 0);
    assert_eq!(project.run(&["features", "update", "F1", "--file", "docs/a.md"]).code, 0);
    let again = report(&project, "F1", "passed", &told);
    assert!(again.code != 0 && again.stderr.contains("`src/a.py` changed after the run"), "{}", again.stderr);
    write(&project, "out.xml", seen);
    assert_eq!(report(&project, "F1", "passed", &told).code, 0);
}

#[test]
fn a_feature_without_files_goes_by_its_report_and_by_all_failures() {
    let project = with(r#"{"features":[{"id":"F1","status":"in_progress","tested":false}]}"#);
    green(&project, "pytest");
    assert_eq!(report(&project, "F1", "completed", &[]).code, 0);
    assert_ne!(denied(&project, "F1"), "", "older than the code");
    green(&project, "pytest");
    assert_eq!(denied(&project, "F1"), "");
    let project = with(r#"{"features":[{"id":"F1","status":"completed","tested":false}]}"#);
    red(&project, "cargo test");
    green(&project, "pytest tests");
    assert!(denied(&project, "F1").contains("run `cargo test` again"));
}
