//! Copilot CLI.

use serde_json::{Value, json};

use super::adapter::{HookReply, HostAdapter, HostAnswer, cut};
use super::payload::{HostPayload, common, text};
use crate::event::EventKind;

pub(super) static HOST: HostAdapter = HostAdapter {
    name: "copilot",
    events: &[("userPromptSubmitted", EventKind::UserPromptSubmit), ("agentStop", EventKind::Stop)],
    read,
    answer,
    shows_context: &[
        EventKind::SessionStart,
        EventKind::UserPromptSubmit,
        EventKind::PostToolUse,
        EventKind::ToolFailed,
        EventKind::SubagentStart,
    ],
    tools: &[("Bash", "bash"), ("Write", "create"), ("Edit", "edit"), ("Read", "view")],
};

fn read(_: &str, kind: EventKind, json: &Value) -> HostPayload {
    let result = json.get("toolResult").or_else(|| json.get("error"));
    let payload = HostPayload { answer: result.cloned(), ..common(kind, json) };
    match result.map(|result| text(result, "resultType")).as_deref() {
        Some("success") => HostPayload { exit_code: Some(0), ..payload },
        Some("failure" | "error" | "denied") => HostPayload { exit_code: Some(1), ..payload },
        _ => payload,
    }
}

fn answer(reply: &HookReply, kind: EventKind, _: &str) -> HostAnswer {
    let decided = |decision: &str, reason: &str| json!({"permissionDecision": decision, "permissionDecisionReason": cut(reason)});
    match (reply, kind) {
        (HookReply::Deny(reason), _) => HostAnswer::json(decided("deny", reason)),
        (HookReply::Ask(reason), _) => HostAnswer::json(decided("ask", reason)),
        (HookReply::Hold(reason), _) => {
            HostAnswer::json(json!({"decision": "block", "reason": cut(reason)}))
        }
        (HookReply::Context(text) | HookReply::Notice(text), kind)
            if kind != EventKind::PreToolUse =>
        {
            HostAnswer::json(json!({ "additionalContext": cut(text) }))
        }
        // Before a tool there is no way to read and let.
        _ => HostAnswer::default(),
    }
}
