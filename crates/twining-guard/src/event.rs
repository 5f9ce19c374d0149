//! The neutral event: what an agent is about to do, whatever its host calls it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// When a guard is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EventKind {
    /// A session begins.
    SessionStart,
    /// A person wrote something.
    UserPromptSubmit,
    /// A tool is about to run.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// A tool has run and failed.
    ToolFailed,
    /// A subagent begins.
    SubagentStart,
    /// A subagent returns.
    SubagentStop,
    /// The turn ends.
    Stop,
    /// A task is called done.
    TaskCompleted,
    /// The host is about to forget most of the conversation.
    PreCompact,
    /// It has.
    PostCompact,
    /// The session ends.
    SessionEnd,
}

impl EventKind {
    /// Every kind, and its name as hosts write it.
    pub const NAMES: [(Self, &'static str); 12] = [
        (Self::SessionStart, "SessionStart"),
        (Self::UserPromptSubmit, "UserPromptSubmit"),
        (Self::PreToolUse, "PreToolUse"),
        (Self::PostToolUse, "PostToolUse"),
        (Self::ToolFailed, "PostToolUseFailure"),
        (Self::SubagentStart, "SubagentStart"),
        (Self::SubagentStop, "SubagentStop"),
        (Self::Stop, "Stop"),
        (Self::TaskCompleted, "TaskCompleted"),
        (Self::PreCompact, "PreCompact"),
        (Self::PostCompact, "PostCompact"),
        (Self::SessionEnd, "SessionEnd"),
    ];

    /// Its name, as hosts write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).expect("every kind has a name").1
    }

    /// Reads a name: `PreToolUse`, `pre-tool-use` or `pre_tool_use`.
    #[must_use]
    pub fn read(name: &str) -> Option<Self> {
        let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
        Self::NAMES.iter().find(|(_, known)| plain(known) == plain(name)).map(|(kind, _)| *kind)
    }
}

/// One replacement of an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// What is looked for; nothing for a new file.
    pub old: String,
    /// What takes its place.
    pub new: String,
    /// Everywhere, or once.
    pub everywhere: bool,
}

/// What a tool is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolAction {
    /// Nothing that touches files.
    Nothing,
    /// Writes a file whole.
    Write {
        /// Which.
        path: String,
        /// Its new content.
        content: String,
    },
    /// Replaces parts of a file.
    Edit {
        /// Which.
        path: String,
        /// In this order.
        replacements: Vec<Replacement>,
    },
    /// A patch over several files.
    Patch(String),
    /// A command line.
    Shell(String),
    /// Reads a file.
    Read(String),
    /// Reads some lines of one.
    ReadPart(String),
    /// Reads several files, or all of a pattern.
    ReadMany(Vec<String>),
    /// Changes a cell of a notebook.
    Notebook {
        /// Which notebook.
        path: String,
        /// What the cell says from now on.
        source: String,
    },
    /// May write these, nobody knows what.
    Touches(Vec<String>),
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardEvent {
    /// When.
    pub kind: EventKind,
    /// The host's name of the tool.
    pub tool: String,
    /// What it is asked to do.
    pub action: ToolAction,
    /// The folder it happens in, absolute.
    pub cwd: String,
    /// The subagent's id; none for the main agent.
    pub agent_id: Option<String>,
    /// What kind of agent it is, where the host says.
    pub agent_type: Option<String>,
}

impl GuardEvent {
    /// A tool call of the main agent.
    #[must_use]
    pub fn of_tool(tool: &str, action: ToolAction, cwd: &str) -> Self {
        Self {
            kind: EventKind::PreToolUse,
            tool: tool.to_owned(),
            action,
            cwd: cwd.to_owned(),
            agent_id: None,
            agent_type: None,
        }
    }
}

/// What kind of thing a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolKind {
    Shell,
    Write,
    Edit,
    Patch,
    Notebook,
    Read,
    ReadMany,
    /// One tool that does what its `command` says.
    Editor,
}

