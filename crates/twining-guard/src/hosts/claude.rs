//! Claude Code; and Codex, which speaks its JSON without `ask` and without an event for failures.

use serde_json::{Value, json};

use super::adapter::{HookReply, HostAdapter, HostAnswer, cut};
use super::payload::{HostPayload, common};
use crate::event::EventKind;

pub(super) static HOST: HostAdapter = HostAdapter {
    name: "claude",
    events: &[],
    read,
    answer: answer_or_ask,
    shows_context: CONTEXT,
    tools: &[],
};

pub(super) static CODEX: HostAdapter = HostAdapter {
    name: "codex",
    events: &[],
    read: |_, kind, json| common(kind, json),
    answer,
    shows_context: CONTEXT,
    tools: &[],
};

/// Events whose context an agent reads. At the end of a turn it would begin another one.
const CONTEXT: &[EventKind] = &[
    EventKind::SessionStart,
    EventKind::UserPromptSubmit,
    EventKind::PreToolUse,
    EventKind::PostToolUse,
    EventKind::ToolFailed,
    EventKind::SubagentStart,
];

fn read(_: &str, kind: EventKind, json: &Value) -> HostPayload {
    let mut payload = common(kind, json);
    // Failures have an event of their own, so this tool succeeded.
    if kind == EventKind::PostToolUse {
        payload.exit_code = Some(0);
    }
    payload
}

fn answer_or_ask(reply: &HookReply, kind: EventKind, event: &str) -> HostAnswer {
    if let (HookReply::Ask(reason), EventKind::PreToolUse) = (reply, kind) {
        return HostAnswer::json(decision("ask", reason));
    }
    answer(reply, kind, event)
}

/// What Claude Code and Codex have in common.
pub(super) fn answer(reply: &HookReply, kind: EventKind, event: &str) -> HostAnswer {
    let context_of = |context: &str| json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": cut(context)}});
    match (reply, kind) {
        // The host ignores output here.
        (HookReply::Silence | HookReply::Failed(_), _) | (_, EventKind::SessionEnd) => {
            HostAnswer::default()
        }
        // The gates that know no JSON: an exit of 2 refuses.
        (HookReply::Hold(reason), EventKind::TaskCompleted) => HostAnswer::refused(reason),
        (HookReply::Hold(reason), _) => {
            HostAnswer::json(json!({"decision": "block", "reason": cut(reason)}))
        }
        (HookReply::Ask(reason), _) => {
            HostAnswer::json(decision("deny", &format!("{reason}\nA person has to do this.")))
        }
        (HookReply::Deny(reason), _) => HostAnswer::json(decision("deny", reason)),
        (HookReply::Notice(text), _)
        | (HookReply::Context(text), EventKind::PreCompact | EventKind::PostCompact) => {
            HostAnswer::json(json!({ "systemMessage": cut(text) }))
        }
        (HookReply::Context(text), _) => HostAnswer::json(context_of(text)),
        (HookReply::Start { context, go }, _) => {
            let mut answer = context_of(context);
            answer["hookSpecificOutput"]["initialUserMessage"] = json!(cut(go));
            HostAnswer::json(answer)
        }
    }
}

fn decision(word: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": cut(reason)}})
}
