//! Claude Code.

use serde_json::{Value, json};
use twining_engine::guards::{Moment, Told, told};

use super::Host;
use crate::hook::reply::{Answer, Reply, cut};

pub static HOST: Host = Host { name: "claude", events: &[], tell, say, ask, tools: &[] };

fn tell(_: &str, moment: Moment, json: &Value) -> Told {
    let mut told = told(moment, json);
    // It tells failures by another event, so what comes by this one went well.
    if moment == Moment::PostToolUse {
        told.exit_code = Some(0);
    }
    told
}

pub(super) fn ask(tool: &str, input: &Value, at: &str) -> Value {
    json!({"session_id": "twining-guard-test", "cwd": at, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input})
}

fn say(reply: &Reply, moment: Moment, event: &str) -> Answer {
    if let (Reply::Ask(reason), Moment::PreToolUse) = (reply, moment) {
        return Answer::json(decided("ask", reason));
    }
    answer(reply, moment, event)
}

/// What Claude Code and Codex have in common.
pub(super) fn answer(reply: &Reply, moment: Moment, event: &str) -> Answer {
    let told = |context: &str| json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": cut(context)}});
    match (reply, moment) {
        // Nobody reads what is said here.
        (Reply::Silence, _) | (_, Moment::SessionEnd) => Answer::silence(),
        (Reply::Failed(why), _) => Answer::failed(moment, why),
        // The gates that know no JSON: an exit of 2 refuses.
        (Reply::Hold(reason), Moment::TaskCompleted) => Answer::refused(reason),
        (Reply::Hold(reason), _) => Answer::json(json!({"decision": "block", "reason": cut(reason)})),
        (Reply::Ask(reason), _) => Answer::json(decided("deny", &format!("{reason}\nA person has to do this."))),
        (Reply::Deny(reason), _) => Answer::json(decided("deny", reason)),
        (Reply::Notice(text) | Reply::Context(text), Moment::PreCompact | Moment::PostCompact) => {
            Answer::json(json!({ "systemMessage": cut(text) }))
        }
        (Reply::Notice(text), _) => Answer::json(json!({ "systemMessage": cut(text) })),
        (Reply::Context(text), _) => Answer::json(told(text)),
        (Reply::Start { context, go }, _) => {
            let mut answer = told(context);
            answer["hookSpecificOutput"]["initialUserMessage"] = json!(cut(go));
            Answer::json(answer)
        }
    }
}

fn decided(decision: &str, reason: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": cut(reason)}})
}
