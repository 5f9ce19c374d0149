//! Cursor.

use serde_json::{Value, json};
use twining_engine::guards::{Moment, Owner, Told, misnamed};

use super::{Host, some_text, text, unpacked};
use crate::hook::reply::{Answer, Reply, cut};

pub static HOST: Host = Host {
    name: "cursor",
    events: &[
        ("preToolUse", Moment::PreToolUse),
        ("beforeShellExecution", Moment::PreToolUse),
        ("beforeMCPExecution", Moment::PreToolUse),
        ("beforeReadFile", Moment::PreToolUse),
        ("postToolUse", Moment::PostToolUse),
        ("afterShellExecution", Moment::PostToolUse),
        ("afterMCPExecution", Moment::PostToolUse),
        ("afterFileEdit", Moment::PostToolUse),
        ("postToolUseFailure", Moment::ToolFailed),
        ("beforeSubmitPrompt", Moment::UserPromptSubmit),
        ("sessionStart", Moment::SessionStart),
        ("sessionEnd", Moment::SessionEnd),
        ("subagentStart", Moment::SubagentStart),
        ("subagentStop", Moment::SubagentStop),
        ("preCompact", Moment::PreCompact),
        ("stop", Moment::Stop),
    ],
    tell,
    say,
    ask,
    tools: &[("Bash", "Shell")],
};

fn tell(event: &str, moment: Moment, json: &Value) -> Told {
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
    let is_server_s = is("beforeMCPExecution") || is("afterMCPExecution") || text(json, &["tool_name"]).starts_with("MCP:");
    // What is about one tool names none; it must say what the tool is given.
    let odd = if tool_is_told(event) { None } else { misnamed(json, &["tool_name"]) };
    let answer = match moment {
        Moment::ToolFailed => json.get("error_message"),
        Moment::PostToolUse => json.get("tool_output").or_else(|| json.get("output")).or_else(|| json.get("result_json")),
        _ => None,
    };
    let loops = json.get("loop_count").and_then(Value::as_u64).unwrap_or(0);
    let root = json.get("workspace_roots").and_then(|roots| roots.get(0)).and_then(Value::as_str).unwrap_or_default();
    Told {
        tool,
        owner: if is_server_s { Owner::Server } else { Owner::Host },
        input,
        answer: answer.cloned(),
        exit_code: (moment == Moment::ToolFailed).then_some(1),
        cwd: some_text(json, &["cwd"]).unwrap_or_else(|| root.to_owned()),
        session: text(json, &["conversation_id", "session_id"]),
        agent_id: some_text(json, &["subagent_id", "agent_id"]),
        agent_type: some_text(json, &["subagent_type", "agent_type"]),
        prompt: text(json, &["prompt"]),
        source: text(json, &["source", "trigger", "reason"]),
        stop_hook_active: loops > 0,
        call: some_text(json, &["tool_use_id"]),
        odd,
    }
}

/// Whether the event itself says which tool is meant.
fn tool_is_told(event: &str) -> bool {
    ["beforeShellExecution", "afterShellExecution", "beforeReadFile", "afterFileEdit"].iter().any(|name| event.eq_ignore_ascii_case(name))
}

fn ask(tool: &str, input: &Value, at: &str) -> Value {
    json!({"conversation_id": "twining-guard-test", "workspace_roots": [at], "cwd": at, "hook_event_name": "preToolUse", "tool_name": tool, "tool_input": input})
}

fn say(reply: &Reply, moment: Moment, _: &str) -> Answer {
    let decided = |permission: &str, reason: &str| {
        Answer::json(json!({"permission": permission, "user_message": cut(reason), "agent_message": cut(reason)}))
    };
    match (reply, moment) {
        (Reply::Silence, _) => Answer::silence(),
        (Reply::Failed(why), _) => Answer::failed(moment, why),
        (Reply::Deny(reason), _) => decided("deny", reason),
        (Reply::Ask(reason), _) => decided("ask", reason),
        (Reply::Hold(reason), Moment::Stop | Moment::SubagentStop) => Answer::json(json!({ "followup_message": cut(reason) })),
        (Reply::Hold(reason), _) => Answer::refused(reason),
        (Reply::Context(text), Moment::PreToolUse) => Answer::json(json!({ "agent_message": cut(text) })),
        (Reply::Context(text), Moment::SessionStart | Moment::PostToolUse | Moment::SubagentStart) => {
            Answer::json(json!({ "additional_context": cut(text) }))
        }
        (Reply::Start { context, go }, _) => Answer::json(json!({ "additional_context": cut(&format!("{go}\n\n{context}")) })),
        // A prompt's answer can stop it and add nothing; what is said is for the person.
        (Reply::Context(text) | Reply::Notice(text), Moment::UserPromptSubmit) => {
            Answer::json(json!({"continue": true, "user_message": cut(text)}))
        }
        (Reply::Context(text) | Reply::Notice(text), _) => Answer::json(json!({ "user_message": cut(text) })),
    }
}
