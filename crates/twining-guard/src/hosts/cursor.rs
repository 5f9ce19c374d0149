//! Cursor.

use serde_json::{Value, json};

use super::payload::HostPayload;
use super::reply::{Answer, Reply, cut};
use super::{Host, some_text, text, unpacked};
use crate::event::EventKind;

pub static HOST: Host = Host {
    name: "cursor",
    events: &[
        ("preToolUse", EventKind::PreToolUse),
        ("beforeShellExecution", EventKind::PreToolUse),
        ("beforeMCPExecution", EventKind::PreToolUse),
        ("beforeReadFile", EventKind::PreToolUse),
        ("postToolUse", EventKind::PostToolUse),
        ("afterShellExecution", EventKind::PostToolUse),
        ("afterMCPExecution", EventKind::PostToolUse),
        ("afterFileEdit", EventKind::PostToolUse),
        ("postToolUseFailure", EventKind::ToolFailed),
        ("beforeSubmitPrompt", EventKind::UserPromptSubmit),
        ("sessionStart", EventKind::SessionStart),
        ("sessionEnd", EventKind::SessionEnd),
        ("subagentStart", EventKind::SubagentStart),
        ("subagentStop", EventKind::SubagentStop),
        ("preCompact", EventKind::PreCompact),
        ("stop", EventKind::Stop),
    ],
    read,
    answer,
    sample,
    tools: &[("Bash", "Shell")],
};

fn read(event: &str, kind: EventKind, json: &Value) -> HostPayload {
    let is = |name: &str| event.eq_ignore_ascii_case(name);
    // Some events are about one tool and do not name it.
    let (tool, input) = if is("beforeShellExecution") || is("afterShellExecution") {
        ("Shell".to_owned(), json!({"command": text(json, &["command"])}))
    } else if is("beforeReadFile") {
        ("Read".to_owned(), json!({"file_path": text(json, &["file_path"])}))
    } else if is("afterFileEdit") {
        ("Edit".to_owned(), json!({"file_path": text(json, &["file_path"]), "edits": json.get("edits").cloned().unwrap_or(json!([]))}))
    } else {
        // `MCP:name` is how it calls tools of servers.
        (text(json, &["tool_name"]).trim_start_matches("MCP:").to_owned(), unpacked(json, "tool_input"))
    };
    let answer = match kind {
        EventKind::ToolFailed => json.get("error_message"),
        EventKind::PostToolUse => json.get("tool_output").or_else(|| json.get("output")).or_else(|| json.get("result_json")),
        _ => None,
    };
    let loops = json.get("loop_count").and_then(Value::as_u64).unwrap_or(0);
    let root = json.get("workspace_roots").and_then(|roots| roots.get(0)).and_then(Value::as_str).unwrap_or_default();
    HostPayload {
        tool,
        input,
        answer: answer.cloned(),
        exit_code: (kind == EventKind::ToolFailed).then_some(1),
        cwd: some_text(json, &["cwd"]).unwrap_or_else(|| root.to_owned()),
        session: text(json, &["conversation_id", "session_id"]),
        agent_id: some_text(json, &["subagent_id", "agent_id"]),
        agent_type: some_text(json, &["subagent_type", "agent_type"]),
        prompt: text(json, &["prompt"]),
        last_message: text(json, &["text", "last_assistant_message"]),
        source: text(json, &["source", "trigger", "reason"]),
        stop_hook_active: loops > 0,
        call: some_text(json, &["tool_use_id"]),
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
        (Reply::Silence, _) => Answer::silence(),
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
