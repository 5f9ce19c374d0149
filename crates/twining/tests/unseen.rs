//! What no reader of command lines sees is seen afterwards: records that another
//! hand changed, runs that nobody ran, events that nobody understands.

mod common;

use std::fs;

use common::hooked::*;
use common::{Project, Ran};
use serde_json::{Value, json};

#[test]
fn whatever_way_the_records_were_changed_it_is_told_at_every_end_and_at_the_commit() {
    let forged = r#"{"id":"01M7EB3QWY4C5CPJF6982ZJQ18","timestamp":"2026-11-15T10:00:00.000Z","agent_id":"human","entry_type":"finding","tags":[],"scope":"project","summary":"forged","detail":""}"#;
    type Deed = fn(&Project, &str);
    let deeds: [(&str, Deed, &str); 8] = [
        ("the board emptied", |project, _| write(project, ".twining/blackboard.jsonl", ""), "2 removed ("),
        ("the board gone", |project, _| fs::remove_file(project.path().join(".twining/blackboard.jsonl")).expect("goes"), "2 removed ("),
        (
            "the board a link",
            |project, _| {
                let board = project.path().join(".twining/blackboard.jsonl");
                fs::rename(&board, project.path().join("elsewhere")).expect("moves");
                std::os::unix::fs::symlink("../elsewhere", &board).expect("links");
            },
            "2 removed (",
        ),
        (
            "a line forged",
            |project, forged| write(project, ".twining/blackboard.jsonl", &(read(project, ".twining/blackboard.jsonl") + forged + "\n")),
            "1 appended from outside (01M7EB3QWY4C5CPJF6982ZJQ18)",
        ),
        (
            "a line altered",
            |project, _| {
                write(
                    project,
                    ".twining/blackboard.jsonl",
                    &read(project, ".twining/blackboard.jsonl").replace("cache lies", "cache is fine"),
                );
            },
            "1 altered (",
        ),
        (
            "junk",
            |project, _| write(project, ".twining/blackboard.jsonl", &(read(project, ".twining/blackboard.jsonl") + "x\n")),
            "1 lines appended from outside",
        ),
        (
            "a decision altered",
            |project, _| {
                let file = only_decision(project);
                write(project, &file, &read(project, &file).replace("\"active\"", "\"overridden\""));
            },
            "it was altered",
        ),
        ("a decision gone", |project, _| fs::remove_file(project.path().join(only_decision(project))).expect("goes"), "it was removed"),
    ];
    for (name, deed, wanted) in deeds {
        let project = project();
        start(&project, "s-1");
        deed(&project, forged);
        let held = reason(&stop(&project));
        assert!(held.contains("[protect-twining-state]") && held.contains(wanted), "{name}: {held}");
        assert!(held.contains("git checkout -- .twining/") && held.contains("twining guard accept"), "{name}: {held}");
        let returned =
            reason(&answer(&hook(&project, "SubagentStop", json!({"agent_id": "a1", "agent_type": "Explore", "stop_hook_active": false}))));
        assert!(returned.contains(wanted), "{name}: {returned}");
        let done = hook_in(&project, "s-2", "TaskCompleted", json!({"task_id": "1", "task_subject": "x"}));
        assert_eq!(done.code, 2, "{name}: {done:?}");
        git(&project, &["add", "-A"]);
        let refused = project.run(&["hook", "--agent", "git", "pre-commit"]);
        assert_eq!(refused.code, 1, "{name}: {refused:?}");
        assert!(refused.stderr.contains(wanted) && refused.stderr.contains("git restore --staged"), "{name}: {refused:?}");
        // Undone, nobody is held and nothing refused.
        git(&project, &["reset", "-q"]);
        git(&project, &["checkout", "--", ".twining"]);
        assert_eq!(stop_in(&project, "s-3"), Value::Null, "{name}");
        git(&project, &["add", "-A"]);
        assert_eq!(project.run(&["hook", "--agent", "git", "pre-commit"]).code, 0, "{name}");
    }
}

