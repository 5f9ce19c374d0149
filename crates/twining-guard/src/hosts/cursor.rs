//! Cursor.

use serde_json::{Value, json};

use super::Host;
use super::payload::{HostPayload, common, text};
use super::reply::{Answer, Reply, cut};
use crate::event::EventKind;

pub static HOST: Host = Host {
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
    sample,
    tools: &[("Bash", "Shell")],
};

fn read(event: &str, kind: EventKind, json: &Value) -> HostPayload {
    let payload = common(kind, json);
    let file = text(json, &["file_path"]);
    // Some events are about one tool and do not name it.
    let (tool, input) = match event.to_lowercase().as_str() {
        "beforeshellexecution" | "aftershellexecution" => ("Shell".to_owned(), json!({"command": text(json, &["command"])})),
        "beforereadfile" => ("Read".to_owned(), json!({ "file_path": file })),
        "afterfileedit" => ("Edit".to_owned(), json!({"file_path": file, "edits": json.get("edits").cloned().unwrap_or(json!([]))})),
        // `MCP:name` is how it calls tools of servers.
        _ => (payload.tool.trim_start_matches("MCP:").to_owned(), payload.input),
    };
    let answer = match kind {
        EventKind::ToolFailed => json.get("error_message"),
        EventKind::PostToolUse => ["tool_output", "output", "result_json"].iter().find_map(|key| json.get(*key)),
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

fn sample(tool: &str, input: &Value, at: &str) -> Value {
    json!({"conversation_id": "twining-guard-test", "workspace_roots": [at], "cwd": at, "hook_event_name": "preToolUse", "tool_name": tool, "tool_input": input})
}

fn answer(reply: &Reply, kind: EventKind, _: &str) -> Answer {
    let decided = |permission: &str, reason: &str| {
        Answer::json(json!({"permission": permission, "user_message": cut(reason), "agent_message": cut(reason)}))
    };
    match (reply, kind) {
        (Reply::Silence, _) => Answer::default(),
        (Reply::Failed(why), _) => Answer::failed(why),
        (Reply::Deny(reason), _) => decided("deny", reason),
        (Reply::Ask(reason), _) => decided("ask", reason),
        (Reply::Hold(reason), EventKind::Stop | EventKind::SubagentStop) => Answer::json(json!({ "followup_message": cut(reason) })),
        (Reply::Hold(reason), _) => Answer::refused(reason),
        (Reply::Context(text), EventKind::PreToolUse) => Answer::json(json!({ "agent_message": cut(text) })),
        (Reply::Context(text), EventKind::SessionStart | EventKind::PostToolUse | EventKind::SubagentStart) => {
            Answer::json(json!({ "additional_context": cut(text) }))
        }
        (Reply::Start { context, go }, _) => Answer::json(json!({ "additional_context": cut(&format!("{go}\n\n{context}")) })),
        // A prompt's answer can stop it and add nothing; what is said is for the person.
        (Reply::Context(text) | Reply::Notice(text), EventKind::UserPromptSubmit) => {
            Answer::json(json!({"continue": true, "user_message": cut(text)}))
        }
        (Reply::Context(text) | Reply::Notice(text), _) => Answer::json(json!({ "user_message": cut(text) })),
    }
}
