//! Feature lists, ours and those of other loops: what may be edited by hand, what only a report
//! changes, and what is reported at turn end and commit.

use std::fs;
use twining_testcases::each;

use crate::common::hooked::*;
use crate::common::{Project, Ran};
use serde_json::{Value, json};

const OWN: &str = ".twining/features.json";

/// What the guards say to a call.
fn call(project: &Project, tool: &str, input: &Value) -> Ran {
    hook(project, "PreToolUse", json!({"tool_name": tool, "tool_input": input}))
}

fn edit(project: &Project, list: &str, old: &str, new: &str) -> Ran {
    assert!(read(project, list).contains(old), "{old}");
    call(project, "Edit", &json!({"file_path": list, "old_string": old, "new_string": new}))
}

fn decision(ran: &Ran) -> Value {
    answer(ran)["hookSpecificOutput"]["permissionDecision"].clone()
}

fn mark_tested(project: &Project, list: &str) -> Value {
    decision(&edit(project, list, "false", "true"))
}

/// Somebody's word that the feature's tests passed, where words are enough.
fn report_passed(project: &Project, feature: &str) {
    write(project, ".twining/config.yml", "workflow: {tested_needs: told}\n");
    let evidence =
        json!({"command": "npm test", "exit_code": 0, "output": "Tests:       4 passed, 4 total"});
    let passed =
        json!({"feature": feature, "role": "tester", "outcome": "passed", "evidence": evidence});
    let ran = project.run_with(&["report", "--json-input", "-"], &passed.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn report(project: &Project, id: &str, outcome: &str) {
    let role = if matches!(outcome, "started" | "completed") { "coder" } else { "tester" };
    let ran =
        project.run(&["report", id, "--role", role, "--outcome", outcome, "--summary", "as it is"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// A project whose only list is this.
fn with_list(path: &str, text: &str) -> Project {
    let project = project();
    fs::remove_dir_all(project.path().join(".claude")).expect("makes way");
    write(&project, path, text);
    commit(&project, "a list");
    start(&project, "s-1");
    project
}

#[test]
fn a_feature_is_not_called_tested_without_a_run() {
    let project = project();
    assert_eq!(mark_tested(&project, LIST), "deny");
    assert_eq!(decision(&edit(&project, LIST, "F2", "F3")), Value::Null);
    let tested = read(&project, LIST).replace("false", "true");
    let piped = json!({"command": format!("cat > {LIST} <<'EOF'\n{tested}\nEOF")});
    assert_eq!(decision(&call(&project, "Bash", &piped)), "deny");
    let write = json!({"tool_name": "Write", "tool_input": {"file_path": LIST, "content": tested}, "cwd": project.path()});
    assert_eq!(
        decision(
            &project.run_with(&["hook", "pre-tool-use", "--agent", "codex"], &write.to_string())
        ),
        "deny"
    );
}

#[test]
fn a_list_of_any_shape_is_edited_by_hand_once_a_run_is_recorded() {
    each(
        [
            (r#"{"features":[{"id":"F1","status":"completed","tested":false}]}"#, "F1"),
            (
                r#"{"features":{"F1":{"description":"log in","status":"completed","tested":false}}}"#,
                "F1",
            ),
            (r#"{"F1":{"status":"completed","tested":false}}"#, "F1"),
            (
                r#"{"categories":{"ui":{"features":[{"id":"F1","status":"completed","tested":false}]}}}"#,
                "F1",
            ),
            (r#"[{"description":"Log in","status":"completed","passes":false}]"#, "log-in"),
        ],
        |(list, feature)| {
            let project = project();
            write(&project, LIST, list);
            assert_eq!(mark_tested(&project, LIST), "deny", "{list}");
            report_passed(&project, feature);
            // The mark is removed; the run still counts.
            write(&project, LIST, list);
            assert_eq!(mark_tested(&project, LIST), Value::Null, "{list}");
            // The name of one that was shown is no proof for another.
            let other = r#"[{"id":"EVIL","name":"F1","description":"Log in","tested":true}]"#;
            assert_eq!(
                decision(&call(&project, "Write", &json!({"file_path": LIST, "content": other}))),
                "deny",
                "{list}"
            );
        },
    );
}

#[test]
fn a_list_at_the_root_is_the_list() {
    each(["feature-list.json", "feature_list.json"], |name| {
        let project =
            with_list(name, r#"{"features":[{"id":"F1","status":"completed","tested":false}]}"#);
        assert_eq!(project.json(&["next"])["say"], "test F1", "{name}");
        assert_eq!(mark_tested(&project, name), "deny", "{name}");
        report_passed(&project, "F1");
        assert!(
            read(&project, name).contains(r#""tested":true"#) && !project.path().join(OWN).exists(),
            "{name}"
        );
    });
}

#[test]
fn a_features_json_at_the_root_may_be_anybody_s() {
    let project = with_list(
        "features.json",
        r#"{"features":[{"id":"age","status":"pending","tested":false}]}"#,
    );
    assert_eq!(mark_tested(&project, "features.json"), Value::Null);
    // A list without tests is not the workflow's either.
    let flags = r#"{"darkMode":true}"#;
    write(&project, "features.json", flags);
    assert_eq!(project.json(&["next"])["say"], "initialize");
    project.json(&["features", "add", "A", "--description", "a feature"]);
    assert_eq!(read(&project, "features.json"), flags);
}

#[test]
fn a_list_that_a_script_marked_holds_once_and_then_stands_on_the_board() {
    each([LIST, OWN, "feature-list.json", "feature_list.json"], |list| {
        let project = with_list(
            list,
            r#"{"features":[{"id":"F1","description":"d","status":"completed","tested":false}]}"#,
        );
        agent_ran(&project, &format!("sed -i s/false/true/ {list}"));
        let held = reason(&stop(&project));
        assert!(
            held.contains("[tested-needs-evidence]")
                && held.contains("`F1`")
                && held.contains(list),
            "{held}"
        );
        for _ in 0..2 {
            assert_eq!(stop(&project)["decision"], Value::Null, "{list}: held once");
        }
        let posted = warnings(&project);
        assert!(posted.len() == 1 && posted[0].contains("`F1`"), "{list}: {posted:?}");
    });
}

#[test]
fn a_commit_that_calls_a_feature_tested_without_a_run_is_told_and_made() {
    let project = project();
    // Written by a program that no hook saw.
    write(&project, LIST, &read(&project, LIST).replacen("\"tested\":false", "\"tested\":true", 1));
    assert_eq!(pre_commit(&project).stderr, "", "nothing is staged");
    git(&project, &["add", LIST]);
    let told = pre_commit(&project);
    assert!(
        told.code == 0
            && told.stderr.contains("[tested-needs-evidence]")
            && told.stderr.contains("`F1`"),
        "{told:?}"
    );
    // A run makes it right.
    let ran = json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "tool_response": {"stdout": "test result: ok. 3 passed; 0 failed"}});
    assert_eq!(answer(&hook(&project, "PostToolUse", ran)), Value::Null);
    let checked = pre_commit(&project);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
}

#[test]
fn our_own_list_may_be_begun_by_hand_with_features_to_come() {
    let project = Project::new();
    fs::create_dir_all(project.path().join(".twining")).expect("makes a folder");
    let begun = |more: &str| {
        let list = format!(r#"{{"features":[{{"id":"A","description":"a"{more}}}]}}"#);
        let piped = json!({"command": format!("cat > {OWN} <<'EOF'\n{list}\nEOF")});
        [
            call(&project, "Write", &json!({"file_path": OWN, "content": list})),
            call(&project, "Bash", &piped),
        ]
        .map(|ran| decision(&ran))
    };
    each(["", r#","status":"pending","tested":false"#], |more| {
        assert_eq!(begun(more), [Value::Null, Value::Null], "{more}");
    });
    for more in [r#","status":"completed""#, r#","tested":true"#, r#","status":"blocked""#] {
        assert_eq!(begun(more), ["deny", "deny"], "{more}");
    }
}

#[test]
fn our_own_list_is_reworded_by_hand_and_moved_by_reports() {
    let list = r#"{"features":[{"id":"F1","description":"log in","status":"completed","tested":false},{"id":"F2","description":"old","status":"pending"}]}"#;
    let project = with_list(OWN, list);
    each(
        [
            ("log in", "log in with a passkey"),
            (r#"{"id":"F2""#, r#"{"id":"F3","description":"new","status":"pending"},{"id":"F2""#),
            (r#",{"id":"F2","description":"old","status":"pending"}"#, ""),
        ],
        |(old, new)| {
            assert_eq!(decision(&edit(&project, OWN, old, new)), Value::Null, "{old} -> {new}");
        },
    );
    for (old, new, feature) in [
        ("\"pending\"", "\"completed\"", "`F2`"),
        ("\"tested\":false", "\"tested\":true", "`F1`"),
        (r#"{"id":"F1","description":"log in","status":"completed","tested":false},"#, "", "`F1`"),
        (r#"{"id":"F2""#, r#"{"id":"F3","status":"completed"},{"id":"F2""#, "`F3`"),
        ("]}", "]", OWN),
    ] {
        let ran = edit(&project, OWN, old, new);
        assert_eq!(decision(&ran), "deny", "{old} -> {new}");
        assert!(ran.stdout.contains(feature), "{}", ran.stdout);
    }
    for line in [
        "rm .twining/features.json",
        "sed -i s/old/new/ .twining/features.json",
        "echo x >> .twining/features.json",
    ] {
        assert_eq!(decision(&call(&project, "Bash", &json!({"command": line}))), "deny", "{line}");
    }
}

/// Changes our own list behind everybody's back.
fn put(project: &Project, id: &str, field: &str, value: &str) {
    let mut list: Value = serde_json::from_str(&read(project, OWN)).expect("a list");
    let features = list["features"].as_array_mut().expect("features");
    features
        .iter_mut()
        .filter(|feature| feature["id"] == id)
        .for_each(|feature| feature[field] = json!(value));
    write(project, OWN, &(serde_json::to_string_pretty(&list).expect("prints") + "\n"));
}

#[test]
fn what_reports_people_and_git_do_to_a_list_holds_nobody() {
    let project = project();
    fs::remove_dir_all(project.path().join(".claude")).expect("makes way");
    each(["F1", "F2", "F3"], |id| {
        assert_eq!(
            project
                .run(&["features", "add", id, "--description", "a thing", "--file", "src/a.rs"])
                .code,
            0
        );
    });
    commit(&project, "a list");
    start(&project, "s-1");
    let ends_in_silence = |what: &str| {
        agent_ran(&project, "true");
        assert_eq!(stop(&project), Value::Null, "{what}");
        git(&project, &["add", "-A"]);
        let checked = pre_commit(&project);
        assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{what}");
    };
    report(&project, "F1", "started");
    report(&project, "F1", "completed");
    report(&project, "F2", "completed");
    report(&project, "F2", "failed");
    ends_in_silence("reports");
    assert_eq!(
        project.run(&["features", "update", "F1", "--status", "blocked", "--reason", "waits"]).code,
        0
    );
    ends_in_silence("an update");
    put(&project, "F3", "description", "another thing");
    put(&project, "F3", "status", "blocked");
    ends_in_silence("an edit by hand");
    // A branch with different feature statuses, there and back.
    commit(&project, "words");
    assert!(git(&project, &["switch", "-q", "-c", "side"]).status.success());
    report(&project, "F2", "completed");
    commit(&project, "side");
    assert!(git(&project, &["switch", "-q", "main"]).status.success());
    ends_in_silence("gone back");
}

#[test]
fn another_tool_s_list_says_what_it_likes_of_statuses() {
    let project = project();
    start(&project, "s-1");
    agent_ran(&project, &format!("sed -i 's/\"completed\"/\"blocked\"/' {LIST}"));
    assert_eq!(stop(&project), Value::Null);
}
