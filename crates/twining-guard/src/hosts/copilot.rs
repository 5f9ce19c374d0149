//! Copilot CLI.

use serde_json::{Value, json};

use super::payload::HostPayload;
use super::reply::{Answer, Reply, cut};
use super::{Host, some_text, text, unpacked};
use crate::event::EventKind;

pub static HOST: Host = Host {
    name: "copilot",
    events: &[
        ("preToolUse", EventKind::PreToolUse),
        ("postToolUse", EventKind::PostToolUse),
        ("postToolUseFailure", EventKind::ToolFailed),
        ("userPromptSubmitted", EventKind::UserPromptSubmit),
        ("sessionStart", EventKind::SessionStart),
        ("sessionEnd", EventKind::SessionEnd),
        ("agentStop", EventKind::Stop),
        ("subagentStart", EventKind::SubagentStart),
        ("subagentStop", EventKind::SubagentStop),
        ("preCompact", EventKind::PreCompact),
    ],
    read,
    answer,
    sample,
    tools: &[("Bash", "bash"), ("Write", "create"), ("Edit", "edit"), ("Read", "view")],
};

fn read(_: &str, kind: EventKind, json: &Value) -> HostPayload {
    let result = json.get("toolResult").or_else(|| json.get("error"));
    let went = result.and_then(|result| result.get("resultType")).and_then(Value::as_str);
    let has_failed = kind == EventKind::ToolFailed || matches!(went, Some("failure" | "error" | "denied"));
    HostPayload {
        tool: text(json, &["toolName", "tool_name"]),
        input: if json.get("toolArgs").is_some() { unpacked(json, "toolArgs") } else { unpacked(json, "tool_input") },
        answer: result.cloned(),
        exit_code: match went {
            Some("success") => Some(0),
            _ if has_failed => Some(1),
            _ => None,
        },
        cwd: text(json, &["cwd"]),
        session: text(json, &["sessionId", "session_id"]),
        agent_id: some_text(json, &["agentId", "agent_id"]),
        agent_type: some_text(json, &["agentName", "agentType", "agent_type"]),
        prompt: text(json, &["prompt", "initialPrompt"]),
        last_message: text(json, &["lastMessage", "last_assistant_message"]),
        source: text(json, &["source", "trigger", "reason"]),
        stop_hook_active: ["stopHookActive", "stop_hook_active"].iter().any(|key| json.get(*key).and_then(Value::as_bool) == Some(true)),
        call: some_text(json, &["toolCallId", "toolUseId", "tool_use_id"]),
    }
}

fn sample(tool: &str, input: &Value, at: &str) -> Value {
    json!({"sessionId": "twining-guard-test", "cwd": at, "timestamp": 0, "toolName": tool, "toolArgs": input.to_string()})
}

fn answer(reply: &Reply, kind: EventKind, _: &str) -> Answer {
    let decided = |decision: &str, reason: &str| json!({"permissionDecision": decision, "permissionDecisionReason": cut(reason)});
    match (reply, kind) {
        (Reply::Silence, _) => Answer::silence(),
        (Reply::Failed(why), _) => Answer::failed(why),
        (Reply::Deny(reason), _) => Answer::json(decided("deny", reason)),
        (Reply::Ask(reason), _) => Answer::json(decided("ask", reason)),
        (Reply::Hold(reason), _) => Answer::json(json!({"decision": "block", "reason": cut(reason)})),
        (Reply::Start { context, go }, _) => Answer::json(json!({ "additionalContext": cut(&format!("{go}\n\n{context}")) })),
        // Before a tool there is no way to read and let.
        (Reply::Context(_) | Reply::Notice(_), EventKind::PreToolUse) => Answer::silence(),
        (Reply::Context(text) | Reply::Notice(text), _) => Answer::json(json!({ "additionalContext": cut(text) })),
    }
}
