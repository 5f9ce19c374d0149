//! Coder subagents that honestly return without a change to a tracked file.

use serde_json::{Value, json};

use crate::common::workspace::Workspace;
use crate::honest_git::is_not_held;

/// A coder from its start to its return.
struct Coder<'w> {
    workspace: &'w Workspace,
    kind: &'static str,
}

impl<'w> Coder<'w> {
    fn start(workspace: &'w Workspace, kind: &'static str) -> Self {
        workspace.begin_session();
        workspace.hook("SubagentStart", json!({"agent_id": "a1", "agent_type": kind}));
        Self { workspace, kind }
    }

    fn calls(&self, tool: &str, input: &Value, response: &Value) {
        let call = json!({"agent_id": "a1", "agent_type": self.kind, "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_02"});
        let asked = self.workspace.hook("PreToolUse", call.clone());
        assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], Value::Null, "{asked}");
        let mut call = call;
        call["tool_response"] = response.clone();
        self.workspace.hook("PostToolUse", call);
    }

    fn runs(&self, line: &str) {
        let printed = self.workspace.shell(line);
        self.calls(
            "Bash",
            &json!({"command": line}),
            &json!({"stdout": printed, "stderr": "", "interrupted": false}),
        );
    }

    fn returns(&self, message: &str) -> Value {
        let event = json!({"agent_id": "a1", "agent_type": self.kind, "stop_hook_active": false, "last_assistant_message": message});
        self.workspace.hook("SubagentStop", event)
    }
}

#[test]
fn a_coder_finds_nothing_to_do_and_says_so() {
    let workspace = Workspace::new();
    let coder = Coder::start(&workspace, "coding-agent");
    coder.calls(
        "Read",
        &json!({"file_path": workspace.file("src/cart.py")}),
        &json!({"file": {"content": "…"}}),
    );
    is_not_held(&coder.returns("No changes were needed: `total` already handles an empty cart, and tests/test_cart.py covers it."));
}

#[test]
fn a_coder_says_in_other_words_that_nothing_was_to_be_done() {
    let workspace = Workspace::new();
    let coder = Coder::start(&workspace, "coder");
    coder.calls("Grep", &json!({"pattern": "total"}), &json!({"files": ["src/cart.py"]}));
    is_not_held(&coder.returns(
        "I read src/cart.py. Nothing to do here: the fix is already on main (commit 31ebb17).",
    ));
}

#[test]
fn a_coder_writes_an_ignored_file() {
    let workspace = Workspace::new();
    let coder = Coder::start(&workspace, "coding-agent");
    workspace.write(".env.local", "PORT=8080\n");
    coder.calls(
        "Write",
        &json!({"file_path": workspace.file(".env.local"), "content": "PORT=8080\n"}),
        &json!({"type": "create"}),
    );
    is_not_held(&coder.returns("Set the port in .env.local."));
}

#[test]
fn a_coder_writes_an_ignored_file_by_a_command() {
    let workspace = Workspace::new();
    let coder = Coder::start(&workspace, "coding-agent");
    coder.runs("mkdir -p out && echo done > out/report.txt");
    is_not_held(&coder.returns("The report is in out/report.txt."));
}

#[test]
fn a_coder_edits_a_sibling_repository() {
    let workspace = Workspace::new();
    workspace.shell("git init -q ../lib");
    let coder = Coder::start(&workspace, "coding-agent");
    let file = workspace.path("lib/lib.py");
    std::fs::write(&file, "X = 1\n").expect("writes");
    coder.calls(
        "Write",
        &json!({"file_path": file, "content": "X = 1\n"}),
        &json!({"type": "create"}),
    );
    is_not_held(&coder.returns("Added X to ../lib/lib.py."));
}

#[test]
fn a_coder_pushes() {
    let workspace = Workspace::with_team();
    workspace.shell("echo 'X = 1' > src/x.py && git add -A && git commit -q -m x");
    let coder = Coder::start(&workspace, "coding-agent");
    coder.runs("git push -q origin main");
    is_not_held(&coder.returns("Pushed main to origin."));
}

#[test]
fn a_coder_runs_a_migration() {
    let workspace = Workspace::new();
    crate::honest_git::install(
        &workspace,
        "alembic",
        "#!/bin/sh\necho 'Running upgrade  -> 0001, init'\n",
    );
    let coder = Coder::start(&workspace, "coding-agent");
    coder.runs("alembic upgrade head");
    is_not_held(&coder.returns("The database is at revision 0001."));
}

#[test]
fn a_subagent_called_player_plays_music() {
    let workspace = Workspace::new();
    let coder = Coder::start(&workspace, "player");
    coder.calls(
        "Read",
        &json!({"file_path": workspace.file("README.md")}),
        &json!({"file": {"content": "…"}}),
    );
    is_not_held(&coder.returns("Nothing needed changing: the playlist is empty."));
}

#[test]
fn a_coder_opens_a_pull_request() {
    let workspace = Workspace::new();
    crate::honest_git::install(
        &workspace,
        "gh",
        "#!/bin/sh\necho https://example.com/shop/pull/7\n",
    );
    let coder = Coder::start(&workspace, "coding-agent");
    coder.runs("gh pr create --fill");
    is_not_held(&coder.returns("Opened https://example.com/shop/pull/7."));
}

#[test]
fn a_coder_that_only_removed_a_file_may_go() {
    let workspace = Workspace::new();
    let coder = Coder::start(&workspace, "coding-agent");
    coder.runs("git rm -q src/legacy/dates.ts");
    is_not_held(&coder.returns("Removed the legacy dates."));
}

#[test]
fn a_coder_that_committed_everything_may_go() {
    let workspace = Workspace::new();
    let coder = Coder::start(&workspace, "coding-agent");
    coder.runs("echo 'X = 1' > src/x.py && git add -A && git commit -q -m x");
    is_not_held(&coder.returns("Committed."));
}

#[test]
fn an_explorer_changes_nothing_and_may_go() {
    let workspace = Workspace::new();
    let explorer = Coder::start(&workspace, "Explore");
    explorer.calls("Grep", &json!({"pattern": "moment"}), &json!({"files": []}));
    is_not_held(&explorer.returns("moment is used in one file."));
}

#[test]
fn a_coder_that_did_nothing_and_says_nothing_of_it_is_held_once() {
    let workspace = Workspace::new();
    let coder = Coder::start(&workspace, "coding-agent");
    let first = coder.returns("I implemented the discount and all tests pass.");
    assert_eq!(first["decision"], "block", "{first}");
    is_not_held(&workspace.hook(
        "SubagentStop",
        json!({"agent_id": "a1", "agent_type": "coding-agent", "stop_hook_active": true, "last_assistant_message": "Done."}),
    ));
}
