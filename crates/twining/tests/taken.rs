//! What is known of the records does not go with them: whoever takes the folder
//! away, or what this machine knows of it, is asked about it.

mod common;

use std::fs;

use common::Project;
use common::hooked::*;
use serde_json::{Value, json};

fn pre_commit(project: &Project) -> common::Ran {
    project.run(&["hook", "--agent", "git", "pre-commit"])
}

#[test]
fn the_whole_folder_taken_away_is_told_at_the_end_at_the_commit_and_in_the_next_brief() {
    type Deed = fn(&Project);
    let deeds: [(&str, Deed); 3] = [
        ("removed", |project| fs::remove_dir_all(project.path().join(".twining")).expect("goes")),
        ("moved away", |project| fs::rename(project.path().join(".twining"), project.path().join("elsewhere")).expect("moves")),
        ("removed with the mark", |project| {
            fs::remove_dir_all(project.path().join(".twining")).expect("goes");
            fs::remove_dir_all(project.path().join(".git/twining")).expect("goes");
        }),
    ];
    for (name, deed) in deeds {
        let project = project();
        start(&project, "s-1");
        assert_eq!(stop(&project), Value::Null, "{name}");
        deed(&project);
        let held = reason(&stop(&project));
        assert!(held.contains("`.twining/` was taken away") && held.contains("git checkout -- .twining"), "{name}: {held}");
        assert!(!project.path().join(".twining").exists(), "{name}: nothing is made to say so");
        if name == "removed with the mark" {
            continue;
        }
        let again = stop(&project);
        assert!(again.get("decision").is_none(), "{name}: held once: {again}");
        assert!(again["systemMessage"].as_str().expect("a notice").contains("was taken away"), "{name}: {again}");
        let refused = pre_commit(&project);
        assert!(refused.code == 1 && refused.stderr.contains("`.twining/` was taken away"), "{name}: {refused:?}");
        assert!(start(&project, "s-2").contains("`.twining/` was taken away"), "{name}");
        let accepted = project.run(&["guard", "accept"]);
        assert!(accepted.code != 0 && accepted.stderr.contains("a person"), "{name}: {accepted:?}");
        // Back, the machine's own knowledge is still gone, and that is told too.
        git(&project, &["checkout", "--", ".twining"]);
        assert!(reason(&stop_in(&project, "s-3")).contains("the ledger in `.twining/local`"), "{name}");
    }
}

#[test]
fn a_person_who_uninstalls_is_not_asked_about_it() {
    for purge in [true, false] {
        let project = project();
        let told = json!({"session_id": "s-1", "cwd": project.path(), "source": "startup"});
        answer(&project.run_by_host(&["hook", "SessionStart"], &told.to_string()));
        assert!(project.path().join(".git/twining").exists());
        let mut words = vec!["uninstall", "--yes"];
        if purge {
            words.push("--purge");
        } else {
            fs::remove_dir_all(project.path().join(".twining")).expect("goes");
        }
        let gone = project.run(&words);
        assert_eq!(gone.code, 0, "{gone:?}");
        assert!(!project.path().join(".git/twining").exists());
        assert!(!start(&project, "s-2").contains("was taken away"));
        assert_eq!(stop_in(&project, "s-2"), Value::Null);
        assert_eq!(pre_commit(&project).code, 0);
    }
}

#[test]
fn a_copy_of_everything_is_nobody_s_deed() {
    let project = project();
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    let copied = std::process::Command::new("cp").args(["-r", ".git", "copy"]).current_dir(project.path()).status().expect("cp runs");
    assert!(copied.success());
    fs::rename(project.path().join(".git"), project.path().join("old")).expect("moves");
    fs::rename(project.path().join("copy"), project.path().join(".git")).expect("moves");
    fs::rename(project.path().join(".twining/local"), project.path().join("old-local")).expect("moves");
    assert!(!start(&project, "s-2").contains("was taken away"));
    assert_eq!(stop_in(&project, "s-2"), Value::Null);
}

