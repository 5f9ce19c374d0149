//! Knowledge at the command line: DOT files, the graph, its merge in a real repository.

mod common;

use common::Project;
use serde_json::{Value, json};

fn write(project: &Project, name: &str, text: impl AsRef<[u8]>) {
    let path = project.path().join(name);
    std::fs::create_dir_all(path.parent().expect("has a folder")).expect("makes the folder");
    std::fs::write(path, text).expect("writes");
}

#[test]
fn any_dot_file_gets_the_parsers_word() {
    let project = Project::new();
    write(&project, "good.dot", "strict graph { a -- b; a -- b [x=1] }");
    write(&project, "bad.dot", "digraph {\n  api-server [x=1];\n  a -> ;\n}\n");
    let ran = project.run(&["dot", "check", "good.dot", "bad.dot", "absent.dot", "--json"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
    assert_eq!(told[0], json!({"file": "good.dot", "ok": true, "nodes": 2, "edges": 1, "errors": []}));
    assert_eq!((&told[1]["ok"], &told[1]["errors"][0]["line"]), (&json!(false), &json!(2)), "{told}");
    assert!(told[1]["errors"].as_array().is_some_and(|errors| errors.len() == 2), "every error is told: {told}");
    assert!(told[2]["errors"][0]["message"].as_str().is_some_and(|message| message.starts_with("cannot be read")), "{told}");

    let shown = project.run(&["dot", "check", "good.dot", "bad.dot"]);
    assert!(shown.stdout.starts_with("ok good.dot 2 nodes, 1 edge\nbad.dot:2:"), "{}", shown.stdout);
    assert_eq!(project.run_with(&["dot", "check", "-"], "digraph {}").code, 0);
    assert_eq!(project.run(&["dot", "check"]).code, 2);
}

#[test]
fn the_check_prints_places_that_editors_can_jump_to() {
    let project = Project::new();
    let missing = project.run(&["knowledge", "check"]);
    assert_eq!(missing.code, 0, "{missing:?}");
    insta::assert_snapshot!(missing.stdout, @"
    .twining/knowledge.dot: there is no knowledge graph yet
        suggestion: `twining knowledge check --create` starts one
    valid: .twining/knowledge.dot 0 nodes, 0 edges
    ");
    let made = project.run(&["knowledge", "check", "--create"]);
    insta::assert_snapshot!(made.stdout, @"valid: .twining/knowledge.dot 6 nodes, 0 edges");
    let text = "digraph {\n  a [type=rule level=application\u{1b}[31m status=active description=d priority=high];\n  a -> b;\n}\n";
    write(&project, ".twining/knowledge.dot", text.replace("application\u{1b}[31m", "\"application\u{1b}[31m\""));
    let ran = project.run(&["knowledge", "check"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    insta::assert_snapshot!(ran.stdout, @r#"
    .twining/knowledge.dot:2:16: invalid level 'applicationU+001B[31m', must be one of: architecture, implementation (a.level)
    .twining/knowledge.dot:2:41: invalid status 'active', must be one of: current, deprecated, future, legacy (a.status)
        suggestion: current
    .twining/knowledge.dot:3:3: edge references unknown target node 'b' (a.target)
    .twining/knowledge.dot:3:3: edge has no relation; it counts as related_to (a.relation)
        suggestion: relation="…" with one of calls, uses, implements, configured_with, must_follow, must_not_use, superseded_by, supersedes, coexists_with
    3 errors: .twining/knowledge.dot 1 node, 1 edge
    "#);
    let told = project.run(&["knowledge", "check", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).expect("prints JSON");
    assert_eq!(
        told["errors"][1],
        json!({"node_id": "a", "field": "status", "line": 2, "column": 41, "suggestion": "current",
            "message": "invalid status 'active', must be one of: current, deprecated, future, legacy"})
    );
}

#[test]
fn the_tool_and_the_command_give_the_same_pack() {
    let project = Project::new();
    project.run(&["knowledge", "check", "--create"]);
    let found = project.run(&["knowledge", "retrieve", "coverage", "--depth", "0"]);
    insta::assert_snapshot!(found.stdout, @r#"
    digraph ProjectKnowledge {
        "test-coverage" [type="rule", level="implementation", status="current", description="New code is covered by tests, at least 80%", priority="critical"];
    }
    // 1 found, 0 around them
    "#);
    let by_hand = project.json(&["knowledge", "pack", "Raise the coverage of handlers", "--story", "S-1", "--criterion", "tests pass"]);
    assert_eq!((&by_hand["cached"], &by_hand["hits"][0]), (&json!(false), &json!("test-coverage")), "{by_hand}");
    let mut server = project.server(&[]);
    server.initialize();
    let arguments = json!({"story_id": "S-1", "description": "Raise the coverage of handlers", "acceptance_criteria": ["tests pass"]});
    let by_tool = server.call("twining_knowledge_pack", &arguments);
    assert_eq!(by_tool["structuredContent"]["subgraph"], by_hand["subgraph"]);
    assert_eq!(by_tool["structuredContent"]["cached"], true);
}

#[test]
fn an_edit_at_the_prompt_is_checked_and_told() {
    let project = Project::new();
    project.run(&["knowledge", "check", "--create"]);
    let op = r#"{"op":"add_edge","from":"code-style","to":"test-coverage","relation":"must_follow"}"#;
    let done = project.run(&["knowledge", "update", "--op", op, "--op", r#"{"op":"update_node","id":"code-style","tag":"fmt"}"#]);
    insta::assert_snapshot!(done.stdout, @"
    written: .twining/knowledge.dot 6 nodes, 1 edge
      changed code-style
      added 1 edge
    ");
    let wrong = project.run(&["knowledge", "update", "--op", r#"{"op":"update_node","id":"code-style","status":"active"}"#]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("invalid status 'active'") && wrong.stderr.contains("(current)"), "{}", wrong.stderr);
    assert_eq!(project.run(&["knowledge", "update", "--op", "{}"]).code, 2);
}
