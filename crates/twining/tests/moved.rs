//! How far a feature is, in our own list: a report says so, and what another hand
//! says is told when the turn ends and at the commit.

mod common;

use common::Project;
use common::hooked::{answer, commit, git, hook, reason, start, stop, stop_in, write};
use serde_json::{Value, json};

const OWN: &str = ".twining/features.json";

/// A project with a list of our own: one feature that nobody began, one whose code is there.
fn project() -> Project {
    let project = common::hooked::project();
    std::fs::remove_dir_all(project.path().join(".claude")).expect("makes way for our own");
    for id in ["F1", "F2"] {
        assert_eq!(project.run(&["features", "add", id, "--description", "a thing", "--file", "src/a.rs"]).code, 0);
    }
    report(&project, "F2", "completed");
    commit(&project, "a list");
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    project
}

fn report(project: &Project, id: &str, outcome: &str) {
    let role = if matches!(outcome, "started" | "completed") { "coder" } else { "tester" };
    let ran = project.run(&["report", id, "--role", role, "--outcome", outcome, "--summary", "as it is"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Changes the list behind everybody's back.
fn put(project: &Project, id: &str, field: &str, value: &str) {
    let mut list: Value = serde_json::from_str(&common::hooked::read(project, OWN)).expect("a list");
    let features = list["features"].as_array_mut().expect("features");
    features.iter_mut().filter(|feature| feature["id"] == id).for_each(|feature| feature[field] = json!(value));
    write(project, OWN, &(serde_json::to_string_pretty(&list).expect("prints") + "\n"));
}

fn pre_commit(project: &Project) -> i32 {
    assert!(git(project, &["add", "-A"]).status.success());
    project.run(&["hook", "--agent", "git", "pre-commit"]).code
}

#[test]
fn a_status_that_a_script_wrote_is_told_at_the_end_and_at_the_commit() {
    for (id, to, was) in [
        ("F1", "blocked", "pending"),
        ("F1", "in_progress", "pending"),
        ("F1", "completed", "pending"),
        ("F2", "pending", "completed"),
        ("F2", "blocked", "completed"),
    ] {
        let project = project();
        put(&project, id, "status", to);
        assert_ne!(pre_commit(&project), 0, "{id} {to}");
        let why = reason(&stop(&project));
        let wanted = format!("was changed by another hand than Twining's: `{id}` is {to} and was {was}");
        assert!(why.contains("[protect-twining-state]") && why.contains(&wanted), "{why}");
        assert!(why.contains("git restore") && why.contains("twining_report"), "{why}");
        // Undone, all is well; and nobody is held for ever.
        if to == "blocked" {
            assert!(git(&project, &["restore", "--staged", "--worktree", OWN]).status.success());
            assert_eq!(stop(&project), Value::Null);
        } else {
            reason(&stop(&project));
            assert_ne!(stop(&project)["decision"], "block");
            assert_eq!(stop_in(&project, "s-2")["decision"], Value::Null, "a question by now");
        }
    }
}

#[test]
fn a_status_that_was_put_back_after_a_report_is_told_too() {
    let project = project();
    report(&project, "F1", "started");
    report(&project, "F1", "completed");
    put(&project, "F1", "status", "pending");
    assert_eq!(stop(&project), Value::Null, "to the byte as it was committed, which git may do");
    report(&project, "F1", "started");
    put(&project, "F2", "description", "other words");
    put(&project, "F1", "status", "pending");
    assert!(reason(&stop(&project)).contains("`F1` is pending and was in_progress"));
}

#[test]
fn a_feature_that_a_script_added_as_begun_is_told() {
    let project = project();
    let mut list: Value = serde_json::from_str(&common::hooked::read(&project, OWN)).expect("a list");
    list["features"].as_array_mut().expect("features").push(json!({"id": "F9", "description": "x", "status": "completed"}));
    write(&project, OWN, &list.to_string());
    assert!(reason(&stop(&project)).contains("`F9` is completed and was pending"));
}

#[test]
fn what_reports_and_git_do_to_a_list_is_nobody_s_trick() {
    let project = project();
    // Every step that Twining takes, by a report, by an update, by an import.
    report(&project, "F1", "started");
    report(&project, "F1", "completed");
    report(&project, "F2", "failed");
    assert_eq!(stop(&project), Value::Null);
    assert_eq!(project.run(&["features", "update", "F1", "--status", "blocked", "--reason", "waits"]).code, 0);
    report(&project, "F2", "completed");
    assert_eq!(project.run(&["features", "add", "F3", "--description", "another"]).code, 0);
    assert_eq!(pre_commit(&project), 0);
    assert_eq!(stop(&project), Value::Null);
    commit(&project, "on");
    assert_eq!(stop(&project), Value::Null);

    // What the guards let an agent write: other words, and one more.
    let edit = json!({"file_path": OWN, "old_string": "another", "new_string": "another one"});
    assert_eq!(answer(&hook(&project, "PreToolUse", json!({"tool_name": "Edit", "tool_input": edit}))), Value::Null);
    put(&project, "F3", "description", "another one");
    answer(&hook(&project, "PostToolUse", json!({"tool_name": "Edit", "tool_input": edit, "tool_response": {}})));
    assert_eq!(stop(&project), Value::Null);

    // A branch where they stand elsewhere, there and back, and a merge of both.
    commit(&project, "words");
    assert!(git(&project, &["switch", "-q", "-c", "side"]).status.success());
    report(&project, "F3", "started");
    commit(&project, "side");
    assert_eq!(stop(&project), Value::Null);
    assert!(git(&project, &["switch", "-q", "main"]).status.success());
    assert_eq!(stop(&project), Value::Null, "gone back");
    report(&project, "F2", "failed");
    assert_eq!(stop(&project), Value::Null);
    commit(&project, "main");
    let merged = git(&project, &["merge", "-q", "--no-edit", "side"]);
    if merged.status.success() {
        assert_eq!(stop(&project), Value::Null, "merged");
    }
}

#[test]
fn another_tool_s_list_says_what_it_likes_of_statuses() {
    let project = common::hooked::project();
    start(&project, "s-1");
    let list = common::hooked::read(&project, common::hooked::LIST);
    write(&project, common::hooked::LIST, &list.replace("\"completed\"", "\"blocked\""));
    assert_eq!(stop(&project), Value::Null);
}
