//! Every built-in guard refuses something, and what it says to do instead works now.

use crate::common::workspace::{LIST, Workspace};
use serde_json::{Value, json};

/// The refusal of a call, by the guard that must give it.
fn refused(workspace: &Workspace, guard: &str, tool: &str, input: &Value) -> String {
    let verdict = workspace.before_call(tool, input);
    assert!(
        !verdict.is_allowed() && verdict.reason.contains(&format!("[{guard}]")),
        "{guard}: {verdict:?}"
    );
    let instead = verdict
        .reason
        .split_once("Do instead: ")
        .map(|(_, rest)| rest.split(" If you must: ").next().unwrap_or(rest));
    instead.unwrap_or_else(|| panic!("a way forward in {verdict:?}")).to_owned()
}

fn allowed(workspace: &Workspace, tool: &str, input: &Value) {
    let verdict = workspace.before_call(tool, input);
    assert!(verdict.is_allowed() && verdict.note.is_empty(), "{tool} {input}: {verdict:?}");
}

#[test]
fn records_are_written_by_our_tools() {
    let workspace = Workspace::new();
    let line = json!({"command": "echo '{}' >> .twining/blackboard.jsonl"});
    let instead = refused(&workspace, "protect-twining-state", "Bash", &line);
    assert!(instead.contains("twining_post") && instead.contains("twining_decide"), "{instead}");
    let posted =
        workspace.agent_runs("twining post finding 'totals are rounded once' --scope src/cart.py");
    assert_eq!(posted, "");
    assert!(workspace.read(".twining/blackboard.jsonl").contains("totals are rounded once"));
}

#[test]
fn a_feature_becomes_tested_by_a_run_and_a_report() {
    let workspace = Workspace::new();
    let edit = json!({"file_path": LIST, "old_string": "\"tested\": false, \"files\": [\"src/cart.py\"]", "new_string": "\"tested\": true, \"files\": [\"src/cart.py\"]"});
    let instead = refused(&workspace, "tested-needs-evidence", "Edit", &edit);
    assert!(instead.contains("`twining report F1 --role tester --outcome passed`"), "{instead}");
    workspace.test_run(
        "pytest -q",
        0,
        "..                                          [100%]\n2 passed in 0.02s\n",
    );
    let report = workspace.report_passed("F1", &[]);
    assert_eq!(report.code, 0, "{report:?}");
    assert_eq!(workspace.feature("F1")["verified_by"]["source"], "seen");
}

#[test]
fn what_is_ruled_out_is_left_out() {
    let workspace = Workspace::new();
    let file = |text: &str| json!({"file_path": "src/new.ts", "content": text});
    let instead = refused(
        &workspace,
        "decision-01K9Z7XW3N5R8QF2T6V4B1C0DM",
        "Write",
        &file("import moment from 'moment'\nexport const now = moment()\n"),
    );
    assert!(instead.contains("without `moment`"), "{instead}");
    allowed(&workspace, "Write", &file("export const now = Temporal.Now.instant()\n"));
}

#[test]
fn a_claimed_file_is_left_for_another_and_its_holder_can_be_asked() {
    let workspace = Workspace::claimed();
    let edit = |path: &str| json!({"file_path": path, "content": "x = 1\n"});
    let instead = refused(
        &workspace,
        "no-edit-under-anothers-claim",
        "Write",
        &edit("src/payments/charge.py"),
    );
    assert!(
        instead.contains("something else") && instead.contains("a question with twining_post"),
        "{instead}"
    );
    allowed(&workspace, "Write", &edit("src/cart.py"));
    let asked = workspace.twining(&[
        "post",
        "question",
        "may I edit charge.py?",
        "--scope",
        "src/payments/charge.py",
    ]);
    assert_eq!(asked.code, 0, "{asked:?}");
}

#[test]
fn a_policy_grows_beside_the_guard_that_stays() {
    let workspace = Workspace::new();
    let policy = workspace.read(".twining/policy.yml");
    let write = |text: &str| json!({"file_path": ".twining/policy.yml", "content": text});
    let instead = refused(&workspace, "policy-only-grows", "Write", &write("guards: []\n"));
    assert!(instead.contains("leave that guard"), "{instead}");
    allowed(
        &workspace,
        "Write",
        &write(&format!("{policy}  - {{id: no-x, paths: [x], say: x is frozen}}\n")),
    );
}

#[test]
fn settings_change_around_the_lines_that_call_us() {
    let workspace = Workspace::new();
    let settings = workspace.read(".claude/settings.json");
    let write = |text: &str| json!({"file_path": ".claude/settings.json", "content": text});
    let instead = refused(&workspace, "hooks-stay-wired", "Write", &write("{}\n"));
    assert!(instead.contains("without touching the lines that call twining"), "{instead}");
    allowed(&workspace, "Write", &write(&settings.replacen('{', "{\n  \"model\": \"opus\",", 1)));
}

#[test]
fn an_agent_shows_the_guards_and_leaves_lifting_to_the_person() {
    let workspace = Workspace::new();
    let bypass = json!({"command": "twining guard bypass no-force-push --for 1h --reason hurry"});
    let instead = refused(&workspace, "people-lift-guards", "Bash", &bypass);
    assert!(instead.contains("tell the person"), "{instead}");
    let list = "twining guard list";
    allowed(&workspace, "Bash", &json!({"command": list}));
    assert!(workspace.shell(list).contains("no-force-push"));
}

#[test]
fn a_log_is_searched_instead_of_read() {
    let workspace = Workspace::new();
    workspace.write("logs/app.log", "ok\nerror: no cart\n");
    let verdict = workspace.before_call("Read", &json!({"file_path": "logs/app.log"}));
    assert!(verdict.is_allowed() && verdict.note.contains("grep for the error"), "{verdict:?}");
    let search = "grep -n error logs/app.log | tail -5";
    allowed(&workspace, "Bash", &json!({"command": search}));
    assert!(workspace.shell(search).contains("no cart"));
}

#[test]
fn a_coder_with_nothing_to_do_says_so_and_goes() {
    let workspace = Workspace::new();
    let coder = |more: Value| {
        let mut event = json!({"agent_id": "a1", "agent_type": "coder"});
        event.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        event
    };
    workspace.hook("SubagentStart", coder(json!({})));
    let held = workspace
        .hook("SubagentStop", coder(json!({"last_assistant_message": "I looked at the code."})));
    let reason = held["reason"].as_str().unwrap_or_default();
    assert!(
        held["decision"] == "block" && reason.contains("no changes were needed, because"),
        "{held}"
    );
    let said = coder(
        json!({"last_assistant_message": "No changes were needed, because the retry is there already.", "stop_hook_active": true}),
    );
    assert_eq!(workspace.hook("SubagentStop", said)["decision"], Value::Null);
}

#[test]
fn the_main_agent_delegates_where_it_may_not_edit() {
    let workspace = Workspace::new();
    workspace.shell("mkdir -p ../home/.config/twining");
    std::fs::write(
        workspace.path("home/.config/twining/policy.yml"),
        "guards:\n  - {id: orchestrator-does-not-edit, action: block}\n",
    )
    .expect("writes");
    let edit = json!({"file_path": "src/cart.py", "content": "x = 1\n"});
    let instead = refused(&workspace, "orchestrator-does-not-edit", "Write", &edit);
    assert!(instead.contains("start a coding agent"), "{instead}");
    let answer = workspace.hook(
        "PreToolUse",
        json!({"tool_name": "Write", "tool_input": edit, "agent_id": "a1", "agent_type": "coder"}),
    );
    assert_eq!(answer, Value::Null);
}
