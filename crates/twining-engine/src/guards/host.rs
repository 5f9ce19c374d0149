//! What hosts say, as neutral events. Adapters say which of a host's fields is
//! what ([`Told`]); tool names are understood wherever they cannot be mistaken.

use serde_json::Value;

use crate::guards::event::{Action, Cell, Event, Moment, Replacement};

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
    /// What set it off: `startup`, `resume`, `clear`, `compact`, `manual`, `auto`.
    pub source: String,
    /// What the tool answered, where the host says.
    pub outcome: Option<Outcome>,
    /// The host's name of the call, where it gives one.
    pub call: Option<String>,
    /// Why what a tool is about to do cannot be understood, if it cannot.
    pub odd: Option<String>,
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended; none where nobody says.
    pub exit_code: Option<i64>,
    /// What it printed.
    pub output: String,
    /// Whether it has not ended: it was broken off, or goes on in the background.
    pub is_unfinished: bool,
}

/// What a host may tell of an event. An adapter fills in what its host says; the
/// rest is the same for all.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The host's name of the tool; empty where none is meant.
    pub tool: String,
    /// The tool's input.
    pub input: Value,
    /// The tool's answer.
    pub answer: Option<Value>,
    /// How the tool ended if the answer does not say.
    pub exit_code: Option<i64>,
    /// Where the agent stands.
    pub cwd: String,
    /// The session.
    pub session: String,
    /// The subagent's id.
    pub agent_id: Option<String>,
    /// The kind of agent.
    pub agent_type: Option<String>,
    /// What the person wrote.
    pub prompt: String,
    /// What set it off.
    pub source: String,
    /// Whether a hook held the agent before.
    pub stop_hook_active: bool,
    /// The host's name of the call.
    pub call: Option<String>,
    /// What is wrong with the event, where the adapter cannot make sense of it.
    pub odd: Option<String>,
}

impl Told {
    /// The neutral event. `here` stands in where the host names no folder.
    #[must_use]
    pub fn heard(self, moment: Moment, here: &str) -> Heard {
        let odd = self.odd.clone().or_else(|| oddity(&self.tool, &self.input)).filter(|_| moment == Moment::PreToolUse);
        let action = if self.tool.is_empty() { Action::Nothing } else { action(&self.tool, &self.input) };
        let outcome = self.answer.as_ref().map(|answer| outcome(answer, self.exit_code));
        let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
        let event =
            Event { moment, tool: self.tool, action, cwd: or(self.cwd, here), agent_id: self.agent_id, agent_type: self.agent_type };
        Heard {
            event,
            session: or(self.session, "unknown"),
            stop_hook_active: self.stop_hook_active,
            prompt: self.prompt,
            source: self.source,
            outcome,
            call: self.call,
            odd,
        }
    }
}

/// What the JSON of Claude Code and Codex tells.
#[must_use]
pub fn told(moment: Moment, json: &Value) -> Told {
    let text = |key: &str| json.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let has_failed = moment == Moment::ToolFailed;
    let was_broken_off = json.get("is_interrupt").and_then(Value::as_bool) == Some(true);
    Told {
        tool: text("tool_name").unwrap_or_default(),
        input: json.get("tool_input").cloned().unwrap_or(Value::Null),
        answer: json.get(if has_failed { "error" } else { "tool_response" }).filter(|_| !was_broken_off).cloned(),
        exit_code: has_failed.then_some(1),
        cwd: text("cwd").unwrap_or_default(),
        session: text("session_id").unwrap_or_default(),
        agent_id: text("agent_id"),
        agent_type: text("agent_type"),
        prompt: text("prompt").unwrap_or_default(),
        source: text("source").or_else(|| text("trigger")).or_else(|| text("reason")).unwrap_or_default(),
        stop_hook_active: json.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false),
        call: text("tool_use_id"),
        odd: misnamed(json, &["tool_name"]),
    }
}

/// What is wrong with an event that should name a tool and does not.
#[must_use]
pub fn misnamed(json: &Value, keys: &[&str]) -> Option<String> {
    let is_named = keys.iter().any(|key| json.get(*key).and_then(Value::as_str).is_some_and(|name| !name.trim().is_empty()));
    (!is_named).then(|| format!("it names no tool: `{}` is missing or no text", keys.first().copied().unwrap_or_default()))
}

/// Reads the JSON of Claude Code and Codex. `cwd` stands in where the host names no folder.
#[must_use]
pub fn hear(moment: Moment, json: &Value, cwd: &str) -> Heard {
    told(moment, json).heard(moment, cwd)
}

/// Bytes of an answer that are looked at.
const MOST_ANSWER: usize = 4 * 1024 * 1024;

/// A tool's answer in any of the forms in use: text, parts of text, or an object
/// that names what was printed and how it ended.
fn outcome(answer: &Value, otherwise: Option<i64>) -> Outcome {
    let mut outcome = Outcome::default();
    collect(answer, &mut outcome, 0);
    outcome.exit_code = outcome.exit_code.or_else(|| told_in(&outcome.output)).or(otherwise);
    if outcome.is_unfinished {
        outcome.exit_code = None;
    }
    outcome
}

