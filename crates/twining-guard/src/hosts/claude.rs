//! Claude Code.

use serde_json::{Value, json};

use super::Host;
use super::payload::{HostPayload, common};
use super::reply::{Answer, Reply, cut};
use crate::event::EventKind;

pub static HOST: Host = Host { name: "claude", events: &[], read, answer: answer_or_ask, sample, tools: &[] };

fn read(_: &str, kind: EventKind, json: &Value) -> HostPayload {
    let mut payload = common(kind, json);
    // Failures have an event of their own, so this tool succeeded.
    if kind == EventKind::PostToolUse {
        payload.exit_code = Some(0);
    }
    payload
}

pub(super) fn sample(tool: &str, input: &Value, at: &str) -> Value {
    json!({"session_id": "twining-guard-test", "cwd": at, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input})
}

fn answer_or_ask(reply: &Reply, kind: EventKind, event: &str) -> Answer {
    if let (Reply::Ask(reason), EventKind::PreToolUse) = (reply, kind) {
        return Answer::json(decision("ask", reason));
    }
    answer(reply, kind, event)
}

/// What Claude Code and Codex have in common.
pub(super) fn answer(reply: &Reply, kind: EventKind, event: &str) -> Answer {
    let context_of = |context: &str| json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": cut(context)}});
    match (reply, kind) {
        // Nobody reads what is said here.
        (Reply::Silence, _) | (_, EventKind::SessionEnd) => Answer::default(),
        (Reply::Failed(why), _) => Answer::failed(why),
        // The gates that know no JSON: an exit of 2 refuses.
        (Reply::Hold(reason), EventKind::TaskCompleted) => Answer::refused(reason),
        (Reply::Hold(reason), _) => Answer::json(json!({"decision": "block", "reason": cut(reason)})),
        (Reply::Ask(reason), _) => Answer::json(decision("deny", &format!("{reason}\nA person has to do this."))),
        (Reply::Deny(reason), _) => Answer::json(decision("deny", reason)),
        (Reply::Notice(text), _) | (Reply::Context(text), EventKind::PreCompact | EventKind::PostCompact) => {
            Answer::json(json!({ "systemMessage": cut(text) }))
        }
        (Reply::Context(text), _) => Answer::json(context_of(text)),
        (Reply::Start { context, go }, _) => {
            let mut answer = context_of(context);
            answer["hookSpecificOutput"]["initialUserMessage"] = json!(cut(go));
            Answer::json(answer)
        }
    }
}

fn decision(word: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": cut(reason)}})
}
