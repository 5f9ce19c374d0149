//! The feature loop from outside: the same verbs on the command line and over
//! MCP, two processes at once.

mod common;

use common::Project;
use insta::assert_snapshot;
use serde_json::{Value, json};

const JUNIT: &str = r#"<testsuites><testsuite name="a" tests="1" failures="0"><testcase name="x"/></testsuite></testsuites>"#;

fn put(project: &Project, path: &str, text: &str) {
    let path = project.path().join(path);
    std::fs::create_dir_all(path.parent().expect("inside the project")).expect("makes the folder");
    std::fs::write(path, text).expect("writes");
}

#[test]
fn a_feature_is_built_and_shown_to_work() {
    let project = Project::new();
    assert_snapshot!(project.run(&["next", "--prompt", "false"]).stdout, @"");
    put(&project, "src/a.rs", "fn a() {}");
    let added = project.run(&["features", "add", "F1", "--description", "Log out everywhere", "--file", "src/", "--priority", "high"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert_snapshot!(added.stdout, @"");
    assert_snapshot!(project.run(&["report", "F1", "--role", "coder", "--outcome", "completed"]).stdout, @"");
    let unproven = project.run(&["report", "F1", "--role", "tester", "--outcome", "passed"]);
    assert_eq!(unproven.code, 1);
    assert_snapshot!(unproven.stderr, @"");
    let skipped = project.run(&["features", "update", "F1", "--status", "in_progress"]);
    assert_snapshot!(skipped.stderr, @"");
    put(&project, "target/junit.xml", JUNIT);
    let words = ["report", "F1", "--role", "tester", "--outcome", "passed", "--command", "cargo test", "--exit-code", "0"];
    let passed = project.run(&[&words[..], &["--report", "target/junit.xml"]].concat());
    assert_snapshot!(passed.stdout, @"");
    assert_eq!(project.json(&["next"])["action"], "done");
    let file = std::fs::read_to_string(project.path().join(".twining/features.json")).expect("is there");
    let list: Value = serde_json::from_str(&file).expect("is JSON");
    assert_eq!(list["features"][0]["tested"], true);
}

#[test]
fn the_loop_is_driven_over_mcp() {
    let project = Project::new();
    let mut server = project.server(&["--tools", "workflow"]);
    server.initialize();
    assert_eq!(server.tool("twining_next", &json!({}))["action"], "initialize");
    let feature = json!({"action": "add", "id": "A", "description": "a", "priority": 1});
    assert_eq!(server.tool("twining_features", &feature)["features"][0]["priority"], 1);
    let next = server.tool("twining_next", &json!({}));
    assert_eq!((next["say"].as_str(), next["role"].as_str()), (Some("code A"), Some("player")));
    assert!(next["prompt"].as_str().expect("a prompt").starts_with("# Build A\n"), "{next}");
    let moved = server.tool("twining_report", &json!({"feature": "A", "role": "coder", "outcome": "completed"}));
    assert_eq!(moved["next"]["say"], "test A");
    let evidence = json!({"command": "npm test", "exit_code": 0, "output": "Tests:       4 passed, 4 total"});
    let passed = server.tool("twining_report", &json!({"feature": "A", "role": "tester", "outcome": "passed", "evidence": evidence}));
    assert_eq!(passed["next"]["say"], "done", "{passed}");
}

#[test]
fn processes_that_add_features_at_once_lose_none() {
    let project = Project::new();
    let children: Vec<_> = (0..8)
        .map(|n| {
            let id = format!("F{n}");
            project.command(&["features", "add", &id, "--description", "x"]).spawn().expect("starts")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("ends").success());
    }
    assert_eq!(project.json(&["features"])["total"], 8);
}
