//! Agents together, from outside: many real processes and two servers.

use std::process::Stdio;
use twining_testcases::each;

use crate::common::Project;
use serde_json::{Value, json};

#[test]
fn of_many_processes_that_claim_one_path_exactly_one_wins() {
    let project = Project::new();
    project.json(&["post", "finding", "there is a folder"]);
    let start = |n: usize| {
        let path = if n.is_multiple_of(2) { "src/auth" } else { "src/auth/jwt.rs" };
        let name = format!("agent-{n}");
        let mut command =
            project.command(&["--agent", &name, "claim", path, "--reason", "mine", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts")
    };
    let children: Vec<_> = (0..16).map(start).collect();
    let answers: Vec<Value> = children
        .into_iter()
        .map(|child| {
            serde_json::from_slice(&child.wait_with_output().expect("ends").stdout)
                .expect("prints JSON")
        })
        .collect();
    let won: Vec<&Value> = answers.iter().filter(|answer| answer["claim"].is_object()).collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    assert!(
        answers
            .iter()
            .filter(|answer| answer["claim"].is_null())
            .all(|answer| answer["code"] == "CLAIMED"),
        "{answers:?}"
    );
    let held = project.json(&["status"])["claims"].clone();
    assert_eq!((held.as_array().map(Vec::len), &held[0]["id"]), (Some(1), &won[0]["claim"]["id"]));
    let file: Value = serde_json::from_str(
        &std::fs::read_to_string(project.path().join(".twining/local/claims.json"))
            .expect("is there"),
    )
    .expect("is JSON");
    // What there is none of is left out, as the tool's schema says.
    assert!(
        won[0]["claim"]
            .as_object()
            .is_some_and(|claim| claim.values().all(|value| !value.is_null())),
        "{:?}",
        won[0]
    );
    each(["id", "agent_id", "paths", "reason", "since", "until"], |field| {
        assert!(file["claims"][0].get(field).is_some(), "{field}: {file}");
    });
}

#[test]
fn two_agents_meet_delegate_and_hand_over() {
    let project = Project::new();
    let mut ada = project.server(&["--agent", "ada"]);
    let mut bob = project.server(&["--agent", "bob"]);
    ada.initialize();
    bob.initialize();
    bob.call("twining_register", &json!({"capabilities": ["sql"], "role": "tester"}));
    let asked = ada.call(
        "twining_delegate",
        &json!({"summary": "tune the report", "required_capabilities": ["sql"]}),
    );
    assert_eq!(asked["structuredContent"]["suggested_agents"][0]["agent_id"], "bob");
    let there = ada.call("twining_agents", &json!({}));
    let names: Vec<&str> = there["structuredContent"]["agents"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|agent| agent["agent_id"].as_str())
        .collect();
    assert!(
        names.contains(&"ada") && names.contains(&"bob"),
        "any call is a sign of life: {there}"
    );
    let handed = ada.call(
        "twining_handoff",
        &json!({"summary": "schema is done", "results": [{"description": "schema", "status": "completed"}], "target_agent": "bob", "scope": "db/"}),
    );
    let waiting = bob.call("twining_assemble", &json!({"task": "go on", "scope": "db/"}));
    assert_eq!(
        waiting["structuredContent"]["handoffs"][0]["id"],
        handed["structuredContent"]["id"]
    );
    let taken =
        bob.call("twining_acknowledge", &json!({"handoff_id": handed["structuredContent"]["id"]}));
    assert_eq!(taken["structuredContent"]["results"][0]["status"], "completed");
    bob.call("twining_claim", &json!({"paths": ["db"], "ttl": 600}));
    let clash = ada.call("twining_claim", &json!({"paths": ["db/schema.sql"]}));
    assert_eq!(
        (&clash["isError"], &clash["structuredContent"]["code"]),
        (&json!(true), &json!("CLAIMED"))
    );
    let told = ada.call("twining_assemble", &json!({"task": "go on", "scope": "db/"}));
    assert_eq!(told["structuredContent"]["claims"][0]["agent_id"], "bob");
    bob.call("twining_claim", &json!({"action": "release"}));
    assert_ne!(ada.call("twining_claim", &json!({"paths": ["db/schema.sql"]}))["isError"], true);
}
