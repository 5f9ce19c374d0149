//! Copilot CLI.

use serde_json::{Value, json};

use super::Host;
use super::payload::{HostPayload, common, text};
use super::reply::{Answer, Reply, cut};
use crate::event::EventKind;

pub static HOST: Host = Host {
    name: "copilot",
    events: &[("userPromptSubmitted", EventKind::UserPromptSubmit), ("agentStop", EventKind::Stop)],
    read,
    answer,
    sample,
    tools: &[("Bash", "bash"), ("Write", "create"), ("Edit", "edit"), ("Read", "view")],
};

fn read(_: &str, kind: EventKind, json: &Value) -> HostPayload {
    let result = json.get("toolResult").or_else(|| json.get("error"));
    let payload = HostPayload { answer: result.cloned(), ..common(kind, json) };
    match result.map(|result| text(result, &["resultType"])).as_deref() {
        Some("success") => HostPayload { exit_code: Some(0), ..payload },
        Some("failure" | "error" | "denied") => HostPayload { exit_code: Some(1), ..payload },
        _ => payload,
    }
}

fn sample(tool: &str, input: &Value, at: &str) -> Value {
    json!({"sessionId": "twining-guard-test", "cwd": at, "timestamp": 0, "toolName": tool, "toolArgs": input.to_string()})
}

fn answer(reply: &Reply, kind: EventKind, _: &str) -> Answer {
    let decided = |decision: &str, reason: &str| json!({"permissionDecision": decision, "permissionDecisionReason": cut(reason)});
    match (reply, kind) {
        (Reply::Silence, _) => Answer::default(),
        (Reply::Failed(why), _) => Answer::failed(why),
        (Reply::Deny(reason), _) => Answer::json(decided("deny", reason)),
        (Reply::Ask(reason), _) => Answer::json(decided("ask", reason)),
        (Reply::Hold(reason), _) => Answer::json(json!({"decision": "block", "reason": cut(reason)})),
        (Reply::Start { context, go }, _) => Answer::json(json!({ "additionalContext": cut(&format!("{go}\n\n{context}")) })),
        // Before a tool there is no way to read and let.
        (Reply::Context(_) | Reply::Notice(_), EventKind::PreToolUse) => Answer::default(),
        (Reply::Context(text) | Reply::Notice(text), _) => Answer::json(json!({ "additionalContext": cut(text) })),
    }
}
