//! Cursor.

use serde_json::{Value, json};

use super::adapter::{HookReply, HostAdapter, HostAnswer, cut};
use super::payload::{HostPayload, common, text};
use crate::event::EventKind;

pub(super) static HOST: HostAdapter = HostAdapter {
    name: "cursor",
    events: &[
        ("beforeShellExecution", EventKind::PreToolUse),
        ("beforeMCPExecution", EventKind::PreToolUse),
        ("beforeReadFile", EventKind::PreToolUse),
        ("afterShellExecution", EventKind::PostToolUse),
        ("afterMCPExecution", EventKind::PostToolUse),
        ("afterFileEdit", EventKind::PostToolUse),
        ("beforeSubmitPrompt", EventKind::UserPromptSubmit),
    ],
    read,
    answer,
    shows_context: &[
        EventKind::SessionStart,
        EventKind::PreToolUse,
        EventKind::PostToolUse,
        EventKind::SubagentStart,
    ],
    tools: &[("Bash", "Shell")],
};

fn read(event: &str, kind: EventKind, json: &Value) -> HostPayload {
    let payload = common(kind, json);
    let file = text(json, "file_path");
    // Some events are about one tool and do not name it.
    let (tool, input) = match event.to_lowercase().as_str() {
        "beforeshellexecution" | "aftershellexecution" => {
            ("Shell".to_owned(), json!({"command": text(json, "command")}))
        }
        "beforereadfile" => ("Read".to_owned(), json!({ "file_path": file })),
        "afterfileedit" => (
            "Edit".to_owned(),
            json!({"file_path": file, "edits": json.get("edits").cloned().unwrap_or(json!([]))}),
        ),
        // `MCP:name` is how it calls tools of servers.
        _ => (payload.tool.trim_start_matches("MCP:").to_owned(), payload.input),
    };
    let answer = match kind {
        EventKind::ToolFailed => json.get("error_message"),
        EventKind::PostToolUse => {
            ["tool_output", "output", "result_json"].iter().find_map(|key| json.get(*key))
        }
        _ => None,
    };
    let root = json.pointer("/workspace_roots/0").and_then(Value::as_str).unwrap_or_default();
    HostPayload {
        tool,
        input,
        answer: answer.cloned(),
        cwd: if payload.cwd.is_empty() { root.to_owned() } else { payload.cwd },
        stop_hook_active: json.get("loop_count").and_then(Value::as_u64).unwrap_or(0) > 0,
        ..payload
    }
}

fn answer(reply: &HookReply, kind: EventKind, _: &str) -> HostAnswer {
    let decided = |permission: &str, reason: &str| {
        HostAnswer::json(
            json!({"permission": permission, "user_message": cut(reason), "agent_message": cut(reason)}),
        )
    };
    match (reply, kind) {
        (HookReply::Deny(reason), _) => decided("deny", reason),
        (HookReply::Ask(reason), _) => decided("ask", reason),
        (HookReply::Hold(reason), EventKind::Stop | EventKind::SubagentStop) => {
            HostAnswer::json(json!({ "followup_message": cut(reason) }))
        }
        (HookReply::Hold(reason), _) => HostAnswer::refused(reason),
        (HookReply::Context(text), EventKind::PreToolUse) => {
            HostAnswer::json(json!({ "agent_message": cut(text) }))
        }
        (
            HookReply::Context(text),
            EventKind::SessionStart | EventKind::PostToolUse | EventKind::SubagentStart,
        ) => HostAnswer::json(json!({ "additional_context": cut(text) })),
        // A prompt's reply can stop it but add nothing; the message is for the user.
        (HookReply::Context(text) | HookReply::Notice(text), EventKind::UserPromptSubmit) => {
            HostAnswer::json(json!({"continue": true, "user_message": cut(text)}))
        }
        (HookReply::Context(text) | HookReply::Notice(text), _) => {
            HostAnswer::json(json!({ "user_message": cut(text) }))
        }
        _ => HostAnswer::default(),
    }
}
