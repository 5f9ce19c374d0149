//! Gemini CLI.

use serde_json::{Value, json};

use super::Host;
use super::payload::common;
use super::reply::{Answer, Reply, cut};
use crate::event::EventKind;

pub static HOST: Host = Host {
    name: "gemini",
    events: &[
        ("BeforeTool", EventKind::PreToolUse),
        ("AfterTool", EventKind::PostToolUse),
        ("BeforeAgent", EventKind::UserPromptSubmit),
        ("AfterAgent", EventKind::Stop),
        ("PreCompress", EventKind::PreCompact),
    ],
    read: |_, kind, json| common(kind, json),
    answer,
    sample,
    tools: &[("Write", "write_file"), ("Edit", "replace"), ("Bash", "run_shell_command"), ("Read", "read_file")],
};

fn sample(tool: &str, input: &Value, at: &str) -> Value {
    json!({"session_id": "twining-guard-test", "cwd": at, "hook_event_name": "BeforeTool", "tool_name": tool, "tool_input": input})
}

fn answer(reply: &Reply, kind: EventKind, _: &str) -> Answer {
    let takes_context = matches!(kind, EventKind::SessionStart | EventKind::UserPromptSubmit | EventKind::PostToolUse);
    let with_context = |text: &str| Answer::json(json!({"hookSpecificOutput": {"additionalContext": cut(text)}}));
    match reply {
        Reply::Silence => Answer::default(),
        Reply::Failed(why) => Answer::failed(why),
        Reply::Deny(reason) => Answer::json(json!({"decision": "deny", "reason": cut(reason)})),
        Reply::Ask(reason) => Answer::json(json!({"decision": "deny", "reason": cut(&format!("{reason}\nA person has to do this."))})),
        Reply::Hold(reason) => Answer::json(json!({"decision": "block", "reason": cut(reason)})),
        Reply::Context(text) if takes_context => with_context(text),
        Reply::Start { context, go } if takes_context => with_context(&format!("{go}\n\n{context}")),
        Reply::Context(text) | Reply::Notice(text) | Reply::Start { context: text, .. } => {
            Answer::json(json!({ "systemMessage": cut(text) }))
        }
    }
}
