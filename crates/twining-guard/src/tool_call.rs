//! What a tool is asked to do, by its name and input. Hosts and servers call the
//! same tool by many names; one that is not known changes nothing we can judge.

use serde_json::Value;

use crate::event::{NotebookCell, Replacement, ToolAction};

/// Tools that are given a command line.
const SHELLS: [&str; 7] = ["bash", "shell", "exec_command", "run_terminal_cmd", "run_shell_command", "local_shell", "powershell"];
/// Fields that name the file of a tool.
const PATHS: [&str; 6] = ["file_path", "notebook_path", "path", "filePath", "target_file", "absolute_path"];
/// Fields that name a file of a tool that moves, removes or copies one.
const PLACES: [&str; 12] =
    ["path", "file_path", "filePath", "paths", "files", "source", "old_path", "destination", "dest", "to", "new_path", "target"];
/// What a tool does to files, in its name.
const WRITES: [&str; 9] = ["write", "edit", "create", "move", "delete", "remove", "rename", "append", "update"];
/// Fields of a tool that acts somewhere else than in this working tree.
const ELSEWHERE: [&str; 6] = ["owner", "repo", "repository", "project_id", "url", "bucket"];
/// Places of one call that are looked at.
const MAX_PLACES: usize = 4_096;
/// Lines that are a part of a file, however long it is.
const PART_LINES: u64 = 2_000;

/// The folder that a tool is told to run its command in.
pub(crate) fn working_dir(input: &Value) -> Option<&str> {
    const KEYS: [&str; 8] = ["workdir", "working_directory", "workingDirectory", "working_dir", "directory", "dir_path", "cwd", "dir"];
    let action = input.get("action");
    let named = |key: &&str| input.get(*key).or_else(|| action?.get(*key))?.as_str().filter(|folder| !folder.is_empty());
    KEYS.iter().find_map(named)
}

/// What a tool is asked to do.
#[must_use]
pub fn action(tool: &str, input: &Value) -> ToolAction {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(*key)).and_then(Value::as_str).map(str::to_owned);
    let path = text(&PATHS);
    let name = tool.to_lowercase();
    let name = name.rsplit("__").next().unwrap_or(&name);
    // Our own tools change our own files; that is what they are for.
    if tool.contains("twining") {
        return ToolAction::Nothing;
    }
    match (name, path) {
        (name, _) if SHELLS.contains(&name) => match command(input) {
            line if line.is_empty() => ToolAction::Shell(text(&["script", "input", "code", "line"]).unwrap_or_default()),
            line => shell(input, line),
        },
        ("apply_patch", _) => ToolAction::Patch(patch(input)),
        ("str_replace_editor" | "str_replace_based_edit_tool", Some(path)) => match text(&["command"]).as_deref() {
            Some(verb @ ("view" | "create" | "str_replace")) => action(verb, input),
            _ => ToolAction::Touches(vec![path]),
        },
        ("read" | "read_file" | "view" | "view_file" | "notebookread", Some(path)) if is_part(input) => ToolAction::ReadPart(path),
        ("read" | "read_file" | "view" | "view_file" | "notebookread", Some(path)) => ToolAction::Read(path),
        ("read_many_files", path) => {
            let mut paths: Vec<String> = path.into_iter().collect();
            places(input, &["paths", "include", "files"], &mut paths);
            ToolAction::ReadMany(paths)
        }
        ("write" | "write_file" | "create_file" | "create", Some(path)) => match text(&["content", "contents", "file_text"]) {
            _ if is_elsewhere(input) => ToolAction::Nothing,
            Some(content) => ToolAction::Write { path, content },
            None => ToolAction::Nothing,
        },
        ("edit" | "replace" | "str_replace" | "multiedit" | "multi_edit" | "edit_file", Some(path)) => {
            let replacements = match input.get("edits").and_then(Value::as_array) {
                Some(edits) => edits.iter().map(replacement).collect::<Option<Vec<_>>>(),
                None => replacement(input).map(|one| vec![one]),
            };
            match replacements {
                Some(replacements) => ToolAction::Edit { path, replacements },
                None => ToolAction::Touches(vec![path]),
            }
        }
        ("notebookedit", Some(path)) => {
            let number = input.get("cell_number").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
            let (source, mode) = (text(&["new_source", "source"]).unwrap_or_default(), text(&["edit_mode"]).unwrap_or_default());
            let cell = NotebookCell { id: text(&["cell_id"]), number, source, kind: text(&["cell_type"]).unwrap_or_default(), mode };
            ToolAction::Notebook { path, cell }
        }
        (name, _) => {
            let runs = ["shell", "exec", "run", "bash", "terminal", "command"].iter().any(|word| name.contains(word));
            if runs && !command(input).is_empty() {
                return shell(input, command(input));
            }
            let writes = name.contains("file") && WRITES.iter().any(|word| name.contains(word));
            if !writes || is_elsewhere(input) {
                return ToolAction::Nothing;
            }
            let mut paths = Vec::new();
            places(input, &PLACES, &mut paths);
            if paths.is_empty() { ToolAction::Nothing } else { ToolAction::Touches(paths) }
        }
    }
}

/// Whether a tool that reads is asked for some lines alone.
fn is_part(input: &Value) -> bool {
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    let has = |key: &str| input.get(key).is_some_and(|value| !value.is_null());
    match ["limit", "line_count", "num_lines"].iter().find_map(|key| number(key)) {
        Some(limit) => limit <= PART_LINES,
        None => number("offset").is_some_and(|from| from > 1) || has("view_range") || has("end_line") || has("pages"),
    }
}

fn is_elsewhere(input: &Value) -> bool {
    ELSEWHERE.iter().any(|key| input.get(*key).is_some())
}

/// The texts of such fields.
fn places(input: &Value, keys: &[&str], found: &mut Vec<String>) {
    for value in keys.iter().filter_map(|key| input.get(*key)) {
        let one_or_more = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for text in one_or_more.iter().filter_map(Value::as_str).take(MAX_PLACES) {
            let text = text.strip_prefix("file://").unwrap_or(text);
            if !found.iter().any(|known| known == text) {
                found.push(text.to_owned());
            }
        }
    }
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
fn shell(input: &Value, line: String) -> ToolAction {
    match given(input).and_then(words).as_deref() {
        Some([program, patch]) if matches!(program.as_str(), "apply_patch" | "applypatch") => ToolAction::Patch(patch.clone()),
        _ => ToolAction::Shell(line),
    }
}

/// What a tool is told to run.
fn given(input: &Value) -> Option<&Value> {
    ["command", "cmd", "argv"].iter().find_map(|key| input.get(*key)).or_else(|| input.get("action")?.get("command"))
}

fn words(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// A command as text or as a list of words, of which `bash -lc LINE` is the line.
fn command(input: &Value) -> String {
    let quoted = |words: &[String]| words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ");
    let args = input.get("args").and_then(words).unwrap_or_default();
    match (given(input).and_then(words).as_deref(), given(input).and_then(Value::as_str)) {
        (Some([shell, flag, line]), _) if shell.ends_with("sh") && flag.starts_with('-') => line.clone(),
        (Some(words), _) => quoted(words),
        (None, Some(line)) if args.is_empty() => line.to_owned(),
        (None, Some(program)) => format!("{program} {}", quoted(&args)),
        (None, None) => String::new(),
    }
}
