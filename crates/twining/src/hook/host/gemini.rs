//! Gemini CLI.

use serde_json::{Value, json};
use twining_engine::guards::{Moment, Owner, Told, misnamed};

use super::{Host, some_text, text};
use crate::hook::reply::{Answer, Reply, cut};

pub static HOST: Host = Host {
    name: "gemini",
    events: &[
        ("BeforeTool", Moment::PreToolUse),
        ("AfterTool", Moment::PostToolUse),
        ("BeforeAgent", Moment::UserPromptSubmit),
        ("AfterAgent", Moment::Stop),
        ("PreCompress", Moment::PreCompact),
    ],
    tell,
    say,
    ask,
    tools: &[("Write", "write_file"), ("Edit", "replace"), ("Bash", "run_shell_command"), ("Read", "read_file")],
};

fn tell(_: &str, _: Moment, json: &Value) -> Told {
    Told {
        tool: text(json, &["tool_name"]),
        owner: Owner::Host,
        input: json.get("tool_input").cloned().unwrap_or(Value::Null),
        answer: json.get("tool_response").cloned(),
        exit_code: None,
        cwd: text(json, &["cwd"]),
        session: text(json, &["session_id"]),
        agent_id: some_text(json, &["agent_id"]),
        agent_type: some_text(json, &["agent_type", "agent_name"]),
        prompt: text(json, &["prompt"]),
        source: text(json, &["source", "trigger", "reason"]),
        stop_hook_active: json.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false),
        call: some_text(json, &["tool_use_id", "tool_call_id", "call_id"]),
        odd: misnamed(json, &["tool_name"]),
    }
}

fn ask(tool: &str, input: &Value, at: &str) -> Value {
    json!({"session_id": "twining-guard-test", "cwd": at, "hook_event_name": "BeforeTool", "tool_name": tool, "tool_input": input})
}

fn say(reply: &Reply, moment: Moment, _: &str) -> Answer {
    let takes_context = matches!(moment, Moment::SessionStart | Moment::UserPromptSubmit | Moment::PostToolUse);
    let told = |text: &str| Answer::json(json!({"hookSpecificOutput": {"additionalContext": cut(text)}}));
    match reply {
        Reply::Silence => Answer::silence(),
        Reply::Failed(why) => Answer::failed(moment, why),
        Reply::Deny(reason) => Answer::json(json!({"decision": "deny", "reason": cut(reason)})),
        Reply::Ask(reason) => Answer::json(json!({"decision": "deny", "reason": cut(&format!("{reason}\nA person has to do this."))})),
        Reply::Hold(reason) => Answer::json(json!({"decision": "block", "reason": cut(reason)})),
        Reply::Context(text) if takes_context => told(text),
        Reply::Start { context, go } if takes_context => told(&format!("{go}\n\n{context}")),
        Reply::Context(text) | Reply::Notice(text) | Reply::Start { context: text, .. } => {
            Answer::json(json!({ "systemMessage": cut(text) }))
        }
    }
}
