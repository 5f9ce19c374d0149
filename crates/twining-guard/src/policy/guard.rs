//! A guard: what it checks, when it fires, and its message.

use serde::{Deserialize, Serialize};

use crate::effects::{ChangeExtent, Effects, FileChange, NewContent};
use crate::event::{EventKind, GuardEvent, is_same_tool};
use crate::paths::PathGlobs;
use crate::policy::provenance::{PolicyLayer, PolicySource};
use crate::verdict::Verdict;

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Actor {
    /// The main agent.
    Main,
    /// Any subagent.
    Subagent,
    /// Agents of this type.
    OfType(String),
}

impl Actor {
    fn is(&self, event: &GuardEvent) -> bool {
        match self {
            Self::Main => event.agent_id.is_none(),
            Self::Subagent => event.agent_id.is_some(),
            Self::OfType(name) => {
                event.agent_type.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(name))
            }
        }
    }
}

/// Conditions beyond tool and path; all that are given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Conditions {
    /// One of these commands is run: its program, and its other words among the arguments.
    pub(crate) commands: Vec<Vec<String>>,
    /// One of these texts is in the new content and not in the old.
    pub(crate) adds: Vec<String>,
    /// One of these texts is in the old content and not in the new.
    pub(crate) removes: Vec<String>,
    /// By one of these.
    pub(crate) actors: Vec<Actor>,
}

impl Conditions {
    fn has_contents(&self) -> bool {
        !(self.adds.is_empty() && self.removes.is_empty())
    }
}

/// Which check a guard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CheckKind {
    /// Its own paths and conditions.
    Declared,
    /// Twining's own records.
    Records,
    /// A feature list in which more is tested.
    FeatureList,
    /// A policy that would allow more.
    PolicyWeakened,
    /// Settings that would call us no more.
    Wiring,
    /// A file that is read whole.
    Reads,
    /// A subagent that returns.
    Returns,
    /// A command that only a person gives.
    PersonCommands,
    /// A file that another works on.
    Claims,
    /// What a decision or the knowledge rules out.
    ForbiddenUse,
}

/// What a guard's own examples say of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GuardHealth {
    /// It does what it says.
    Alive,
    /// It is not trusted, for this reason.
    Dead(String),
}

/// A rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Guard {
    /// Its name.
    pub id: String,
    /// Where it comes from.
    pub source: PolicySource,
    /// The action taken when it fires.
    pub action: Verdict,
    /// Why it fires.
    pub say: String,
    /// What to do instead.
    pub next_step: String,
    /// Who may decide otherwise; empty where a bypass is the way.
    pub otherwise: String,
    /// What it does when the command that decides cannot be run.
    pub on_error: Verdict,
    /// Whether it is trusted.
    pub standing: GuardHealth,
    /// Whether it is only proposed: it warns, and no more, until a person promotes it.
    pub proposed: bool,
    /// What it was made from, such as `pattern:…`.
    pub origin: Option<String>,
    /// A command that decides where its conditions hold. Never run here, and by the
    /// binary only once a person allowed exactly this text.
    pub verify: Option<String>,
    pub(crate) kind: CheckKind,
    pub(crate) events: Vec<EventKind>,
    pub(crate) tools: Vec<String>,
    pub(crate) paths: PathGlobs,
    pub(crate) except: PathGlobs,
    pub(crate) when: Conditions,
    /// What it must say to which calls.
    #[serde(skip)]
    pub examples: Vec<Example>,
}

/// A call and what the guard must say to it.
#[derive(Clone, Debug)]
pub struct Example {
    pub(crate) event: GuardEvent,
    /// The tool's input, as a host sends it.
    pub input: serde_json::Value,
    /// What the file holds before.
    pub file: Option<String>,
    /// Whether the guard must speak, or must not.
    pub is_stopped: bool,
}

impl Guard {
    /// The globs of a guard of the project's policy; none of another layer's.
    #[must_use]
    pub fn project_globs(&self) -> &[String] {
        if self.source.layer == PolicyLayer::Project { self.paths.globs() } else { &[] }
    }
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
}

/// What a guard says to one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuardAnswer {
    pub(crate) level: Verdict,
    pub(crate) file: Option<String>,
    pub(crate) effect: String,
    /// A reason that is more to the point than the guard's own.
    pub(crate) why: Option<String>,
    /// A way forward that is more to the point than the guard's own.
    pub(crate) instead: Option<String>,
}

impl GuardAnswer {
    pub(crate) fn silent(why: &str) -> Self {
        Self::of_call(Verdict::Off, why.to_owned())
    }

    /// About a call that names no file.
    pub(crate) fn of_call(level: Verdict, effect: String) -> Self {
        Self { level, file: None, effect, why: None, instead: None }
    }

    /// About a file, which is named.
    pub(crate) fn about(level: Verdict, file: &str, effect: String) -> Self {
        Self { file: Some(file.to_owned()), ..Self::of_call(level, effect) }
    }

    /// About a file that would change, and how.
    pub(crate) fn of_change(level: Verdict, change: &FileChange, how: &str) -> Self {
        let colon = if how.is_empty() { "" } else { ": " };
        let effect = format!("`{}` would change `{}`{colon}{how}", change.by, change.path);
        Self::about(level, &change.path, effect)
    }

    pub(crate) fn because(self, why: String) -> Self {
        Self { why: Some(why), ..self }
    }

    pub(crate) fn instead(self, instead: impl Into<String>) -> Self {
        Self { instead: Some(instead.into()), ..self }
    }

    /// The stricter of two.
    pub(crate) fn strictest(answers: impl Iterator<Item = Self>) -> Option<Self> {
        // The first of equals: the order of a call is the order a reader expects.
        answers.reduce(|one, other| if other.level > one.level { other } else { one })
    }
}

