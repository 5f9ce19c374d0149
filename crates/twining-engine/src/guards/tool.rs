//! What a tool is asked to do, by its name and input. Names are understood wherever
//! they cannot be mistaken, whichever host or server calls its tools so.

use serde_json::Value;

use crate::guards::event::{Action, Cell, Replacement};
use crate::guards::shell;

/// Whose tool it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// The host's own.
    #[default]
    Host,
    /// Another server's, whose fields may be anything.
    Server,
}

impl Owner {
    /// Told by the name, where the name tells: `mcp__server__tool`, `server__tool`.
    fn or_by_name(self, tool: &str) -> Self {
        if tool.contains("__") || tool.starts_with("mcp_") { Self::Server } else { self }
    }
}

/// Why nobody can tell what a tool of the host that writes or runs something would
/// do. What another server calls `write` may have nothing to do with files.
pub(super) fn oddity(owner: Owner, tool: &str, input: &Value) -> Option<String> {
    if owner.or_by_name(tool) == Owner::Server {
        return None;
    }
    let name = tool.to_lowercase();
    let lacks = |what: &str| Some(format!("`{tool}` is called without {what}, so nobody can tell what it would do"));
    let has = |keys: &[&str]| keys.iter().any(|key| input.get(*key).is_some());
    let has_path = || PATHS.iter().any(|key| input.get(*key).and_then(Value::as_str).is_some());
    // Some hosts hand on servers' tools by their bare names; what says neither what
    // is written nor where is none of the host's.
    let is_another =
        || AMBIGUOUS.contains(&tool) && input.as_object().is_some_and(|fields| !fields.is_empty()) && !has(&WRITTEN) && !has(&PLACES);
    match name.as_str() {
        name if SHELLS.contains(&name) && command(input).trim().is_empty() => lacks("a command"),
        "apply_patch" if patch(input).trim().is_empty() => lacks("a patch"),
        name if EDITS.contains(&name) && !has_path() && !is_another() => lacks("a path"),
        _ => None,
    }
}

/// The folder that a tool is told to run its command in.
pub(super) fn folder(input: &Value) -> Option<&str> {
    const FOLDERS: [&str; 8] = ["workdir", "working_directory", "workingDirectory", "working_dir", "directory", "dir_path", "cwd", "dir"];
    let action = input.get("action");
    let named = |key: &&str| input.get(*key).or_else(|| action?.get(*key))?.as_str().filter(|folder| !folder.is_empty());
    FOLDERS.iter().find_map(named)
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
/// Of these, names that servers give to tools of theirs.
const AMBIGUOUS: [&str; 4] = ["write", "create", "edit", "replace"];
/// Fields that hold what comes into a file.
const WRITTEN: [&str; 9] = ["content", "contents", "file_text", "old_string", "new_string", "old_str", "new_str", "edits", "new_source"];
/// Fields that name the file of such a tool.
const PATHS: [&str; 6] = ["file_path", "notebook_path", "path", "filePath", "target_file", "absolute_path"];

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
        // A shell of another server may call its line otherwise.
        (name, _) if SHELLS.contains(&name) => match command(input) {
            line if line.is_empty() => Action::Shell(text(&["script", "input", "code", "line"]).unwrap_or_default()),
            line => run(input, line),
        },
        ("apply_patch", _) => Action::Patch(patch(input)),
        ("str_replace_editor" | "str_replace_based_edit_tool", Some(path)) => match text(&["command"]).as_deref() {
            Some("view") => action("view", input),
            Some("create") => action("create", input),
            Some("str_replace") => action("str_replace", input),
            _ => Action::Touches(vec![path]),
        },
        ("read" | "read_file" | "view" | "view_file" | "notebookread", Some(path)) => {
            if is_part(input) {
                Action::ReadPart(path)
            } else {
                Action::Read(path)
            }
        }
        ("read_many_files", path) => {
            let mut paths: Vec<String> = path.into_iter().collect();
            places(input, &["paths", "include", "files"], &mut paths, 0);
            Action::ReadMany(paths)
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
                return run(input, command(input));
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
    (!given.is_empty()).then(|| format!("{} -c '{}'", shell::CODE, given.join("\n").replace('\'', "'\\''")))
}

fn replacement(edit: &Value) -> Option<Replacement> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| edit.get(*key)).and_then(Value::as_str).map(str::to_owned);
    let everywhere = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
    Some(Replacement { old: text(&["old_string", "oldText", "old_str"])?, new: text(&["new_string", "newText", "new_str"])?, everywhere })
}

/// A patch, in whichever field it stands, or as the input itself.
fn patch(input: &Value) -> String {
    let named = ["patch", "input", "command", "diff"].iter().find_map(|key| input.get(*key)?.as_str());
    named.or_else(|| input.as_str()).map_or_else(|| command(input), str::to_owned)
}

/// A command line, or the patch that some hosts hand on as one.
fn run(input: &Value, line: String) -> Action {
    match words(input).as_deref() {
        Some([program, patch]) if matches!(program.as_str(), "apply_patch" | "applypatch") => Action::Patch(patch.clone()),
        _ => Action::Shell(line),
    }
}

/// What a tool is told to run, where it is a list of words.
fn words(input: &Value) -> Option<Vec<String>> {
    let nested = input.get("action").and_then(|action| action.get("command"));
    let list = |value: &Value| Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>());
    ["command", "cmd", "argv"].iter().find_map(|key| input.get(*key)).or(nested).and_then(list)
}

/// A command as text or as a list of words, of which `bash -lc LINE` is the line.
fn command(input: &Value) -> String {
    let quoted = |words: &[String]| words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ");
    if let Some(words) = words(input) {
        return match words.as_slice() {
            [shell, flag, line] if shell.ends_with("sh") && flag.starts_with('-') => line.clone(),
            words => quoted(words),
        };
    }
    let nested = input.get("action").and_then(|action| action.get("command"));
    let given = ["command", "cmd"].iter().find_map(|key| input.get(*key)).or(nested).and_then(Value::as_str);
    let args: Vec<String> =
        input.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    match given {
        Some(line) if args.is_empty() => line.to_owned(),
        Some(program) => format!("{program} {}", quoted(&args)),
        None => String::new(),
    }
}
