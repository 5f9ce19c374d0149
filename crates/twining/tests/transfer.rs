//! Memories come and go: import and export at the command line.

mod common;

use common::Project;
use serde_json::{Value, json};

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
    assert_eq!((&tried["dry_run"], &tried["decisions"]["new"]), (&json!(true), &json!(1)), "{tried}");
    assert!(!project.path().join(".twining").exists(), "trying makes nothing");
    let told = project.run(&["import", "madr", "docs/adr"]);
    assert_eq!(told.code, 0, "{told:?}");
    insta::assert_snapshot!(told.stdout, @"
    imported  1 decisions
    not read: template.md:1 no `# title` in it
    ");
    assert_eq!(project.json(&["import", "adr", "docs/adr"])["decisions"], json!({"new": 0, "known": 1, "completed": 0}));
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

#[test]
fn rules_for_agents_are_counted() {
    let project = Project::new();
    write(&project, "CLAUDE.md", "# Shop\n\n- Use pnpm instead of npm\n- Never force-push\n- Ask Ada\n");
    let told = project.run(&["import", "claude-md", "CLAUDE.md"]);
    insta::assert_snapshot!(told.stdout, @"
    imported  1 decisions
    imported  2 entries
    1 to review as guards: twining read --tag guard-to-review
    1 pieces of advice: twining read --tag advice
    ");
    assert_eq!(project.json(&["read", "--tag", "guard-to-review"])["entries"][0]["summary"], "Never force-push");
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
        let mut all: Vec<String> =
            why["decisions"].as_array().expect("a list").iter().map(|d| format!("{}{}", d["id"], d["summary"])).collect();
        all.sort();
        all
    };
    assert_eq!(summaries(&here), summaries(&there));
    assert_eq!(here.json(&["import", "madr", out.to_str().expect("is UTF-8")])["decisions"]["known"], 2);
}

#[test]
fn another_folder_comes_over_whole() {
    let (here, there) = (Project::new(), Project::new());
    there.decide("Only there", "src/");
    there.run(&["post", "finding", "said there"]);
    write(&there, ".twining/policy.yml", "version: 1\n");
    let told = here.json(&["import", "twining", there.path().to_str().expect("is UTF-8")]);
    assert_eq!((&told["decisions"]["new"], &told["unread"][0]["file"]), (&json!(1), &json!("policy.yml")), "{told}");
    assert!(here.json(&["recent"]).to_string().contains("said there"));
    let again = here.json(&["import", "twining", there.path().to_str().expect("is UTF-8")]);
    assert_eq!((&again["decisions"]["new"], &again["entries"]["new"]), (&json!(0), &json!(0)), "{again}");
}

#[test]
fn every_format_is_written() {
    let project = Project::new();
    project.decide("Keep it simple", "src/");
    for format in ["markdown", "json", "html", "mermaid", "dot"] {
        let told = project.run(&["export", format]);
        assert!(told.code == 0 && told.stdout.contains("Keep it simple"), "{format}: {told:?}");
    }
    assert_eq!(project.run(&["export", "--format", "html", "--out", "memory.html"]).code, 0);
    let page = std::fs::read_to_string(project.path().join("memory.html")).expect("is written");
    assert!(page.starts_with("<!doctype html>"));
    let tool: Value = project.json(&["export", "json"]);
    assert_eq!(tool["format"], "json");
}
