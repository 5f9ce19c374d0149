//! A guard: what it looks at, when it speaks, and what it says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::governance::policy::Source;
use crate::guards::change::{Becomes, Proposal, Touched};
use crate::guards::event::{Event, Moment};
use crate::guards::path::Paths;
use crate::guards::shell::{Certainty, Word};

/// What a guard does, from lenient to strict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing: it is off, or has nothing to say.
    #[default]
    Off,
    /// Tells the agent, and lets it.
    Warn,
    /// Asks the person.
    Ask,
    /// Refuses.
    Block,
}

impl Level {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Ask => "ask",
            Self::Block => "block",
        }
    }

    /// Reads a word.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        [Self::Off, Self::Warn, Self::Ask, Self::Block].into_iter().find(|level| level.as_str() == word)
    }
}

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Who {
    /// The main agent.
    Main,
    /// Any subagent.
    Subagent,
    /// Agents of this kind.
    Kind(String),
}

impl Who {
    pub(crate) fn is(&self, event: &Event) -> bool {
        match self {
            Self::Main => event.agent_id.is_none(),
            Self::Subagent => event.agent_id.is_some(),
            Self::Kind(kind) => event.agent_type.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(kind)),
        }
    }
}

/// Conditions beyond tool and path; all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct When {
    /// One of these commands is run: its program, and its other words among the arguments.
    pub(crate) commands: Vec<Vec<String>>,
    /// One of these texts is in the new content and not in the old.
    pub(crate) adds: Vec<String>,
    /// One of these texts is in the old content and not in the new.
    pub(crate) removes: Vec<String>,
    /// By one of these.
    pub(crate) by: Vec<Who>,
}

/// What a guard judges by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Its paths and conditions alone.
    Declared,
    /// A feature list in which more is tested.
    Tested,
    /// A policy that would allow more.
    Policy,
    /// Settings that would call us no more.
    Wiring,
    /// A file that is read.
    Reads,
    /// A subagent that returns.
    Returns,
    /// A command that is a person's to give.
    Person,
    /// A file that another works on.
    Claimed,
    /// What a decision or the knowledge rules out.
    Clause,
}

/// What a guard's own examples say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does what it says.
    Alive,
    /// It is not trusted, for this reason.
    Dead(String),
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Its name.
    pub id: String,
    /// Where it comes from.
    pub source: Source,
    /// What it does when it speaks.
    pub action: Level,
    /// What it says.
    pub say: String,
    /// What to do instead.
    pub next_step: String,
    /// What it does when it cannot judge.
    pub on_error: Level,
    /// Whether it is trusted.
    pub standing: Standing,
    /// Whether it is only proposed: it warns, and no more, until a person promotes it.
    pub proposed: bool,
    /// What it was made from, such as `pattern:…`.
    pub origin: Option<String>,
    /// A command that decides where its conditions hold. Never run here, and by
    /// the rim only once a person allowed exactly this text.
    pub verify: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) moments: Vec<Moment>,
    pub(crate) tools: Vec<String>,
    pub(crate) paths: Paths,
    pub(crate) except: Paths,
    pub(crate) when: When,
    /// What it must say to which calls.
    pub examples: Vec<Example>,
}

/// A call and what the guard must say to it.
#[derive(Clone, Debug)]
pub struct Example {
    pub(crate) event: Event,
    /// The tool's input, as a host sends it.
    pub input: serde_json::Value,
    /// What stands in the file before.
    pub file: Option<String>,
    /// Whether the guard must speak, or must not.
    pub is_stopped: bool,
}

impl Example {
    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.event.tool
    }

    /// The file it is about.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.input.get("file_path").and_then(serde_json::Value::as_str)
    }

    /// The kind of agent that acts.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.event.agent_type.as_deref()
    }
}

/// Tools that do the same under other names, first as Claude Code calls them.
const SAME: [&[&str]; 4] = [
    &["bash", "shell", "run_shell_command", "exec_command", "local_shell", "run_terminal_cmd", "powershell"],
    &["write", "write_file", "create", "create_file"],
    &["edit", "multiedit", "multi_edit", "replace", "str_replace", "edit_file", "apply_patch", "notebookedit"],
    &["read", "read_file", "view", "view_file"],
];

/// Whether two names mean the same kind of tool: a rule about `Bash` holds for
/// every host's shell.
fn is_same_tool(one: &str, other: &str) -> bool {
    let is = |name: &str, tool: &str| name.eq_ignore_ascii_case(tool);
    is(one, other) || SAME.iter().any(|names| names.iter().any(|name| is(name, one)) && names.iter().any(|name| is(name, other)))
}