/// Names of tools, first as Claude Code calls them.
const TOOLS: [(ToolKind, &str); 8] = [
    (
        ToolKind::Shell,
        "bash shell run_shell_command exec_command local_shell run_terminal_cmd powershell",
    ),
    (ToolKind::Write, "write write_file create create_file"),
    (ToolKind::Edit, "edit multiedit multi_edit replace str_replace edit_file"),
    (ToolKind::Patch, "apply_patch"),
    (ToolKind::Notebook, "notebookedit"),
    (ToolKind::Read, "read read_file view view_file notebookread"),
    (ToolKind::ReadMany, "read_many_files"),
    (ToolKind::Editor, "str_replace_editor str_replace_based_edit_tool"),
];
/// Fields that name the file of a tool.
const PATHS: &str = "file_path notebook_path path filePath target_file absolute_path";
/// Fields that name a file of a tool that moves, removes or copies one.
const PLACES: &str =
    "path file_path filePath paths files source old_path destination dest to new_path target";
/// What a tool does to files, in its name.
const WRITES: &str = "write edit create move delete remove rename append update";
/// Words in the name of a tool that runs commands.
const RUNS: &str = "shell exec run bash terminal command";
/// Fields of a tool that acts somewhere else than in this working tree.
const ELSEWHERE: &str = "owner repo repository project_id url bucket";
/// Fields that name the folder a command is to run in.
const FOLDERS: &str =
    "workdir working_directory workingDirectory working_dir directory dir_path cwd dir";
/// Places of one call that are looked at.
const MAX_PLACES: usize = 4_096;
/// Lines that are a part of a file, however long it is.
const PART_LINES: u64 = 2_000;

fn kind_of(tool: &str) -> Option<ToolKind> {
    let name = tool.to_lowercase();
    let is_listed = |names: &str| names.split(' ').any(|known| known == name);
    TOOLS.iter().find(|(_, names)| is_listed(names)).map(|(kind, _)| *kind)
}

/// Whether two names mean the same kind of tool: a rule about `Bash` holds for
/// every host's shell.
pub(crate) fn is_same_tool(one: &str, other: &str) -> bool {
    let kind = |tool| match kind_of(tool) {
        Some(ToolKind::Patch | ToolKind::Notebook) => Some(ToolKind::Edit),
        kind => kind,
    };
    one.eq_ignore_ascii_case(other) || kind(one).is_some() && kind(one) == kind(other)
}

/// The first of these fields that there is.
fn field<'v>(input: &'v Value, keys: &str) -> Option<&'v Value> {
    keys.split(' ').find_map(|key| input.get(key))
}

fn text(input: &Value, keys: &str) -> Option<String> {
    field(input, keys)?.as_str().map(str::to_owned)
}

/// Directory in which a tool runs its command.
pub(crate) fn working_dir(input: &Value) -> Option<&str> {
    let named = |key: &str| {
        let value = input.get(key).or_else(|| input.get("action")?.get(key));
        value?.as_str().filter(|folder| !folder.is_empty())
    };
    FOLDERS.split(' ').find_map(named)
}

/// What a tool is asked to do.
#[must_use]
pub fn action(tool: &str, input: &Value) -> ToolAction {
    // Our own tools change our own files; that is what they are for.
    if tool.contains("twining") {
        return ToolAction::Nothing;
    }
    let name = tool.rsplit("__").next().unwrap_or(tool);
    match (kind_of(name), text(input, PATHS)) {
        (Some(ToolKind::Shell), _) => match command(input) {
            line if line.is_empty() => {
                ToolAction::Shell(text(input, "script input code line").unwrap_or_default())
            }
            line => shell(input, line),
        },
        (Some(ToolKind::Patch), _) => ToolAction::Patch(patch(input)),
        (Some(ToolKind::ReadMany), path) => {
            let mut paths: Vec<String> = path.into_iter().collect();
            places(input, "paths include files", &mut paths);
            ToolAction::ReadMany(paths)
        }
        (Some(ToolKind::Editor), Some(path)) => match text(input, "command").as_deref() {
            Some(verb @ ("view" | "create" | "str_replace")) => action(verb, input),
            _ => ToolAction::Touches(vec![path]),
        },
        (Some(ToolKind::Read), Some(path)) if is_part(input) => ToolAction::ReadPart(path),
        (Some(ToolKind::Read), Some(path)) => ToolAction::Read(path),
        (Some(ToolKind::Write), Some(path)) => match text(input, "content contents file_text") {
            Some(content) if !is_elsewhere(input) => ToolAction::Write { path, content },
            _ => ToolAction::Nothing,
        },
        (Some(ToolKind::Edit), Some(path)) => edit(path, input),
        (Some(ToolKind::Notebook), Some(path)) => {
            let is_code = text(input, "cell_type").as_deref() != Some("markdown");
            let source = text(input, "new_source source").filter(|_| is_code).unwrap_or_default();
            ToolAction::Notebook { path, source }
        }
        _ => unknown(&name.to_lowercase(), input),
    }
}