#[test]
fn who_takes_away_what_the_machine_knows_is_asked_about_it_and_so_is_the_next_session() {
    let project = project();
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    fs::remove_dir_all(project.path().join(".twining/local")).expect("goes");
    write(&project, ".twining/blackboard.jsonl", "");
    let held = reason(&stop(&project));
    assert!(held.contains("the ledger in `.twining/local`") && held.contains("twining guard accept"), "{held}");
    git(&project, &["add", "-A"]);
    let refused = pre_commit(&project);
    assert!(refused.code == 1 && refused.stderr.contains("the ledger in `.twining/local`"), "{refused:?}");
    assert!(start(&project, "s-2").contains("the ledger in `.twining/local`"));
    let refused = project.run(&["guard", "accept"]);
    assert!(refused.code != 0 && refused.stderr.contains("a person"), "{refused:?}");
    // Nobody is held for good: it becomes a question.
    assert_eq!(stop_in(&project, "s-2")["decision"], "block");
    assert_eq!(stop_in(&project, "s-2")["decision"], "block");
    assert!(stop_in(&project, "s-2").get("decision").is_none());
    assert_eq!(stop_in(&project, "s-3"), Value::Null);
    assert_eq!(pre_commit(&project).code, 0);
}

#[test]
fn an_older_ledger_put_back_is_no_witness() {
    let project = project();
    start(&project, "s-1");
    let own = fs::read_dir(project.path().join(".twining/local")).expect("a folder").filter_map(Result::ok);
    let ledger = own.map(|entry| entry.path().join("vouched")).find(|path| path.is_file()).expect("a ledger");
    let older = fs::read(&ledger).expect("reads");
    project.json(&["post", "warning", "mind the gap"]);
    assert_eq!(stop(&project), Value::Null);
    fs::write(&ledger, older).expect("writes");
    git(&project, &["checkout", "--", ".twining"]);
    assert!(reason(&stop(&project)).contains("the ledger in `.twining/local`"));
}

#[test]
fn a_file_where_local_should_be_is_told() {
    let project = project();
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    fs::remove_dir_all(project.path().join(".twining/local")).expect("goes");
    write(&project, ".twining/local", "x");
    let held = reason(&stop(&project));
    assert!(held.contains("`.twining/local` is no folder"), "{held}");
    assert!(stop(&project)["systemMessage"].as_str().expect("a notice").contains("is no folder"));
    assert!(start(&project, "s-2").contains("is no folder"));
    let refused = pre_commit(&project);
    assert!(refused.code == 1 && refused.stderr.contains("is no folder"), "{refused:?}");
    let done = hook_in(&project, "s-3", "PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    assert_eq!(done.code, 0, "work goes on: {done:?}");
}

#[test]
fn what_was_noted_to_compare_with_cannot_be_written_or_taken_away_unseen() {
    type Deed = fn(&Project, &str);
    let notes = |project: &Project, wanted: &str| {
        let all = fs::read_dir(project.path().join(".twining/local/hooks")).expect("a folder").filter_map(Result::ok);
        all.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains(wanted)).collect::<Vec<_>>()
    };
    let flip = |project: &Project| write(project, LIST, &read(project, LIST).replacen("\"tested\":false", "\"tested\":true", 1));
    let ends: [(&str, Deed); 2] = [
        ("the turn ends", |_, _| {}),
        ("another tool runs first", |project, session| {
            hook_in(project, session, "PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
        }),
    ];
    for (end, tool) in ends {
        for wanted in ["accepted-lists", "accepted-s-1"] {
            let project = project();
            start(&project, "s-1");
            start(&project, "s-2");
            assert_eq!(stop(&project), Value::Null);
            notes(&project, wanted).iter().for_each(|path| fs::remove_file(path).expect("goes"));
            flip(&project);
            tool(&project, "s-1");
            assert_eq!(stop(&project)["decision"], "block", "{wanted} taken away, {end}");
        }
    }
    let project = project();
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    for path in notes(&project, "accepted-lists") {
        let text = fs::read_to_string(&path).expect("reads");
        fs::write(&path, text.replace("\"tested\":[]", "\"tested\":[\"F1\"]")).expect("writes");
    }
    flip(&project);
    assert_eq!(stop(&project)["decision"], "block", "a note written by another hand");
    // A session that ended and goes on later begins with what is there then.
    hook(&project, "SessionEnd", json!({"reason": "other"}));
    git(&project, &["checkout", "--", LIST]);
    assert!(!start(&project, "s-1").contains("[protect-twining-state] what Twining had noted"));
}
