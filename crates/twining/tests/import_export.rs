//! Memories come and go: import and export at the command line.

use crate::common::Project;
use serde_json::{Value, json};
use twining_testcases::each;

fn write(project: &Project, name: &str, text: &str) {
    let path = project.path().join(name);
    std::fs::create_dir_all(path.parent().expect("has a folder")).expect("makes the folder");
    std::fs::write(path, text).expect("writes");
}

const ADR: &str = "# 1. Use REST\n\nDate: 2020-03-01\n\n## Status\n\nAccepted\n\n## Context\n\nClients.\n\n## Decision\n\nREST.\n";

#[test]
fn records_are_tried_imported_and_known() {
    let project = Project::new();
    write(&project, "docs/adr/0001-use-rest.md", ADR);
    write(&project, "docs/adr/template.md", "no title\n");
    let tried = project.json(&["import", "adr", "docs/adr", "--dry-run"]);
    assert_eq!(
        (&tried["dry_run"], &tried["decisions"]["new"]),
        (&json!(true), &json!(1)),
        "{tried}"
    );
    assert!(!project.path().join(".twining").exists(), "trying makes nothing");
    let told = project.run(&["import", "madr", "docs/adr"]);
    assert_eq!(told.code, 0, "{told:?}");
    insta::assert_snapshot!(told.stdout, @"
    imported  1 decision
    not read: template.md:1 it has no `# title`
    ");
    assert_eq!(
        project.json(&["import", "adr", "docs/adr"])["decisions"],
        json!({"new": 0, "known": 1, "completed": 0})
    );
    let why = project.json(&["why", "src/"]);
    assert_eq!(why["decisions"][0]["summary"], "Use REST");
}

#[test]
fn what_is_not_there_or_not_meant_is_said() {
    let project = Project::new();
    assert_eq!(project.run(&["import", "adr"]).code, 2);
    assert_eq!(project.run(&["import", "nonsense", "x"]).code, 2);
    assert_ne!(project.run(&["import", "beads", "nowhere.jsonl"]).code, 0);
    assert_ne!(project.run(&["import", "beads", "."]).code, 0, "a folder is no file");
    write(&project, "latin.jsonl", "");
    std::fs::write(project.path().join("latin.jsonl"), b"{\"id\":\"\xE9\"}").expect("writes");
    let told = project.json(&["import", "beads", "latin.jsonl"]);
    assert_eq!(told["unread"][0], json!({"file": "latin.jsonl", "why": "not UTF-8"}));
}

#[cfg(unix)]
#[test]
fn a_record_that_is_a_link_is_named_and_not_followed() {
    let project = Project::new();
    write(&project, "docs/adr/0001-use-rest.md", ADR);
    write(&project, "elsewhere.md", ADR);
    std::os::unix::fs::symlink(
        project.path().join("elsewhere.md"),
        project.path().join("docs/adr/0002-link.md"),
    )
    .expect("links");
    let told = project.json(&["import", "adr", "docs/adr"]);
    assert_eq!(
        (&told["decisions"]["new"], &told["unread"][0]["file"]),
        (&json!(1), &json!("0002-link.md")),
        "{told}"
    );
}

#[test]
fn a_secret_that_was_taken_out_is_told_with_its_file() {
    let project = Project::new();
    // Put together here, so that nobody takes this file for a leak.
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    write(
        &project,
        "docs/adr/0001-use-rest.md",
        &ADR.replace("Clients.", &format!("Clients use {secret}.")),
    );
    let text = project.run(&["import", "adr", "docs/adr", "--dry-run"]).stdout;
    assert!(
        text.contains("redacted before writing: GitHub") && text.contains("0001-use-rest.md"),
        "{text}"
    );
    let told = project.json(&["import", "adr", "docs/adr"]);
    assert_eq!(told["redacted"][0]["field"], "0001-use-rest.md", "{told}");
    assert!(!told.to_string().contains(&secret));
}

#[test]
fn rules_for_agents_are_counted() {
    let project = Project::new();
    write(
        &project,
        "CLAUDE.md",
        "# Shop\n\n- Use pnpm instead of npm\n- Never force-push\n- Ask Ada\n",
    );
    let told = project.run(&["import", "claude-md", "CLAUDE.md"]);
    insta::assert_snapshot!(told.stdout, @"
    imported  1 decision
    imported  2 entries
    1 to review as guards: twining read --tag guard-to-review
    1 pieces of advice: twining read --tag advice
    ");
    assert_eq!(
        project.json(&["read", "--tag", "guard-to-review"])["entries"][0]["summary"],
        "Never force-push"
    );
}

#[test]
fn a_memory_goes_out_as_madr_and_comes_back_elsewhere() {
    let (here, there) = (Project::new(), Project::new());
    here.decide("Keep it simple", "src/");
    here.decide("Keep it <b>small</b>", "lib/");
    let out = there.path().join("records");
    let told = here.run(&["export", "madr", "--out", out.to_str().expect("is UTF-8")]);
    assert_eq!(told.code, 0, "{told:?}");
    assert_eq!(there.json(&["import", "madr", "records"])["decisions"]["new"], 2);
    let summaries = |project: &Project| {
        let why = project.json(&["why", "project"]);
        let mut all: Vec<String> = why["decisions"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|d| format!("{}{}", d["id"], d["summary"]))
            .collect();
        all.sort();
        all
    };
    assert_eq!(summaries(&here), summaries(&there));
    assert_eq!(
        here.json(&["import", "madr", out.to_str().expect("is UTF-8")])["decisions"]["known"],
        2
    );
}

#[test]
fn another_folder_comes_over_whole() {
    let (here, there) = (Project::new(), Project::new());
    there.decide("Only there", "src/");
    there.run(&["post", "finding", "said there"]);
    write(&there, ".twining/policy.yml", GUARD);
    let told = here.json(&["import", "twining", there.path().to_str().expect("is UTF-8")]);
    assert_eq!(told["decisions"]["new"], json!(1), "{told}");
    let left = told["unread"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|left| left["file"] == "policy.yml")
        .expect("is told");
    assert!(
        left["why"].as_str().expect("says why").contains("copy"),
        "rules are each project's own: {left}"
    );
    assert!(!here.path().join(".twining/policy.yml").exists(), "none of them comes");
    assert!(here.json(&["recent"]).to_string().contains("said there"));
    let again = here.json(&["import", "twining", there.path().to_str().expect("is UTF-8")]);
    assert_eq!(
        (&again["decisions"]["new"], &again["entries"]["new"]),
        (&json!(0), &json!(0)),
        "{again}"
    );
}

const GUARD: &str = "version: 1\nguards:\n  - id: no-push\n    when: {command: [\"git push\"]}\n    action: block\n    say: people push\n  - id: lint-first\n    when: {command: [\"git commit\"]}\n    verify: {command: make lint}\n    action: block\n    say: lint\n";

#[test]
fn work_and_knowledge_of_another_folder_come_over_once_and_are_believed_no_further() {
    let (here, there) = (Project::new(), Project::new());
    let secret = format!("{}{}", "gh", "p_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX");
    let features = json!({"features": [
        {"id": "F1", "description": "theirs", "status": "pending"},
        {"id": "F2", "description": format!("log in with {secret}"), "status": "tested", "tested": true, "priority": 3, "extra": [1]},
    ]});
    write(&there, ".twining/features.json", &features.to_string());
    write(
        &there,
        ".twining/knowledge.dot",
        "digraph {\n  cache [type=rule, level=architecture, status=current, priority=critical, description=\"No caches\"];\n  db [type=component, level=architecture, status=current, description=\"One database\"];\n  cache -> db [relation=related_to];\n}\n",
    );
    there.run(&["store-trace", "violation", "pushed", "--action", "Bash: git push"]);
    let anchor = json!({"id": "A1", "of": "feature:F2", "at": "src/login.rs#log_in"});
    write(&there, ".twining/anchors.jsonl", &format!("{anchor}\n"));
    there.json(&[
        "record-turn",
        "T1",
        "1",
        "--feature",
        "F2",
        "--player-decision",
        "x",
        "--coach-decision",
        "approve",
        "--progress-summary",
        "all",
    ]);
    here.json(&["features", "add", "F1", "--description", "ours"]);
    let from = there.path().to_str().expect("is UTF-8").to_owned();
    let import =
        |words: &[&str]| here.json(&[&["import", "twining", from.as_str()], words].concat());
    let tried = import(&["--dry-run"]);
    let told = import(&[]);
    each([("features", 1, 1), ("nodes", 2, 0)], |(part, new, known)| {
        assert_eq!(
            told[part],
            json!({"new": new, "known": known, "completed": 0}),
            "{part}: {told}"
        );
        assert_eq!(tried[part], told[part], "what is tried is what comes");
    });
    let list = here.json(&["features"]);
    let of = |id: &str| {
        list["features"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|feature| feature["id"] == id)
            .expect("is there")
            .clone()
    };
    assert_eq!(
        (&of("F1")["description"], &of("F2")["status"], &of("F2")["tested"]),
        (&json!("ours"), &json!("completed"), &json!(false))
    );
    let graph =
        std::fs::read_to_string(here.path().join(".twining/knowledge.dot")).expect("is there");
    assert!(
        graph.contains("future") && !graph.contains("current"),
        "in force once a person says so: {graph}"
    );
    for part in ["turns", "traces.jsonl", "anchors.jsonl"] {
        assert!(
            told["unread"].as_array().expect("a list").iter().any(|left| left["file"] == part),
            "{part} is named: {told}"
        );
    }
    assert!(!here.path().join(".twining/turns").exists(), "and stays there");
    for file in [".twining/features.json", ".twining/blackboard.jsonl", ".twining/knowledge.dot"] {
        assert!(
            !std::fs::read_to_string(here.path().join(file)).unwrap_or_default().contains(&secret),
            "{file}"
        );
    }
    let again = import(&[]);
    for part in ["features", "nodes", "entries"] {
        assert_eq!(again[part]["new"], 0, "{part}: {again}");
    }
}

#[test]
fn what_was_archived_since_does_not_come_back() {
    let (here, there) = (Project::new(), Project::new());
    there.run(&["post", "finding", "said there"]);
    let from = there.path().to_str().expect("is UTF-8").to_owned();
    assert_eq!(here.json(&["import", "twining", &from])["entries"]["new"], 1);
    assert_ne!(here.json(&["archive"])["archived_count"], 0);
    let again = here.json(&["import", "twining", &from]);
    assert_eq!(
        (&again["entries"]["new"], &again["entries"]["known"]),
        (&json!(0), &json!(1)),
        "{again}"
    );
    let read = here.json(&["read"]);
    assert!(
        read["entries"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|entry| entry["summary"] != "said there"),
        "{read}"
    );
}

#[test]
fn every_format_is_written() {
    let project = Project::new();
    project.decide("Keep it simple", "src/");
    each(["markdown", "json", "html", "mermaid", "dot"], |format| {
        let told = project.run(&["export", format]);
        assert!(told.code == 0 && told.stdout.contains("Keep it simple"), "{format}: {told:?}");
    });
    assert_eq!(project.run(&["export", "--format", "html", "--out", "memory.html"]).code, 0);
    let page = std::fs::read_to_string(project.path().join("memory.html")).expect("is written");
    assert!(page.starts_with("<!doctype html>"));
    let tool: Value = project.json(&["export", "json"]);
    assert_eq!(tool["format"], "json");
}