fn edit(path: String, input: &Value) -> ToolAction {
    let replacements = match input.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.iter().map(replacement).collect::<Option<Vec<_>>>(),
        None => replacement(input).map(|one| vec![one]),
    };
    match replacements {
        Some(replacements) => ToolAction::Edit { path, replacements },
        None => ToolAction::Touches(vec![path]),
    }
}

/// A tool that is known by the words of its name alone.
fn unknown(name: &str, input: &Value) -> ToolAction {
    let has = |words: &str| words.split(' ').any(|word| name.contains(word));
    let line = command(input);
    if has(RUNS) && !line.is_empty() {
        return shell(input, line);
    }
    let mut paths = Vec::new();
    if name.contains("file") && has(WRITES) && !is_elsewhere(input) {
        places(input, PLACES, &mut paths);
    }
    if paths.is_empty() { ToolAction::Nothing } else { ToolAction::Touches(paths) }
}

/// Whether a tool that reads is asked for some lines alone.
fn is_part(input: &Value) -> bool {
    let number = |key: &str| input.get(key).and_then(Value::as_u64);
    let has = |key: &str| input.get(key).is_some_and(|value| !value.is_null());
    match ["limit", "line_count", "num_lines"].iter().find_map(|key| number(key)) {
        Some(limit) => limit <= PART_LINES,
        None => {
            number("offset").is_some_and(|from| from > 1)
                || has("view_range")
                || has("end_line")
                || has("pages")
        }
    }
}

fn is_elsewhere(input: &Value) -> bool {
    field(input, ELSEWHERE).is_some()
}

/// The texts of such fields.
fn places(input: &Value, keys: &str, found: &mut Vec<String>) {
    for value in keys.split(' ').filter_map(|key| input.get(key)) {
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
    Some(Replacement {
        old: text(edit, "old_string oldText old_str")?,
        new: text(edit, "new_string newText new_str")?,
        everywhere: edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false),
    })
}

/// Patch from whichever field contains it, or the input itself.
fn patch(input: &Value) -> String {
    let named =
        ["patch", "input", "command", "diff"].iter().find_map(|key| input.get(*key)?.as_str());
    named.or_else(|| input.as_str()).map_or_else(|| command(input), str::to_owned)
}

/// A command line, or the patch that some hosts hand on as one.
fn shell(input: &Value, line: String) -> ToolAction {
    match given(input).and_then(words).as_deref() {
        Some([program, patch]) if matches!(program.as_str(), "apply_patch" | "applypatch") => {
            ToolAction::Patch(patch.clone())
        }
        _ => ToolAction::Shell(line),
    }
}

/// Command a tool is to run.
fn given(input: &Value) -> Option<&Value> {
    field(input, "command cmd argv").or_else(|| input.get("action")?.get("command"))
}

fn words(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// A command as text or as a list of words, of which `bash -lc LINE` is the line.
fn command(input: &Value) -> String {
    let quoted = |words: &[String]| {
        words
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let args = input.get("args").and_then(words).unwrap_or_default();
    match (given(input).and_then(words).as_deref(), given(input).and_then(Value::as_str)) {
        (Some([shell, flag, line]), _) if shell.ends_with("sh") && flag.starts_with('-') => {
            line.clone()
        }
        (Some(words), _) => quoted(words),
        (None, Some(line)) if args.is_empty() => line.to_owned(),
        (None, Some(program)) => format!("{program} {}", quoted(&args)),
        (None, None) => String::new(),
    }
}
