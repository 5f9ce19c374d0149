//! Gemini CLI.

use serde_json::{Value, json};

use super::adapter::HostAdapter;
use super::adapter::{HookReply, HostAnswer, cut};
use super::payload::common;
use crate::event::EventKind;

pub static HOST: HostAdapter = HostAdapter {
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
    tools: &[
        ("Write", "write_file"),
        ("Edit", "replace"),
        ("Bash", "run_shell_command"),
        ("Read", "read_file"),
    ],
};

fn sample(tool: &str, input: &Value, at: &str) -> Value {
    json!({"session_id": "twining-guard-test", "cwd": at, "hook_event_name": "BeforeTool", "tool_name": tool, "tool_input": input})
}

fn answer(reply: &HookReply, kind: EventKind, _: &str) -> HostAnswer {
    let takes_context = matches!(
        kind,
        EventKind::SessionStart | EventKind::UserPromptSubmit | EventKind::PostToolUse
    );
    let with_context = |text: &str| {
        HostAnswer::json(json!({"hookSpecificOutput": {"additionalContext": cut(text)}}))
    };
    match reply {
        HookReply::Silence => HostAnswer::default(),
        HookReply::Failed(why) => HostAnswer::failed(why),
        HookReply::Deny(reason) => {
            HostAnswer::json(json!({"decision": "deny", "reason": cut(reason)}))
        }
        HookReply::Ask(reason) => HostAnswer::json(
            json!({"decision": "deny", "reason": cut(&format!("{reason}\nA person has to do this."))}),
        ),
        HookReply::Hold(reason) => {
            HostAnswer::json(json!({"decision": "block", "reason": cut(reason)}))
        }
        HookReply::Context(text) if takes_context => with_context(text),
        HookReply::Start { context, go } if takes_context => {
            with_context(&format!("{go}\n\n{context}"))
        }
        HookReply::Context(text)
        | HookReply::Notice(text)
        | HookReply::Start { context: text, .. } => {
            HostAnswer::json(json!({ "systemMessage": cut(text) }))
        }
    }
}