fn collect(answer: &Value, outcome: &mut Outcome, depth: usize) {
    if depth > 4 || outcome.output.len() > MOST_ANSWER {
        return;
    }
    match answer {
        Value::String(text) => {
            // Some hosts hand on an object as text.
            match serde_json::from_str::<Value>(text) {
                Ok(inner @ Value::Object(_)) if depth < 2 && has_printed(&inner) => collect(&inner, outcome, depth + 1),
                _ => {
                    outcome.output.push_str(text);
                    outcome.output.push('\n');
                }
            }
        }
        Value::Array(parts) => parts.iter().take(1_000).for_each(|part| collect(part, outcome, depth + 1)),
        Value::Object(fields) => {
            let ended = ["exit_code", "exitCode", "returncode", "returnCode"].iter().find_map(|key| fields.get(*key)?.as_i64());
            let signal = fields.get("signal").is_some_and(|signal| !signal.is_null());
            outcome.exit_code = outcome.exit_code.or(ended).or(signal.then_some(-1));
            let yes = |key: &str| fields.get(key).is_some_and(|value| value.as_bool() == Some(true));
            let goes_on = ["backgroundTaskId", "background_task_id", "backgroundPIDs"].iter().any(|key| match fields.get(*key) {
                None | Some(Value::Null) => false,
                Some(Value::Array(list)) => !list.is_empty(),
                Some(_) => true,
            });
            outcome.is_unfinished |= yes("interrupted") || yes("is_interrupt") || yes("timed_out") || goes_on;
            for key in PRINTED {
                match fields.get(key) {
                    None | Some(Value::Null) => {}
                    Some(Value::String(text)) if key == "llmContent" => collect(&unlabelled(text).into(), outcome, depth + 1),
                    Some(value) => collect(value, outcome, depth + 1),
                }
            }
        }
        _ => {}
    }
}

/// What was printed begins a line of its own, and not behind the name of what it is.
fn unlabelled(text: &str) -> String {
    let text = text.replacen("\nOutput: ", "\nOutput:\n", 1);
    text.strip_prefix("Output: ").map_or(text.clone(), str::to_owned)
}

/// Members that hold what was printed; those that wrap others come last.
const PRINTED: [&str; 11] =
    ["stdout", "output", "stderr", "text", "content", "llmContent", "textResultForLlm", "error", "result", "metadata", "tool_output"];

fn has_printed(value: &Value) -> bool {
    PRINTED.iter().chain(&["exit_code", "exitCode"]).any(|key| value.get(*key).is_some())
}

/// How a command ended, where its first or last lines say: `Exit code: 1`,
/// `Process exited with code 0`.
fn told_in(output: &str) -> Option<i64> {
    output.lines().take(8).chain(output.lines().rev().take(8)).find_map(|line| {
        let line = line.trim().to_lowercase();
        let rest = ["exit code:", "exit code", "process exited with code"].iter().find_map(|words| line.strip_prefix(words))?;
        rest.trim().split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
    })
}

/// Why nobody can tell what a tool that writes or runs something would do.
#[must_use]
pub fn oddity(tool: &str, input: &Value) -> Option<String> {
    let name = tool.to_lowercase();
    let name = name.rsplit("__").next().unwrap_or(&name);
    let lacks = |what: &str| Some(format!("`{tool}` is called without {what}, so nobody can tell what it would do"));
    let has_path = || PATHS.iter().any(|key| input.get(*key).and_then(Value::as_str).is_some());
    match name {
        _ if SHELLS.contains(&name) && command(input).trim().is_empty() => lacks("a command"),
        "apply_patch" if matches!(action(tool, input), Action::Patch(patch) if patch.trim().is_empty()) => lacks("a patch"),
        _ if EDITS.contains(&name) && !has_path() => lacks("a path"),
        _ => None,
    }
}

/// Tools that are given a command line.
const SHELLS: [&str; 7] = ["bash", "shell", "exec_command", "run_terminal_cmd", "run_shell_command", "local_shell", "powershell"];
/// Tools that change one file.
const EDITS: [&str; 11] = [
    "write",
    "write_file",
    "create_file",
    "create",
    "edit",
    "replace",
    "str_replace",
    "multiedit",
    "multi_edit",
    "edit_file",
    "notebookedit",
];
/// Fields that name the file of such a tool.
const PATHS: [&str; 5] = ["file_path", "notebook_path", "path", "filePath", "target_file"];

/// Lines that are a part of a file, however long it is.
const PART_LINES: u64 = 2_000;

/// Whether a tool that reads is asked for some lines alone.
fn is_part(input: &Value) -> bool {
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    let has = |key: &str| input.get(key).is_some_and(|value| !value.is_null());
    match ["limit", "line_count", "num_lines"].iter().find_map(|key| number(key)) {
        Some(limit) => limit <= PART_LINES,
        None => number("offset").is_some_and(|from| from > 1) || has("view_range") || has("end_line") || has("pages"),
    }
}

