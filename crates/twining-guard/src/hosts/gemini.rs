//! Gemini CLI.

use serde_json::json;

use super::adapter::{HookReply, HostAdapter, HostAnswer, cut};
use super::payload::common;
use crate::event::EventKind;

pub(super) static HOST: HostAdapter = HostAdapter {
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
    shows_context: &[EventKind::SessionStart, EventKind::UserPromptSubmit, EventKind::PostToolUse],
    tools: &[
        ("Write", "write_file"),
        ("Edit", "replace"),
        ("Bash", "run_shell_command"),
        ("Read", "read_file"),
    ],
};

fn answer(reply: &HookReply, kind: EventKind, _: &str) -> HostAnswer {
    match reply {
        HookReply::Deny(reason) => {
            HostAnswer::json(json!({"decision": "deny", "reason": cut(reason)}))
        }
        HookReply::Ask(reason) => HostAnswer::json(
            json!({"decision": "deny", "reason": cut(&format!("{reason}\nA person has to do this."))}),
        ),
        HookReply::Hold(reason) => {
            HostAnswer::json(json!({"decision": "block", "reason": cut(reason)}))
        }
        HookReply::Context(text) if HOST.shows_context(kind) => {
            HostAnswer::json(json!({"hookSpecificOutput": {"additionalContext": cut(text)}}))
        }
        HookReply::Context(text) | HookReply::Notice(text) => {
            HostAnswer::json(json!({ "systemMessage": cut(text) }))
        }
        _ => HostAnswer::default(),
    }
}