/// What a guard says to one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) level: Level,
    pub(crate) why: String,
}

impl Said {
    pub(crate) fn nothing(why: impl Into<String>) -> Self {
        Self { level: Level::Off, why: why.into() }
    }
}

impl Guard {
    /// Whether it is asked at this moment about this tool.
    pub(crate) fn is_asked(&self, event: &Event) -> bool {
        let named = |tool: &String| tool == "*" || is_same_tool(tool, &event.tool);
        self.moments.contains(&event.moment) && (self.tools.is_empty() || self.tools.iter().any(named))
    }

    /// The proposals at its paths.
    pub(crate) fn concerned<'t>(&'t self, touched: &'t Touched) -> impl Iterator<Item = &'t Proposal> {
        touched.writes.iter().filter(move |proposal| proposal.is_at(&self.paths) && !(is_plain(proposal) && proposal.is_at(&self.except)))
    }

    /// Judges by paths and conditions.
    pub(crate) fn declared(&self, event: &Event, touched: &Touched) -> Said {
        if !self.when.by.is_empty() && !self.when.by.iter().any(|who| who.is(event)) {
            return Said::nothing("somebody else acts");
        }
        if !self.when.commands.is_empty() && !self.when.commands.iter().any(|wanted| touched.runs.iter().any(|run| runs(run, wanted))) {
            return Said::nothing("no such command is run");
        }
        if self.paths.is_empty() {
            if !(self.when.adds.is_empty() && self.when.removes.is_empty()) {
                return self.strongest(touched.writes.iter());
            }
            return Said { level: self.action, why: "its conditions hold".to_owned() };
        }
        // A rule about a place is about changing it, unless it names a tool that reads.
        if !self.tools.is_empty()
            && self.when.adds.is_empty()
            && self.when.removes.is_empty()
            && let Some(path) = touched.reads.iter().find(|path| self.paths.name(path) && !self.except.name(path))
        {
            return Said { level: self.action, why: format!("`{path}` is read") };
        }
        self.strongest(self.concerned(touched))
    }

    fn strongest<'t>(&self, proposals: impl Iterator<Item = &'t Proposal>) -> Said {
        proposals
            .filter_map(|proposal| self.of_proposal(proposal))
            .max_by_key(|said| said.level)
            .unwrap_or_else(|| Said::nothing("no file of its is changed"))
    }

    fn of_proposal(&self, proposal: &Proposal) -> Option<Said> {
        if let Becomes::Text { before, after } = &*proposal.becomes {
            // An empty file that was not there is a change.
            if before == after {
                return None;
            }
            let (before, after) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
            let comes = |text: &String| after.contains(text.as_str()) && !before.contains(text.as_str());
            let goes = |text: &String| before.contains(text.as_str()) && !after.contains(text.as_str());
            let conditional = !(self.when.adds.is_empty() && self.when.removes.is_empty());
            if conditional && !self.when.adds.iter().any(comes) && !self.when.removes.iter().any(goes) {
                return None;
            }
        } else if !(self.when.adds.is_empty() && self.when.removes.is_empty()) && self.paths.is_empty() {
            // Every command would be stopped by a rule about contents.
            return None;
        }
        Some(self.sure(proposal, format!("{} changes `{}`", proposal.by, proposal.place())))
    }

    /// What it does, lowered to a warning where a write is only possible.
    pub(crate) fn sure(&self, proposal: &Proposal, why: String) -> Said {
        let level = if proposal.certainty == Certainty::Possible { self.action.min(Level::Warn) } else { self.action };
        Said { level, why }
    }
}

fn is_plain(proposal: &Proposal) -> bool {
    matches!(proposal.at, crate::guards::change::Where::Known(_))
}

/// Whether a command is the wanted one: the program, then the other words in any
/// place, clusters of short options by their letters.
fn runs(run: &[Word], wanted: &[String]) -> bool {
    let words: Vec<String> = run.iter().map(Word::gist).collect();
    let (Some(program), Some((name, rest))) = (words.first(), wanted.split_first()) else { return false };
    if program.rsplit('/').next() != Some(name.as_str()) {
        return false;
    }
    let cluster = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.len() > 1;
    rest.iter().all(|wanted| {
        words.iter().skip(1).any(|word| word == wanted)
            || (cluster(wanted)
                && wanted.chars().skip(1).all(|letter| words.iter().skip(1).any(|word| cluster(word) && word.contains(letter))))
    })
}