#[test]
fn nobody_is_held_for_it_for_good() {
    let project = project();
    start(&project, "s-1");
    write(&project, ".twining/blackboard.jsonl", &read(&project, ".twining/blackboard.jsonl").replace("cache lies", "cache is fine"));
    assert_eq!(stop(&project)["decision"], "block");
    assert_eq!(stop(&project)["decision"], "block");
    let let_go = stop(&project);
    assert!(let_go.get("decision").is_none() && let_go["systemMessage"].as_str().expect("a notice").contains("altered"), "{let_go}");
    assert_eq!(project.json(&["status"])["unanswered_questions"], 1);
    // The next session is told, and not held for what is a question by now.
    let brief = start(&project, "s-2");
    assert!(brief.contains(".twining/blackboard.jsonl: 1 altered") && brief.contains("twining guard accept"), "{brief}");
    assert_eq!(stop_in(&project, "s-2"), Value::Null);
    // What comes on top of it is another matter.
    write(&project, ".twining/blackboard.jsonl", &(read(&project, ".twining/blackboard.jsonl") + "x\n"));
    assert_eq!(stop_in(&project, "s-2")["decision"], "block");
}

#[test]
fn what_twining_and_git_write_holds_nobody() {
    let project = project();
    start(&project, "s-1");
    let id = project.decide("use postgres", "data/");
    project.json(&["post", "warning", "mind the gap"]);
    project.json(&["override", &id, "--overridden-by", "alice", "--reason", "no"]);
    project.json(&["claim", "src/a.rs", "--agent", "alice"]);
    project.json(&["store-trace", "correction", "pushed to main", "--correct", "ask first"]);
    project.json(&["add-entity", "cache", "concept"]);
    project.json(&["register", "--agent", "alice"]);
    project.json(&["archive"]);
    assert_eq!(stop(&project), Value::Null);
    git(&project, &["add", "-A"]);
    let checked = project.run(&["hook", "--agent", "git", "pre-commit"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    commit(&project, "more");
    assert!(git(&project, &["checkout", "-q", "-b", "elsewhere", "HEAD~1"]).status.success());
    assert_eq!(stop(&project), Value::Null, "another branch has another memory");
    project.json(&["post", "finding", "on the branch"]);
    commit(&project, "on the branch");
    let merged = git(&project, &["merge", "-q", "--no-edit", "main"]);
    assert!(merged.status.success(), "{merged:?}");
    assert_eq!(stop(&project), Value::Null, "a merge");
    project.json(&["post", "finding", "not committed yet"]);
    assert!(git(&project, &["stash", "-q"]).status.success());
    assert_eq!(stop(&project), Value::Null, "a stash");
    assert!(git(&project, &["stash", "pop", "-q"]).status.success());
    assert_eq!(stop(&project), Value::Null, "and back");
}

#[test]
fn a_list_changed_between_two_sessions_is_told_and_held() {
    let project = project();
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    hook(&project, "SessionEnd", json!({"reason": "other"}));
    let before = read(&project, LIST);
    write(&project, LIST, &before.replacen("\"tested\":false", "\"tested\":true", 1));
    let brief = start(&project, "s-2");
    assert!(brief.contains("F1 would become tested"), "{brief}");
    assert!(reason(&stop_in(&project, "s-2")).contains("F1 would become tested"));
    write(&project, LIST, &before);
    assert_eq!(stop_in(&project, "s-2"), Value::Null);
    // Told often enough it is a question: the next session hears of it and is not held.
    write(&project, LIST, &before.replacen("\"tested\":false", "\"tested\":true", 1));
    assert_eq!(stop_in(&project, "s-5")["decision"], "block");
    assert_eq!(stop_in(&project, "s-5")["decision"], "block");
    assert!(stop_in(&project, "s-5").get("decision").is_none());
    assert!(start(&project, "s-6").contains("a feature list was changed"));
    assert_eq!(stop_in(&project, "s-6"), Value::Null);
    git(&project, &["checkout", "--", LIST]);
    assert!(!start(&project, "s-7").contains("a feature list was changed"));
}

#[test]
fn a_list_or_a_feature_that_goes_is_told_at_the_end_and_at_the_commit() {
    let project = project();
    start(&project, "s-1");
    let before = read(&project, LIST);
    write(&project, LIST, &before.replace(r#",{"id":"F2","tested":false}"#, ""));
    assert!(reason(&stop(&project)).contains("F2 is no longer in it"));
    git(&project, &["add", "-A"]);
    let refused = project.run(&["hook", "--agent", "git", "pre-commit"]);
    assert!(refused.code == 1 && refused.stderr.contains("F2 is no longer in it"), "{refused:?}");
    fs::remove_file(project.path().join(LIST)).expect("goes");
    assert!(reason(&stop_in(&project, "s-2")).contains("is gone, and with it F1, F2"));
    // A tool that guards looked at may take a feature out.
    write(&project, LIST, &before);
    git(&project, &["add", "-A"]);
    let edit = json!({"tool_name": "Edit", "tool_input": {"file_path": LIST, "old_string": ",{\"id\":\"F2\",\"tested\":false}", "new_string": ""}});
    assert_eq!(answer(&hook_in(&project, "s-3", "PreToolUse", edit.clone())), Value::Null);
    write(&project, LIST, &before.replace(r#",{"id":"F2","tested":false}"#, ""));
    hook_in(&project, "s-3", "PostToolUse", edit);
    assert_eq!(stop_in(&project, "s-3"), Value::Null);
    git(&project, &["add", "-A"]);
    assert_eq!(project.run(&["hook", "--agent", "git", "pre-commit"]).code, 0);
}

const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";

fn before(project: &Project, session: &str, call: &str, command: &str) -> Ran {
    hook_in(project, session, "PreToolUse", json!({"tool_name": "Bash", "tool_use_id": call, "tool_input": {"command": command}}))
}

fn after(project: &Project, session: &str, call: &str, command: &str) -> Ran {
    let told = json!({"tool_name": "Bash", "tool_use_id": call, "tool_input": {"command": command}, "tool_response": {"stdout": PASSED}});
    hook_in(project, session, "PostToolUse", told)
}

fn may_be_tested(project: &Project) -> bool {
    let edit = json!({"file_path": LIST, "old_string": "\"tested\":false,\"files\"", "new_string": "\"tested\":true,\"files\""});
    answer(&hook(project, "PreToolUse", json!({"tool_name": "Edit", "tool_input": edit}))) == Value::Null
}

#[test]
fn a_run_that_nobody_asked_about_is_no_evidence() {
    let project = project();
    start(&project, "s-1");
    // A call made up by an agent's own shell.
    after(&project, "s-1", "t-1", "cargo test");
    assert!(!may_be_tested(&project), "nobody asked");
    before(&project, "s-2", "t-1", "cargo test");
    after(&project, "s-1", "t-1", "cargo test");
    assert!(!may_be_tested(&project), "another session asked");
    before(&project, "s-1", "t-2", "cargo test");
    after(&project, "s-1", "t-3", "cargo test");
    assert!(!may_be_tested(&project), "another call was meant");
    before(&project, "s-1", "t-4", "cargo build");
    after(&project, "s-1", "t-4", "cargo test");
    assert!(!may_be_tested(&project), "another command was meant");
    hook(&project, "Stop", json!({"stop_hook_active": true}));
    // Both halves made up while the shell that makes them up still runs.
    before(&project, "s-1", "t-5", "./innocent");
    before(&project, "s-1", "t-6", "cargo test");
    let told = after(&project, "s-1", "t-6", "cargo test");
    assert!(told.stdout.contains("had not ended"), "{told:?}");
    assert!(!may_be_tested(&project), "another command ran");
    after(&project, "s-1", "t-5", "./innocent");
    before(&project, "s-1", "t-7", "cargo test");
    after(&project, "s-1", "t-7", "cargo test");
    assert!(may_be_tested(&project), "asked, run and told");
    write(&project, "src/a.rs", "fn a() { todo!() }\n");
    after(&project, "s-1", "t-7", "cargo test");
    assert!(!may_be_tested(&project), "told a second time");
}

#[test]
fn a_run_written_into_the_memory_by_hand_is_no_evidence() {
    let project = project();
    start(&project, "s-1");
    before(&project, "s-1", "t-1", "cargo test");
    let failed = json!({"tool_name": "Bash", "tool_use_id": "t-1", "tool_input": {"command": "cargo test"}, "error": "Exit code 101\ntest result: FAILED. 2 passed; 1 failed"});
    hook(&project, "PostToolUseFailure", failed);
    let own = fs::read_dir(project.path().join(".twining/local")).expect("a folder").filter_map(Result::ok);
    let runs = own.map(|entry| entry.path().join("runs.jsonl")).find(|path| path.is_file()).expect("is remembered");
    let text = fs::read_to_string(&runs).expect("reads");
    let made_up = text.replace("\"exit_code\":101", "\"exit_code\":0").replace("\"failed\":1", "\"failed\":0");
    assert_ne!(text, made_up);
    fs::write(&runs, made_up).expect("writes");
    assert!(!may_be_tested(&project));
}

#[test]
fn a_call_that_nobody_understands_is_not_let_through() {
    let project = project();
    let refused = |words: &[&str], input: &str| {
        let ran = project.run_with(words, input);
        assert!(ran.code == 2 && ran.stderr.contains("could not judge"), "{words:?} {input}: {ran:?}");
    };
    for input in [
        "[]",
        "null",
        "\"x\"",
        "7",
        "{}",
        r#"{"tool_name":5}"#,
        r#"{"tool_name":""}"#,
        r#"{"tool_name":"Write","tool_input":null}"#,
        r#"{"tool_name":"Write","tool_input":{"content":"x"}}"#,
        r#"{"tool_name":"Edit","tool_input":{"file_path":7}}"#,
        r#"{"tool_name":"Bash","tool_input":{}}"#,
        r#"{"tool_name":"Bash","tool_input":"ls"}"#,
        r#"{"tool_name":"apply_patch","tool_input":null}"#,
    ] {
        refused(&["hook", "PreToolUse"], input);
        refused(&["hook", "--agent", "codex", "PreToolUse"], input);
    }
    refused(&["hook", "--agent", "copilot", "preToolUse"], r#"{"toolName":"bash","toolArgs":"{not json"}"#);
    refused(&["hook", "--agent", "copilot", "preToolUse"], r#"{"toolArgs":"{}"}"#);
    refused(&["hook", "--agent", "gemini", "BeforeTool"], r#"{"tool_name":"write_file","tool_input":[]}"#);
    refused(&["hook", "--agent", "cursor", "preToolUse"], r#"{"tool_input":{"command":"ls"}}"#);
    refused(&["hook", "--agent", "cursor", "beforeShellExecution"], r#"{"cwd":"/"}"#);
    // Where nothing can be stopped, nothing is; and what is only odd to us runs.
    for event in ["PostToolUse", "Stop", "SessionStart", "UserPromptSubmit", "SubagentStop", "PreCompact", "SessionEnd"] {
        for input in ["[]", "null", "{}", r#"{"tool_name":5}"#, r#"{"tool_name":"Write","tool_input":null}"#] {
            assert_ne!(project.run_with(&["hook", event], input).code, 2, "{event} {input}");
        }
    }
    for input in
        [r#"{"tool_name":"TodoWrite","tool_input":null}"#, r#"{"tool_name":"mcp__x__list"}"#, r#"{"tool_name":"Read","tool_input":{}}"#]
    {
        assert_eq!(project.run_with(&["hook", "PreToolUse"], input).code, 0, "{input}");
    }
}

#[test]
fn accepting_is_a_person_s() {
    let project = project();
    start(&project, "s-1");
    write(&project, ".twining/blackboard.jsonl", "");
    let refused = project.run(&["guard", "accept"]);
    assert!(refused.code != 0 && refused.stderr.contains("a person"), "{refused:?}");
    assert_eq!(stop(&project)["decision"], "block");
    git(&project, &["checkout", "--", "."]);
    fs::remove_file(project.path().join(LIST)).expect("goes");
    assert_ne!(project.run(&["guard", "accept"]).code, 0, "a list is no less");
    git(&project, &["checkout", "--", "."]);
    assert_eq!(project.json(&["guard", "accept"])["accepted"], 0);
}

#[test]
fn a_user_s_policy_that_a_script_wrote_is_told() {
    let project = project();
    start(&project, "s-1");
    let settings = project.path().join("../settings-of-nobody/twining");
    fs::create_dir_all(&settings).expect("makes");
    let lifted = "guards:\n  tested-needs-evidence: {action: off}\n  policy-only-grows: {action: off}\n";
    fs::write(settings.join("policy.yml"), lifted).expect("writes");
    let held = reason(&stop(&project));
    assert!(held.contains("the user's own policy") && held.contains("twining guard list"), "{held}");
}

#[test]
fn a_guard_that_came_while_a_session_ran_is_not_taken_away_in_it_again() {
    let project = project();
    start(&project, "s-1");
    write(&project, ".twining/policy.yml", "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n");
    assert_eq!(stop(&project), Value::Null, "stricter is nobody's concern");
    write(&project, ".twining/policy.yml", "guards: []\n");
    let held = reason(&stop(&project));
    assert!(held.contains("no-push"), "{held}");
}
