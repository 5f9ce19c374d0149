//! What hosts say, as neutral events. Claude Code and Codex send the same JSON;
//! tool names of others are understood where they cannot be mistaken.

use serde_json::Value;

use crate::guards::event::{Action, Event, Moment, Replacement};

/// An event as a host wrote it, with what is not a guard's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// What guards judge.
    pub event: Event,
    /// The host's session.
    pub session: String,
    /// Whether the agent goes on only because a hook held it.
    pub stop_hook_active: bool,
    /// What the person wrote.
    pub prompt: String,
}

/// Reads a host's JSON. `cwd` stands in where the host names no folder.
#[must_use]
pub fn hear(moment: Moment, json: &Value, cwd: &str) -> Heard {
    let text = |key: &str| json.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let tool = text("tool_name").unwrap_or_default();
    let action = if tool.is_empty() { Action::Nothing } else { action(&tool, json.get("tool_input").unwrap_or(&Value::Null)) };
    let event = Event {
        moment,
        tool,
        action,
        cwd: text("cwd").unwrap_or_else(|| cwd.to_owned()),
        agent_id: text("agent_id"),
        agent_type: text("agent_type"),
    };
    Heard {
        event,
        session: text("session_id").unwrap_or_else(|| "unknown".to_owned()),
        stop_hook_active: json.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false),
        prompt: text("prompt").unwrap_or_default(),
    }
}

/// What a tool is asked to do, by its name and input.
#[must_use]
pub fn action(tool: &str, input: &Value) -> Action {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(*key)).and_then(Value::as_str).map(str::to_owned);
    let path = text(&["file_path", "notebook_path", "path", "filePath", "target_file"]);
    let name = tool.to_lowercase();
    let name = name.rsplit("__").next().unwrap_or(&name);
    match (name, path) {
        ("bash" | "shell" | "exec_command" | "run_shell_command" | "local_shell" | "powershell", _) => Action::Shell(command(input)),
        ("apply_patch", _) => Action::Patch(text(&["patch", "input", "command"]).unwrap_or_else(|| command(input))),
        ("read" | "read_file" | "view" | "notebookread", Some(path)) => Action::Read(path),
        ("write" | "write_file" | "create_file", Some(path)) => match text(&["content", "contents", "file_text"]) {
            Some(content) => Action::Write { path, content },
            None => Action::Touches(vec![path]),
        },
        ("edit" | "replace" | "str_replace" | "multiedit" | "multi_edit" | "edit_file", Some(path)) => {
            let replacements = match input.get("edits").and_then(Value::as_array) {
                Some(edits) => edits.iter().map(replacement).collect::<Option<Vec<_>>>(),
                None => replacement(input).map(|one| vec![one]),
            };
            replacements
                .map_or_else(|| Action::Touches(vec![path.clone()]), |replacements| Action::Edit { path: path.clone(), replacements })
        }
        ("notebookedit", Some(path)) => Action::Touches(vec![path]),
        (name, path) => {
            let writes =
                ["write", "edit", "create", "move", "delete", "remove", "rename", "replace", "patch", "save", "append", "insert", "update"];
            let starts = ["shell", "exec", "run", "bash", "terminal", "command"];
            if starts.iter().any(|word| name.contains(word)) && !command(input).is_empty() {
                return Action::Shell(command(input));
            }
            // Our own tools change our own files; that is what they are for.
            if tool.contains("twining") || !writes.iter().any(|word| name.contains(word)) {
                return Action::Nothing;
            }
            let others = ["source", "destination", "new_path", "old_path", "to", "from", "uri"].iter().filter_map(|key| text(&[key]));
            let paths: Vec<String> = path.into_iter().chain(others).collect();
            if paths.is_empty() { Action::Nothing } else { Action::Touches(paths) }
        }
    }
}

fn replacement(edit: &Value) -> Option<Replacement> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| edit.get(*key)).and_then(Value::as_str).map(str::to_owned);
    let everywhere = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
    Some(Replacement { old: text(&["old_string", "oldText", "old_str"])?, new: text(&["new_string", "newText", "new_str"])?, everywhere })
}

/// A command as text or as a list of words, of which `bash -lc LINE` is the line.
fn command(input: &Value) -> String {
    match input.get("command").or_else(|| input.get("cmd")) {
        Some(Value::String(line)) => line.clone(),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [shell, flag, line] if shell.ends_with("sh") && flag.starts_with('-') => (*line).to_owned(),
                words => words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" "),
            }
        }
        _ => String::new(),
    }
}
