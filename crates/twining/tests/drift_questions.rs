//! The question to the agent that made a record doubtful: it reaches the agent and not only the
//! person, once, and holds nobody.

use serde_json::{Value, json};
use twining_testcases::each;

use crate::anchors::Shop;

/// A hook as a host runs it; its answer, null where it has none.
fn hook(shop: &Shop, host: &str, event: &str, mut payload: Value) -> Value {
    payload["session_id"] = json!("s-1");
    payload["cwd"] = json!(shop.repository.path("shop"));
    payload["hook_event_name"] = json!(event);
    let ran = shop.repository.run_with(&["hook", "--agent", host, event], &payload.to_string());
    assert_eq!(ran.code, 0, "{host} {event}: {ran:?}");
    if ran.stdout.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&ran.stdout).expect("answers in JSON")
    }
}

/// What an agent of Claude Code or Codex reads of an answer.
fn context(answer: &Value) -> &str {
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

fn prompt(shop: &Shop, host: &str) -> Value {
    hook(shop, host, "UserPromptSubmit", json!({"prompt": "go on"}))
}

/// The agent edits the file; what the hook after its tool answers.
fn edit(shop: &Shop, host: &str, agent: Value) -> Value {
    shop.use_argon2();
    let mut call = agent;
    call["tool_name"] = json!("Edit");
    call["tool_input"] = json!({
        "file_path": shop.repository.file("src/hash.rs"), "old_string": "bcrypt", "new_string": "argon2",
    });
    call["tool_response"] = json!({});
    hook(shop, host, "PostToolUse", call)
}

fn commit(shop: &Shop, host: &str) -> Value {
    let call =
        json!({"tool_name": "Bash", "tool_input": {"command": "cd . && git commit -qam argon2"}});
    hook(shop, host, "PreToolUse", call)
}

fn ask(shop: &Shop, when: &str) {
    shop.write(".twining/config.yml", &format!("code:\n  ask: {when}\n"));
}

#[test]
fn the_question_of_a_turn_reaches_the_agent_with_its_next_prompt_and_once() {
    each(["claude", "codex"], |host| {
        let shop = Shop::new();
        prompt(&shop, host);
        edit(&shop, host, json!({}));
        let end = json!({"stop_hook_active": false});
        assert_eq!(hook(&shop, host, "Stop", end.clone()), Value::Null, "{host}: nobody is held");
        let next = prompt(&shop, host);
        let question = context(&next);
        assert!(question.contains("You changed `src/hash.rs#hash_password`"), "{host}: {next}");
        assert!(question.contains(&format!("twining confirm {}", shop.decision)), "{host}: {next}");
        assert_eq!(next["decision"], Value::Null, "{host}");
        edit(&shop, host, json!({}));
        assert_eq!(hook(&shop, host, "Stop", end), Value::Null, "{host}");
        assert_eq!(context(&prompt(&shop, host)), "", "{host}: asked once");
    });
}

#[test]
fn a_host_whose_prompts_take_no_context_asks_after_the_next_tool() {
    let shop = Shop::new();
    let call = |event: &str, more: Value| {
        let mut payload =
            json!({"conversation_id": "s-1", "workspace_roots": [shop.repository.path("shop")]});
        for (key, value) in more.as_object().expect("an object") {
            payload[key] = value.clone();
        }
        hook(&shop, "cursor", event, payload)
    };
    call("beforeSubmitPrompt", json!({"prompt": "go"}));
    shop.use_argon2();
    let file = shop.repository.file("src/hash.rs");
    call("afterFileEdit", json!({"file_path": file, "edits": []}));
    assert_eq!(call("stop", json!({"loop_count": 0})), Value::Null);
    let prompted = call("beforeSubmitPrompt", json!({"prompt": "go on"}));
    assert!(!prompted.to_string().contains(&shop.decision), "{prompted}");
    let after = call("afterShellExecution", json!({"command": "ls", "output": ""}));
    let read = after["additional_context"].as_str().unwrap_or_default();
    assert!(read.contains(&shop.decision), "{after}");
}

#[test]
fn whoever_sent_a_subagent_is_asked_for_it() {
    let shop = Shop::new();
    prompt(&shop, "claude");
    let agent = json!({"agent_id": "a-1", "agent_type": "general-purpose"});
    hook(&shop, "claude", "SubagentStart", agent.clone());
    edit(&shop, "claude", agent.clone());
    assert_eq!(hook(&shop, "claude", "SubagentStop", agent), Value::Null, "its report stays");
    let other = json!({"agent_id": "a-2", "tool_name": "Read", "tool_input": {"file_path": "a"}});
    assert_eq!(context(&hook(&shop, "claude", "PostToolUse", other)), "", "another subagent");
    let own = json!({"tool_name": "Read", "tool_input": {"file_path": "a"}});
    let after = hook(&shop, "claude", "PostToolUse", own);
    assert!(context(&after).contains("Your subagent changed `src/hash.rs#"), "{after}");
}

#[test]
fn an_agent_that_commits_first_is_asked_before_the_commit_and_git_does_not_repeat_it() {
    each([("claude", "stop"), ("codex", "commit")], |(host, when)| {
        let shop = Shop::new();
        ask(&shop, when);
        prompt(&shop, host);
        edit(&shop, host, json!({}));
        let before = commit(&shop, host);
        assert!(context(&before).contains(&shop.decision), "{host} {when}: {before}");
        let decision = &before["hookSpecificOutput"]["permissionDecision"];
        assert_eq!(*decision, Value::Null, "{host}: the commit goes ahead");
        shop.repository.git(&["add", "-A"]);
        let git = shop.repository.run(&["hook", "--agent", "git", "pre-commit"]);
        assert!(git.code == 0 && !git.stderr.contains(&shop.decision), "{host}: {git:?}");
        hook(&shop, host, "Stop", json!({"stop_hook_active": false}));
        assert_eq!(context(&prompt(&shop, host)), "", "{host}");
    });
}

#[test]
fn a_person_who_commits_is_asked_by_git() {
    let shop = Shop::new();
    ask(&shop, "commit");
    shop.use_argon2();
    shop.repository.git(&["add", "-A"]);
    let git = shop.repository.run(&["hook", "--agent", "git", "pre-commit"]);
    assert!(git.code == 0 && git.stderr.contains(&shop.decision), "{git:?}");
}

#[test]
fn asked_at_the_commit_the_end_of_a_turn_is_silent_and_off_ends_it_all() {
    each(["commit", "off"], |when| {
        let shop = Shop::new();
        ask(&shop, when);
        prompt(&shop, "claude");
        edit(&shop, "claude", json!({}));
        hook(&shop, "claude", "Stop", json!({"stop_hook_active": false}));
        assert_eq!(context(&prompt(&shop, "claude")), "", "{when}");
        let before = commit(&shop, "claude");
        assert_eq!(context(&before).contains(&shop.decision), when == "commit", "{before}");
    });
}

#[test]
fn confirming_code_that_the_session_did_not_read_is_recorded_as_unread() {
    let shop = Shop::new();
    prompt(&shop, "claude");
    shop.use_argon2();
    let confirm = || {
        let mut command = shop
            .repository
            .command_in(&shop.repository.path("shop"), &["confirm", &shop.decision, "--json"]);
        let ran = command.env("CLAUDE_CODE_SESSION_ID", "s-1").output().expect("starts");
        serde_json::from_slice::<Value>(&ran.stdout).expect("JSON")
    };
    assert_eq!(confirm()["confirmed"][0]["unread"], true);
    let last = || {
        let lines = shop.repository.read(".twining/anchors.jsonl");
        serde_json::from_str::<Value>(lines.lines().last().expect("a line")).expect("JSON")
    };
    assert_eq!(last()["unread"], true);
    let read = json!({"tool_name": "Bash", "tool_input": {"command": "cat src/hash.rs"}, "tool_response": {"stdout": ""}});
    hook(&shop, "claude", "PostToolUse", read);
    assert_eq!(confirm()["confirmed"][0]["unread"], Value::Null);
    assert_eq!(last()["unread"], Value::Null);
}
