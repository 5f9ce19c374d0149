//! A tool call as it is recorded, so that a guard not yet made can be tried on it.

use serde::{Deserialize, Serialize};
use twining_model::{Time, limits, text};

use crate::learning::masked;
use crate::secrets::{Redact, redact};
use twining_guard::effects::shell;
use twining_guard::{
    Evaluation, EventKind, FileAccess, GuardEvent, ToolAction, Verdict, inside, normal,
};

/// One recorded call, or a marker for a person's prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedCall {
    /// Its id.
    pub id: String,
    /// When.
    pub at: String,
    /// The host's session.
    pub session: String,
    /// The project's root then.
    pub root: String,
    /// The folder it was made in.
    pub cwd: String,
    /// The subagent's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// What kind of agent it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// The host's name of the tool; empty for a person's prompt.
    pub tool: String,
    /// What it was asked to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ToolAction>,
    /// What was answered: `off`, `warn`, `ask` or `block`.
    pub verdict: String,
    /// The guards that fired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    /// Whether its contents were cut for size.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl RecordedCall {
    /// The record of a judged event.
    #[must_use]
    pub fn of(
        id: String,
        at: Time,
        session: &str,
        root: &str,
        event: &GuardEvent,
        judgement: &Evaluation,
    ) -> Self {
        let short = |text: &str| text::excerpt(text, 200);
        Self {
            id,
            at: at.to_string(),
            session: short(session),
            root: root.to_owned(),
            cwd: event.cwd.clone(),
            agent_id: event.agent_id.as_deref().map(short),
            agent_type: event.agent_type.as_deref().map(short),
            tool: short(&event.tool),
            action: Some(without_secrets(&event.action)),
            verdict: judgement.verdict.as_str().to_owned(),
            guards: judgement
                .speaking()
                .into_iter()
                .take(8)
                .map(|finding| finding.guard.clone())
                .collect(),
            cut: false,
        }
    }

    /// A marker for a person's prompt.
    #[must_use]
    pub fn of_prompt(id: String, at: Time, session: &str) -> Self {
        Self { id, at: at.to_string(), session: text::excerpt(session, 200), ..Self::default() }
    }

    /// Its line; contents are cut where it would be too long.
    #[must_use]
    pub fn to_line(&self) -> Option<String> {
        let written = |call: &Self| {
            serde_json::to_string(call).ok().filter(|line| line.len() <= limits::CALL_BYTES)
        };
        written(self).or_else(|| {
            let mut call = self.clone();
            call.cut = true;
            call.action =
                self.action.as_ref().map(|action| shortened(action, limits::CALL_BYTES / 8));
            written(&call).or_else(|| {
                call.action = Some(ToolAction::Nothing);
                written(&call)
            })
        })
    }

    /// Reads a line; none where it is no call.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// Whether this is a prompt.
    #[must_use]
    pub fn is_prompt(&self) -> bool {
        self.tool.is_empty()
    }

    /// Whether it may have changed something, and was let through.
    #[must_use]
    pub fn may_have_changed(&self) -> bool {
        let changes = matches!(
            self.action,
            Some(
                ToolAction::Write { .. }
                    | ToolAction::Edit { .. }
                    | ToolAction::Patch(_)
                    | ToolAction::Shell(_)
                    | ToolAction::Touches(_)
            )
        );
        changes && self.verdict != Verdict::Block.as_str()
    }

    /// The event once more.
    #[must_use]
    pub fn event(&self) -> GuardEvent {
        GuardEvent {
            kind: EventKind::PreToolUse,
            tool: self.tool.clone(),
            action: self.action.clone().unwrap_or(ToolAction::Nothing),
            cwd: self.cwd.clone(),
            agent_id: self.agent_id.clone(),
            agent_type: self.agent_type.clone(),
        }
    }
}

/// The files of a recorded call, as far as the call itself shows them: what an
/// edit replaces was there.
impl FileAccess for RecordedCall {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        let Some(ToolAction::Edit { path: edited, replacements }) = &self.action else {
            return Ok(None);
        };
        let old: Vec<&str> = replacements.iter().map(|one| one.old.as_str()).collect();
        Ok((normal(&self.cwd, edited) == path).then(|| old.join("\n")))
    }
}

fn shortened(action: &ToolAction, most: usize) -> ToolAction {
    let first = match action {
        ToolAction::Edit { path, replacements } => ToolAction::Edit {
            path: path.clone(),
            replacements: replacements.iter().take(1).cloned().collect(),
        },
        ToolAction::Touches(paths) => ToolAction::Touches(paths.iter().take(4).cloned().collect()),
        other => other.clone(),
    };
    each_text(&first, |text| text.chars().take(most / 4).collect())
}

/// A recorded call may hold what an agent typed: a token in a header, a password in
/// a file. More of a text than a record holds is not kept anyway.
fn without_secrets(action: &ToolAction) -> ToolAction {
    each_text(action, |text| {
        let end = text.floor_char_boundary(limits::CALL_BYTES.saturating_mul(2));
        let (clean, kinds) = redact(&text[..end]);
        if kinds.is_empty() && end == text.len() { text.to_owned() } else { clean }
    })
}

fn each_text(action: &ToolAction, cut: impl Fn(&str) -> String) -> ToolAction {
    let mut value = serde_json::to_value(action).unwrap_or_default();
    value.each_text("", &mut |_, text| *text = cut(text));
    serde_json::from_value(value).unwrap_or(ToolAction::Nothing)
}

/// What was tried, in a few words that are the same whenever it is tried again:
/// `Bash: git push`, `Edit: src/a.rs`. Arguments stay out: they differ each time,
/// and some are secrets.
#[must_use]
pub fn action_summary(event: &GuardEvent, root: &str) -> String {
    let place = |path: &str| inside(root, &normal(&event.cwd, path));
    let description = match &event.action {
        ToolAction::Nothing => String::new(),
        ToolAction::Write { path, .. }
        | ToolAction::Edit { path, .. }
        | ToolAction::Notebook { path, .. }
        | ToolAction::Read(path)
        | ToolAction::ReadPart(path) => place(path),
        ToolAction::Touches(paths) | ToolAction::ReadMany(paths) => {
            paths.first().map(|path| place(path)).unwrap_or_default()
        }
        ToolAction::Patch(_) => "a patch".to_owned(),
        ToolAction::Shell(line) => commands(line),
    };
    let description = if description.is_empty() {
        event.tool.clone()
    } else {
        format!("{}: {description}", event.tool)
    };
    text::excerpt(&masked(&description), 160)
}

/// Longest line that is read once more for the record's sake.
const MOST_LINE: usize = 16 * 1024;

fn commands(line: &str) -> String {
    if line.len() > MOST_LINE {
        return "a long line".to_owned();
    }
    let Ok(read) = shell::read(line) else { return "a line that cannot be read".to_owned() };
    let mut description: Vec<String> = Vec::new();
    for command in read.commands {
        let Some((program, rest)) = command.words.split_first() else { continue };
        let program = program.rsplit('/').next().unwrap_or(program);
        if ["cd", "echo", "true", "export", "set"].contains(&program) {
            continue;
        }
        let is_word = |word: &&String| {
            word.len() <= 20
                && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                && !word.starts_with('-')
        };
        let second =
            rest.first().filter(is_word).map_or_else(String::new, |word| format!(" {word}"));
        let command = format!("{program}{second}");
        if !description.contains(&command) && description.len() < 3 {
            description.push(command);
        }
    }
    description.join("; ")
}