impl Guard {
    /// A guard that is asked before tools run, and says nothing yet.
    pub(crate) fn new(id: &str, kind: CheckKind, action: Verdict, paths: PathGlobs) -> Self {
        Self {
            id: id.to_owned(),
            source: PolicySource::DEFAULT,
            action,
            say: String::new(),
            next_step: String::new(),
            otherwise: String::new(),
            on_error: action,
            standing: GuardHealth::Alive,
            proposed: false,
            origin: None,
            verify: None,
            kind,
            events: vec![EventKind::PreToolUse],
            tools: Vec::new(),
            paths,
            except: PathGlobs::default(),
            when: Conditions::default(),
            examples: Vec::new(),
        }
    }

    /// Whether its paths name a file, and not just every file.
    #[must_use]
    pub fn names(&self, path: &str) -> bool {
        let is_any = |glob: &String| matches!(glob.as_str(), "**" | "**/*" | "*");
        !self.paths.globs().iter().any(is_any)
            && self.paths.matches(path)
            && !self.except.matches(path)
    }

    /// Whether it is asked at this event about this tool.
    pub(crate) fn is_asked(&self, event: &GuardEvent) -> bool {
        let named = |tool: &String| tool == "*" || is_same_tool(tool, &event.tool);
        self.events.contains(&event.kind) && (self.tools.is_empty() || self.tools.iter().any(named))
    }

    /// Whether it holds at all.
    pub(crate) fn is_on(&self) -> bool {
        self.action > Verdict::Off && self.standing == GuardHealth::Alive
    }

    /// The changes at its paths.
    pub(crate) fn concerned<'e>(
        &'e self,
        effects: &'e Effects,
    ) -> impl Iterator<Item = &'e FileChange> {
        effects
            .changes
            .iter()
            .filter(|change| change.extent != ChangeExtent::Uncommitted && self.is_at(change))
    }

    fn is_at(&self, change: &FileChange) -> bool {
        match change.extent {
            ChangeExtent::File => {
                self.paths.matches(&change.path) && !self.except.matches(&change.path)
            }
            ChangeExtent::Tree | ChangeExtent::Uncommitted => self.paths.match_below(&change.path),
        }
    }

    /// Answers by its paths and conditions.
    pub(crate) fn declared(&self, event: &GuardEvent, effects: &Effects) -> GuardAnswer {
        if !self.when.actors.is_empty() && !self.when.actors.iter().any(|actor| actor.is(event)) {
            return GuardAnswer::silent("it does not apply to this agent");
        }
        let run = match self.when.commands.as_slice() {
            [] => None,
            wanted => match effects
                .commands
                .iter()
                .find(|run| wanted.iter().any(|wanted| runs(&run.words, wanted)))
            {
                Some(run) => Some(run.words.join(" ")),
                None => return GuardAnswer::silent("no matching command is run"),
            },
        };
        if self.paths.is_empty() && !self.when.has_contents() {
            let what = run.map_or_else(
                || format!("`{}`", event.tool),
                |run| format!("`{}`", twining_model::text::excerpt(&run, 80)),
            );
            return GuardAnswer::of_call(self.action, format!("{what} would run"));
        }
        // A rule about a place is about changing it, unless it names a tool that reads.
        if !self.tools.is_empty()
            && !self.when.has_contents()
            && let Some(path) = effects
                .reads
                .iter()
                .find(|path| self.paths.matches(path) && !self.except.matches(path))
        {
            return GuardAnswer::about(self.action, path, format!("`{path}` would be read"));
        }
        let changes =
            effects.changes.iter().filter(|change| change.extent != ChangeExtent::Uncommitted);
        let concerned = changes.filter(|change| self.paths.is_empty() || self.is_at(change));
        GuardAnswer::strictest(concerned.filter_map(|change| self.of_change(change)))
            .unwrap_or_else(|| GuardAnswer::silent("nothing it watches changes"))
    }

    fn of_change(&self, change: &FileChange) -> Option<GuardAnswer> {
        if !change.changes_something() {
            return None;
        }
        let mut level = self.action;
        if self.when.has_contents() {
            match &*change.content {
                NewContent::Text { before, after } => {
                    let (before, after) = (
                        before.as_deref().unwrap_or_default(),
                        after.as_deref().unwrap_or_default(),
                    );
                    let comes = |text: &String| {
                        after.contains(text.as_str()) && !before.contains(text.as_str())
                    };
                    let goes = |text: &String| {
                        before.contains(text.as_str()) && !after.contains(text.as_str())
                    };
                    if !self.when.adds.iter().any(comes) && !self.when.removes.iter().any(goes) {
                        return None;
                    }
                }
                // What comes in is not known; a rule about contents can only wonder.
                NewContent::Unknown(_) if self.paths.is_empty() => return None,
                NewContent::Unknown(_) => level = level.min(Verdict::Warn),
            }
        }
        Some(GuardAnswer::of_change(level, change, ""))
    }
}

/// Whether a command is the wanted one: the program, then the other words in any
/// place, clusters of short options by their letters.
fn runs(words: &[String], wanted: &[String]) -> bool {
    let (Some(program), Some((name, rest))) = (words.first(), wanted.split_first()) else {
        return false;
    };
    if program.rsplit('/').next() != Some(name.as_str()) {
        return false;
    }
    let cluster = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.len() > 1;
    rest.iter().all(|wanted| {
        words.iter().skip(1).any(|word| word == wanted)
            || (cluster(wanted)
                && wanted.chars().skip(1).all(|letter| {
                    words.iter().skip(1).any(|word| cluster(word) && word.contains(letter))
                }))
    })
}
