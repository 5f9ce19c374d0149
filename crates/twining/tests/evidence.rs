//! What a host's hook sees of tests, and what a report makes of it.

use std::fs;

use crate::common::hooked::{LIST, answer, commit, git, hook, write};
use crate::common::{Project, Ran};
use serde_json::{Value, json};

fn project() -> Project {
    let project = Project::new();
    fs::create_dir_all(project.path().join(".twining")).expect("makes a folder");
    write(
        &project,
        LIST,
        r#"{"features":[{"id":"F1","status":"completed","tested":false,"files":["src/a.py"],"tests":["tests/test_a.py"]}]}"#,
    );
    for file in ["src/a.py", "tests/test_a.py", "tests/test_b.py"] {
        write(&project, file, "x = 1\n");
    }
    project
}

/// Reports a command as a host does; returns the agent's message.
fn ran(project: &Project, command: &str, ended: i32, printed: &str) -> String {
    let mut call = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    let event = if ended == 0 {
        call["tool_response"] = json!({"stdout": printed, "stderr": "", "interrupted": false});
        "PostToolUse"
    } else {
        call["error"] = json!(format!("Exit code {ended}\n{printed}"));
        "PostToolUseFailure"
    };
    answer(&hook(project, event, call))["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn passed(project: &Project, more: &[&str]) -> Ran {
    project.run(&[&["report", "F1", "--role", "tester", "--outcome", "passed"], more].concat())
}

fn verified_by(project: &Project) -> Value {
    project.json(&["features", "list", "F1"])["features"][0]["verified_by"].clone()
}

const WORD: [&str; 6] =
    ["--command", "pytest -q", "--exit-code", "0", "--output", "3 passed in 0.1s"];

#[test]
fn a_bare_report_is_refused_where_the_hook_sees_runs_and_names_the_command() {
    let project = project();
    ran(&project, "ls", 0, "src\ntests\n");
    let refused = passed(&project, &WORD);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("run `pytest -q` in this session (its result is recorded by the hook), then report again"),
        "{refused:?}"
    );
    assert_eq!(ran(&project, "pytest -q 2>&1 | tail -3", 0, "3 passed in 0.1s\n"), "");
    let taken = passed(&project, &WORD);
    assert!(
        taken.code == 0
            && taken.stdout.contains("tested (seen: 3 passed, `pytest -q 2>&1 | tail -3`)"),
        "{taken:?}"
    );
    assert_eq!(verified_by(&project)["source"], "seen");
    assert!(project.run(&["features"]).stdout.contains("tested (seen: 3 passed"));
}

#[test]
fn without_a_hook_a_report_is_somebody_s_word() {
    let project = project();
    assert_eq!(passed(&project, &WORD).code, 0);
    assert_eq!(verified_by(&project)["source"], "told");
}

#[test]
fn the_newest_run_of_the_feature_s_tests_decides() {
    let project = project();
    ran(&project, "pytest", 1, "1 failed, 9 passed in 0.2s\n");
    assert!(passed(&project, &[]).stderr.contains("1 of 10 tests failed in `pytest`"));
    ran(&project, "pytest tests/test_b.py", 0, "4 passed in 0.1s\n");
    assert_eq!(passed(&project, &[]).code, 1, "another feature's tests");
    ran(&project, "pytest tests/test_a.py", 0, "3 passed in 0.1s\n");
    assert_eq!(passed(&project, &[]).code, 0);
    assert_eq!(verified_by(&project)["note"], "does not cover the failed run of `pytest`");
}

#[test]
fn a_change_after_the_run_and_a_run_elsewhere_prove_nothing() {
    let project = project();
    ran(&project, "pytest", 0, "3 passed in 0.1s\n");
    write(&project, "src/a.py", "x = 2\n");
    assert!(passed(&project, &[]).stderr.contains("`src/a.py` changed after the run of `pytest`"));
    assert!(
        ran(&project, "cd /elsewhere && pytest", 0, "3 passed in 0.1s\n")
            .contains("outside the project")
    );
    assert_eq!(passed(&project, &[]).code, 1);
    assert!(
        ran(&project, "pytest -k nothing", 5, "no tests ran in 0.01s\n").contains("it ran no test")
    );
}

#[test]
fn a_report_file_is_a_word_with_counts() {
    const JUNIT: &str = r#"<testsuites><testsuite name="a" tests="2" failures="0"><testcase name="x"/><testcase name="y"/></testsuite></testsuites>"#;
    let project = project();
    write(&project, "junit.xml", JUNIT);
    assert_eq!(
        passed(&project, &["--command", "pytest", "--exit-code", "0", "--report", "junit.xml"])
            .code,
        0
    );
    let by = verified_by(&project);
    assert_eq!((by["source"].as_str(), by["tests"]["passed"].as_u64()), (Some("told"), Some(2)));
}

#[test]
fn ci_decides_where_the_project_asks_for_it() {
    let project = project();
    fs::remove_dir(project.path().join(".git")).expect("makes way");
    assert!(git(&project, &["init", "-q", "-b", "main"]).status.success());
    write(&project, ".twining/config.yml", "workflow:\n  tested_needs: ci\n");
    commit(&project, "start");
    ran(&project, "pytest", 0, "3 passed in 0.1s\n");
    assert!(passed(&project, &[]).stderr.contains("`twining verify --ci` decides"));
    let head = String::from_utf8(git(&project, &["rev-parse", "HEAD"]).stdout).expect("a hash");
    let report = |head: &str| {
        json!({"head": head, "findings": [], "evidence": [{"feature": "F1", "source": "ci", "tests": 3}]}).to_string()
    };
    write(&project, "ci.json", &report("0123456789abcdef0123456789abcdef01234567"));
    assert_eq!(passed(&project, &["--ci-report", "ci.json"]).code, 2, "a commit of nobody's");
    write(&project, "ci.json", &report(head.trim()));
    let taken = passed(&project, &["--ci-report", "ci.json"]);
    assert_eq!(taken.code, 0, "{taken:?}");
    assert_eq!(verified_by(&project)["source"], "ci");
}