/// What a tool is asked to do, by its name and input.
#[must_use]
pub fn action(tool: &str, input: &Value) -> Action {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(*key)).and_then(Value::as_str).map(str::to_owned);
    let path = text(&PATHS);
    let name = tool.to_lowercase();
    let name = name.rsplit("__").next().unwrap_or(&name);
    match (name, path) {
        (name, _) if SHELLS.contains(&name) => Action::Shell(command(input)),
        ("apply_patch", _) => Action::Patch(text(&["patch", "input", "command"]).unwrap_or_else(|| command(input))),
        ("read" | "read_file" | "view" | "view_file" | "notebookread", Some(path)) => {
            if is_part(input) {
                Action::ReadPart(path)
            } else {
                Action::Read(path)
            }
        }
        ("write" | "write_file" | "create_file" | "create", Some(path)) => match text(&["content", "contents", "file_text"]) {
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
        ("notebookedit", Some(path)) => {
            let number = input.get("cell_number").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
            let (source, mode) = (text(&["new_source", "source"]).unwrap_or_default(), text(&["edit_mode"]).unwrap_or_default());
            let cell = Cell { id: text(&["cell_id"]), number, source, kind: text(&["cell_type"]).unwrap_or_default(), mode };
            Action::Cell { path, cell }
        }
        (name, path) => {
            let starts = ["shell", "exec", "run", "bash", "terminal", "command"];
            if starts.iter().any(|word| name.contains(word)) && !command(input).is_empty() {
                return Action::Shell(command(input));
            }
            // Our own tools change our own files; that is what they are for.
            if !tool.contains("twining")
                && let Some(code) = code(name, input)
            {
                return Action::Shell(code);
            }
            if tool.contains("twining") || !WRITES.iter().any(|word| name.contains(word)) {
                return Action::Nothing;
            }
            // What is copied stays as it is.
            let keys = if name.contains("copy") { &TO[..] } else { &PLACES[..] };
            let mut paths: Vec<String> = path.filter(|_| !name.contains("copy")).into_iter().collect();
            places(input, keys, &mut paths, 0);
            if paths.is_empty() { Action::Nothing } else { Action::Touches(paths) }
        }
    }
}

/// Words in the name of a tool that changes files.
const WRITES: [&str; 19] = [
    "write", "edit", "create", "move", "delete", "remove", "rename", "replace", "patch", "save", "append", "insert", "update", "copy",
    "download", "extract", "touch", "truncate", "link",
];
/// Fields that name a place something goes to.
const TO: [&str; 8] = ["destination", "dest", "to", "target", "new_path", "newPath", "target_path", "output_path"];
/// Fields that name a place at all.
const PLACES: [&str; 22] = [
    "file_path",
    "notebook_path",
    "path",
    "filePath",
    "target_file",
    "file",
    "filename",
    "paths",
    "files",
    "source",
    "old_path",
    "from",
    "uri",
    "directory",
    "destination",
    "dest",
    "to",
    "target",
    "new_path",
    "newPath",
    "target_path",
    "output_path",
];
/// Places of one call that are looked at.
const MOST_PLACES: usize = 4_096;

/// The texts of such fields, wherever in the input they stand.
fn places(value: &Value, keys: &[&str], found: &mut Vec<String>, depth: usize) {
    if depth > 4 {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if keys.contains(&key.as_str()) {
                    let one_or_more = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                    let texts = one_or_more.iter().filter_map(Value::as_str).map(|text| text.strip_prefix("file://").unwrap_or(text));
                    for text in texts.take(MOST_PLACES.saturating_sub(found.len())) {
                        if !found.iter().any(|known| known == text) {
                            found.push(text.to_owned());
                        }
                    }
                }
                places(value, keys, found, depth + 1);
            }
        }
        Value::Array(items) => items.iter().take(MOST_PLACES).for_each(|item| places(item, keys, found, depth + 1)),
        _ => {}
    }
}

/// Code that a tool is handed to run, as the command line that would run it: which
/// language it is does not matter to whoever looks for files it names.
fn code(name: &str, input: &Value) -> Option<String> {
    const RUNS: [&str; 10] = ["exec", "run", "eval", "code", "script", "python", "node", "repl", "notebook", "javascript"];
    const CODE: [&str; 9] = ["code", "content", "script", "source", "expression", "snippet", "input", "program", "body"];
    if !RUNS.iter().any(|word| name.contains(word)) {
        return None;
    }
    let given: Vec<&str> = CODE.iter().filter_map(|key| input.get(*key)?.as_str()).filter(|code| !code.trim().is_empty()).collect();
    (!given.is_empty()).then(|| format!("python3 -c '{}'", given.join("\n").replace('\'', "'\\''")))
}

fn replacement(edit: &Value) -> Option<Replacement> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| edit.get(*key)).and_then(Value::as_str).map(str::to_owned);
    let everywhere = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
    Some(Replacement { old: text(&["old_string", "oldText", "old_str"])?, new: text(&["new_string", "newText", "new_str"])?, everywhere })
}

/// A command as text or as a list of words, of which `bash -lc LINE` is the line.
fn command(input: &Value) -> String {
    let nested = input.get("action").and_then(|action| action.get("command"));
    match input.get("command").or_else(|| input.get("cmd")).or(nested) {
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
