//! Copilot CLI.

use serde_json::{Value, json};
use twining_engine::guards::{Moment, Owner, Told, misnamed};

use super::{Host, some_text, text, unpacked};
use crate::hook::reply::{Answer, Reply, cut};

pub static HOST: Host = Host {
    name: "copilot",
    events: &[
        ("preToolUse", Moment::PreToolUse),
        ("postToolUse", Moment::PostToolUse),
        ("postToolUseFailure", Moment::ToolFailed),
        ("userPromptSubmitted", Moment::UserPromptSubmit),
        ("sessionStart", Moment::SessionStart),
        ("sessionEnd", Moment::SessionEnd),
        ("agentStop", Moment::Stop),
        ("subagentStart", Moment::SubagentStart),
        ("subagentStop", Moment::SubagentStop),
        ("preCompact", Moment::PreCompact),
    ],
    tell,
    say,
    ask,
    tools: &[("Bash", "bash"), ("Write", "create"), ("Edit", "edit"), ("Read", "view")],
};

fn tell(_: &str, moment: Moment, json: &Value) -> Told {
    let result = json.get("toolResult").or_else(|| json.get("error"));
    let went = result.and_then(|result| result.get("resultType")).and_then(Value::as_str);
    let has_failed = moment == Moment::ToolFailed || matches!(went, Some("failure" | "error" | "denied"));
    Told {
        tool: text(json, &["toolName", "tool_name"]),
        owner: Owner::Host,
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
        source: text(json, &["source", "trigger", "reason"]),
        stop_hook_active: ["stopHookActive", "stop_hook_active"].iter().any(|key| json.get(*key).and_then(Value::as_bool) == Some(true)),
        call: some_text(json, &["toolCallId", "toolUseId", "tool_use_id"]),
        odd: misnamed(json, &["toolName", "tool_name"]),
    }
}

fn ask(tool: &str, input: &Value, at: &str) -> Value {
    json!({"sessionId": "twining-guard-test", "cwd": at, "timestamp": 0, "toolName": tool, "toolArgs": input.to_string()})
}

fn say(reply: &Reply, moment: Moment, _: &str) -> Answer {
    let decided = |decision: &str, reason: &str| json!({"permissionDecision": decision, "permissionDecisionReason": cut(reason)});
    match (reply, moment) {
        (Reply::Silence, _) => Answer::silence(),
        // It is not said anywhere that an exit of 2 refuses, so the answer says it too.
        (Reply::Failed(why), Moment::PreToolUse) => {
            Answer { out: Some(decided("deny", &format!("twining could not judge this: {why}"))), ..Answer::failed(moment, why) }
        }
        (Reply::Failed(why), _) => Answer::failed(moment, why),
        (Reply::Deny(reason), _) => Answer::json(decided("deny", reason)),
        (Reply::Ask(reason), _) => Answer::json(decided("ask", reason)),
        (Reply::Hold(reason), _) => Answer::json(json!({"decision": "block", "reason": cut(reason)})),
        (Reply::Start { context, go }, _) => Answer::json(json!({ "additionalContext": cut(&format!("{go}\n\n{context}")) })),
        // Before a tool there is no way to tell and let.
        (Reply::Context(_) | Reply::Notice(_), Moment::PreToolUse) => Answer::silence(),
        (Reply::Context(text) | Reply::Notice(text), _) => Answer::json(json!({ "additionalContext": cut(text) })),
    }
}
