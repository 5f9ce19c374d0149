//! The neutral event: what an agent is about to do, whatever its host calls it.

use serde::{Deserialize, Serialize};

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

/// An edit of a notebook's cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotebookCell {
    /// The cell's id.
    pub id: Option<String>,
    /// Its place, where it has no id.
    pub number: Option<usize>,
    /// What it says from now on.
    pub source: String,
    /// `code` or `markdown`.
    pub kind: String,
    /// `replace`, `insert` (behind the cell) or `delete`.
    pub mode: String,
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
        /// What becomes of which cell.
        cell: NotebookCell,
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
        Self { kind: EventKind::PreToolUse, tool: tool.to_owned(), action, cwd: cwd.to_owned(), agent_id: None, agent_type: None }
    }
}
