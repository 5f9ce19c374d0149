//! What only a person does: at a terminal, in any window, by typing a name.

use std::fs;

use crate::common::Project;
use crate::common::hooked::{commit, git, project, start, write};
use crate::common::terminal::at_terminal;
use serde_json::{Value, json};

const BYPASS: [&str; 7] =
    ["guard", "bypass", "no-push", "--for", "30m", "--reason", "hotfix, agreed with Ada"];
const ALLOW: [&str; 5] = ["guard", "allow", "src/a.rs", "--reason", "moves out next week"];

fn guarded() -> Project {
    let project = project();
    write(
        &project,
        ".twining/policy.yml",
        "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: people push}\n",
    );
    project
}

fn approvals(project: &Project) -> Vec<Value> {
    let found = project.json(&["query-traces", "--type", "approval"]);
    found["traces"].as_array().expect("a list").iter().map(|hit| hit["trace"].clone()).collect()
}

/// What is kept among the user's settings.
fn kept(project: &Project) -> Value {
    let folder = project.path().join("../settings-of-nobody/twining/allowed-by-person");
    let file =
        fs::read_dir(folder).expect("is there").next().expect("one file").expect("reads").path();
    serde_json::from_slice(&fs::read(file).expect("reads")).expect("is JSON")
}

#[test]
fn a_window_opened_while_a_session_runs_can_lift_a_guard() {
    let project = guarded();
    start(&project, "s-1");
    let lifted = at_terminal(&project, &BYPASS, "no-push", None);
    assert_eq!(lifted.code, 0, "{lifted:?}");
    let approval = &approvals(&project)[0];
    assert_eq!(approval["event"]["why"], "hotfix, agreed with Ada");
    assert_eq!(approval["origin"]["trust"], "human");
}

#[test]
fn an_agents_shell_is_told_that_a_person_is_needed_and_which_window_will_do() {
    let project = guarded();
    let refused = at_terminal(&project, &BYPASS, "no-push", Some("CODEX_SANDBOX"));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.stderr.contains("CODEX_SANDBOX is set")
            && refused.stderr.contains("in their own terminal window"),
        "{refused:?}"
    );
    assert_eq!(approvals(&project).len(), 0);
}

#[test]
fn a_finding_is_allowed_in_the_next_commit_and_recorded() {
    let project = project();
    let head = String::from_utf8(git(&project, &["rev-parse", "HEAD"]).stdout)
        .expect("is text")
        .trim()
        .to_owned();
    let allowed = at_terminal(&project, &ALLOW, "src/a.rs", None);
    assert_eq!(allowed.code, 0, "{allowed:?}");
    let given = &kept(&project)["commits"][0];
    assert_eq!((&given["subject"], &given["head"]), (&json!("src/a.rs"), &json!(head)));
    let approval = &approvals(&project)[0];
    assert_eq!(approval["event"]["why"], "moves out next week");
    assert!(
        approval["event"]["what_happened"].as_str().is_some_and(|text| text.contains("src/a.rs")),
        "{approval}"
    );

    write(&project, "src/a.rs", "fn b() {}\n");
    commit(&project, "moved");
    assert_eq!(at_terminal(&project, &ALLOW, "src/a.rs", None).code, 0, "again, for the one after");
    assert_eq!(kept(&project)["commits"].as_array().map(Vec::len), Some(1), "one of each");
}

#[test]
fn a_finding_is_allowed_by_nobody_without_a_reason_a_terminal_or_the_typed_name() {
    let project = project();
    assert_eq!(project.run(&ALLOW).code, 1, "no terminal");
    assert_eq!(at_terminal(&project, &ALLOW, "yes", None).code, 1, "something else was typed");
    assert_eq!(
        at_terminal(&project, &["guard", "allow", "src/a.rs"], "src/a.rs", None).code,
        2,
        "no reason"
    );
    assert_eq!(approvals(&project).len(), 0);
}
