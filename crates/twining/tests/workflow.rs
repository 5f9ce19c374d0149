//! The feature loop from outside: the same verbs on the command line and over
//! MCP, two processes at once.

use crate::common::{Project, Server, normal};
use insta::assert_snapshot;
use serde_json::{Value, json};
use twining_testcases::each;

const JUNIT: &str = r#"<testsuites><testsuite name="a" tests="1" failures="0"><testcase name="x"/></testsuite></testsuites>"#;

fn put(project: &Project, path: &str, text: &str) {
    let path = project.path().join(path);
    std::fs::create_dir_all(path.parent().expect("inside the project")).expect("makes the folder");
    std::fs::write(path, text).expect("writes");
}

#[test]
fn a_feature_is_built_and_shown_to_work() {
    let project = Project::new();
    let mut told = String::new();
    let mut tell = |words: &[&str]| {
        let ran = project.run(words);
        told.push_str(&format!(
            "$ twining {}\n{}{}[{}]\n\n",
            words.join(" "),
            ran.stdout,
            ran.stderr,
            ran.code
        ));
    };
    tell(&["next"]);
    put(&project, "src/a.rs", "fn a() {}");
    tell(&[
        "features",
        "add",
        "F1",
        "--description",
        "Log out everywhere",
        "--file",
        "src/",
        "--priority",
        "high",
    ]);
    tell(&["next", "--prompt", "false"]);
    tell(&["report", "F1", "--role", "coder", "--outcome", "completed"]);
    tell(&["report", "F1", "--role", "tester", "--outcome", "passed"]);
    tell(&["features", "update", "F1", "--status", "in_progress"]);
    put(&project, "target/junit.xml", JUNIT);
    let passed = [
        "report",
        "F1",
        "--role",
        "tester",
        "--outcome",
        "passed",
        "--command",
        "cargo test",
        "--exit-code",
        "0",
    ];
    tell(&[&passed[..], &["--report", "target/junit.xml"]].concat());
    tell(&["features"]);
    tell(&["next"]);
    assert_snapshot!("feature_from_idea_to_tested", normal(&told));
    let file =
        std::fs::read_to_string(project.path().join(".twining/features.json")).expect("is there");
    let list: Value = serde_json::from_str(&file).expect("is JSON");
    assert_eq!(list["features"][0]["tested"], true);
}

fn ask(server: &mut Server, tool: &str, arguments: &Value) -> Value {
    server.call(tool, arguments)["structuredContent"].clone()
}

#[test]
fn the_loop_is_driven_over_mcp() {
    let project = Project::new();
    let mut server = project.server(&["--tools", "workflow"]);
    server.initialize();
    assert_eq!(ask(&mut server, "twining_next", &json!({}))["action"], "initialize");
    let feature = json!({"action": "add", "id": "A", "description": "a", "priority": 1});
    assert_eq!(ask(&mut server, "twining_features", &feature)["features"][0]["priority"], 1);
    let next = ask(&mut server, "twining_next", &json!({}));
    assert_eq!((next["say"].as_str(), next["role"].as_str()), (Some("code A"), Some("player")));
    assert!(next["prompt"].as_str().expect("a prompt").starts_with("# Build A\n"), "{next}");
    let moved = ask(
        &mut server,
        "twining_report",
        &json!({"feature": "A", "role": "coder", "outcome": "completed"}),
    );
    assert_eq!(moved["next"]["say"], "test A");
    let evidence =
        json!({"command": "npm test", "exit_code": 0, "output": "Tests:       4 passed, 4 total"});
    let passed = ask(
        &mut server,
        "twining_report",
        &json!({"feature": "A", "role": "tester", "outcome": "passed", "evidence": evidence}),
    );
    assert_eq!(passed["next"]["say"], "done", "{passed}");
}

#[test]
fn processes_that_add_features_at_once_lose_none() {
    let project = Project::new();
    let children: Vec<_> = (0..8)
        .map(|n| {
            let id = format!("F{n}");
            project
                .command(&["features", "add", &id, "--description", "x"])
                .spawn()
                .expect("starts")
        })
        .collect();
    each(children, |mut child| {
        assert!(child.wait().expect("ends").success());
    });
    assert_eq!(project.json(&["features"])["total"], 8);
}

#[test]
fn a_reopened_feature_is_tested_again_and_by_a_tester() {
    let project = Project::new();
    put(&project, "src/a.rs", "fn a() {}");
    let tell = |words: &[&str]| project.run(&[&["report", "A"], words].concat());
    let counts =
        |n| ["--command", "pytest", "--exit-code", "0", "--tests-run", n, "--tests-passed", n];
    let passed = |role: &str, more: &[&str]| {
        tell(&[&["--role", role, "--outcome", "passed"], more].concat())
    };
    project.run(&["features", "add", "A", "--description", "a", "--file", "src/a.rs"]);
    let complete = || assert_eq!(tell(&["--role", "coder", "--outcome", "completed"]).code, 0);
    let reopened: [&dyn Fn() -> i32; 2] = [
        &|| tell(&["--role", "tester", "--outcome", "reopened", "--summary", "it is broken"]).code,
        &|| {
            project
                .run(&[
                    "features",
                    "update",
                    "A",
                    "--status",
                    "pending",
                    "--reason",
                    "it is broken",
                ])
                .code
        },
    ];
    each(reopened, |reopen| {
        complete();
        for role in ["wizard", "coder2", "orchestrator"] {
            let ran = passed(role, &counts("5"));
            assert!(
                ran.code != 0 && ran.stderr.contains("tester (or coach"),
                "{role}: {}",
                ran.stderr
            );
        }
        assert_eq!(passed("tester", &counts("5")).code, 0);
        assert_eq!(reopen(), 0);
        complete();
        let ran = passed("tester", &[]);
        assert!(ran.code != 0 && ran.stderr.contains("it was reopened at"), "{}", ran.stderr);
        let ran = passed("tester", &counts("0"));
        assert!(ran.code != 0 && ran.stderr.contains("`pytest` ran no test"), "{}", ran.stderr);
        assert_eq!(passed("coach", &counts("5")).code, 0);
        assert_eq!(reopen(), 0);
    });
}
