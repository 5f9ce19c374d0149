//! What a session is held to when it ends: notes kept from call to call, and at
//! most two refusals for the same reason.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use twining_model::Time;

use crate::guards::builtin::{CODERS, OWN_LIST};
use crate::guards::event::{Action, Event};
use crate::guards::features;
use crate::guards::judge::Guards;
use crate::guards::seams::{Evidence, NoEvidence};
use crate::guards::shell;

/// Refusals for one reason before the agent is let go.
const MOST_HOLDS: u32 = 2;
/// Reasons a session's notes remember.
const MOST_REASONS: usize = 256;
/// Agents of a session that are followed.
const MOST_AGENTS: usize = 256;
/// Files an agent wrote that are remembered by name.
const MOST_WROTE: usize = 64;
/// Lists that are followed.
const MOST_LISTS: usize = 16;
/// Bytes of a text that is kept to be compared.
const MOST_TEXT: usize = 256 * 1024;

/// What hooks remember of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// When it was first heard of.
    pub began: Option<Time>,
    /// How often each reason held it.
    pub held: BTreeMap<String, u32>,
    /// Changes made, by agent; the main agent is the empty name.
    pub changes: BTreeMap<String, u64>,
    /// Whether a tool's end was ever told; else nothing is known of changes.
    pub hears_tools: bool,
    /// Files a person was asked about; what they allow is accepted.
    pub asked: BTreeSet<String>,
    /// Steps of the feature loop it was sent on to.
    pub steps: u32,
    /// Warnings it was told.
    pub told: BTreeSet<String>,
    /// Subagents whose beginning was told, and when.
    pub started: BTreeMap<String, Time>,
    /// Agents that ran commands of which nobody can tell what they changed.
    pub ran: BTreeSet<String>,
    /// Files that agents wrote with tools that name them.
    pub wrote: BTreeMap<String, BTreeSet<String>>,
    /// Agents that worked in the memory, where that is their work.
    pub worked: BTreeSet<String>,
    /// The compiled guards that were last found to be what they were made from.
    pub checked: Option<String>,
    /// Files that another claimed and a command of this session changed, by path.
    pub trespasses: BTreeMap<String, Trespass>,
}

/// A file that is another's to edit, and what a command made of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Trespass {
    /// Whose command; the main agent is the empty name.
    pub agent: String,
    /// Whether the file was there.
    pub was_there: bool,
    /// What tells its content then from any other, if it was read.
    pub before: Option<u64>,
    /// Whether that was what is committed.
    pub is_committed: bool,
    /// Whether git had the file when it was seen: then it is nobody's to remove.
    pub is_tracked: bool,
    /// The same of what the command left; none if it is gone or was not read.
    pub left: Option<u64>,
}

/// Protected files as they were when they were last accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Accepted {
    /// Feature lists, and what was in them.
    pub lists: BTreeMap<String, KnownList>,
    /// Policy and settings, whole.
    pub texts: BTreeMap<String, String>,
    /// The user's own policy, empty where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The hook by which git asked before a commit, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_hook: Option<String>,
    /// What files used that decisions and knowledge rule out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ruled: Option<Ruled>,
}

/// What was ruled out when a session was first heard of, and where it was used already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ruled {
    /// The commit that was checked out; empty where there was none.
    pub head: String,
    /// The newest commit of each branch.
    pub tips: Vec<String>,
    /// The rulings.
    pub rulings: BTreeSet<String>,
    /// Files that used what one rules out, and were not committed so.
    pub used: BTreeSet<(String, String)>,
}

/// What was in a feature list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnownList {
    /// Features that were tested.
    pub tested: BTreeSet<String>,
    /// Every feature.
    pub features: BTreeSet<String>,
    /// How far each was, in our own list; pending where it is not named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<BTreeMap<String, BTreeSet<String>>>,
    /// When it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

impl KnownList {
    /// What is in this list.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { tested: features::tested(text).unwrap_or_default(), features: features::listed(text), ..Self::default() }
    }

    /// The same of our own list, in which only reports move a feature.
    #[must_use]
    pub fn of_ours(text: &str) -> Self {
        Self { standing: features::standing(text), ..Self::of(text) }
    }

    /// Takes what features may be in another list, too.
    pub fn or(&mut self, other: &Self) {
        self.standing = match (&self.standing, &other.standing) {
            (Some(one), Some(other)) => Some(features::either(one, other)),
            _ => None,
        };
    }
}

impl Accepted {
    /// Where feature lists usually are.
    pub const LISTS: [&str; 6] = [
        ".twining/features.json",
        ".claude/progress/feature-list.json",
        ".claude/progress/feature_list.json",
        "feature-list.json",
        "feature_list.json",
        "features.json",
    ];
    /// The other files that are compared.
    pub const TEXTS: [&str; 7] = [
        ".twining/policy.yml",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".codex/hooks.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".cursor/hooks.json",
    ];

    /// Everything as it is now.
    #[must_use]
    pub fn now(read: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut accepted = Self::default();
        for path in Self::LISTS.iter().chain(&Self::TEXTS) {
            accepted.accept(path, read(path).as_deref());
        }
        accepted
    }

    /// Policy and settings as they are now.
    #[must_use]
    pub fn of_texts(read: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut accepted = Self::default();
        for path in Self::TEXTS {
            accepted.accept(path, read(path).as_deref());
        }
        accepted
    }

    /// Takes one file as it is now.
    pub fn accept(&mut self, path: &str, text: Option<&str>) {
        let is_text = Self::TEXTS.contains(&path);
        match text {
            None => {
                self.lists.remove(path);
                self.texts.remove(path);
            }
            Some(text) if is_text && text.len() <= MOST_TEXT => drop(self.texts.insert(path.to_owned(), text.to_owned())),
            Some(text) if !is_text && self.lists.len() < MOST_LISTS => {
                let list = if path == OWN_LIST { KnownList::of_ours(text) } else { KnownList::of(text) };
                self.lists.insert(path.to_owned(), list);
            }
            Some(_) => {}
        }
    }

    /// What slipped in since, and how to undo it.
    #[must_use]
    pub fn slipped(&self, guards: &Guards, read: &dyn Fn(&str) -> Option<String>, evidence: &dyn Evidence) -> Vec<String> {
        let lists = self.slipped_lists(guards, read, evidence).into_iter().map(|(_, why)| why);
        self.slipped_texts(guards, read).into_iter().chain(lists).collect()
    }

    /// The same of policy and settings alone.
    #[must_use]
    pub fn slipped_texts(&self, guards: &Guards, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        let texts = Self::TEXTS.iter().filter_map(|path| {
            let before = self.texts.get(*path).map(String::as_str).unwrap_or_default();
            let why = guards.slipped(path, before, read(path).as_deref(), &NoEvidence)?;
            Some(format!("{why}. {}; or have a person change it", undo(path)))
        });
        texts.collect()
    }

    /// The same of feature lists alone, each with its path.
    #[must_use]
    pub fn slipped_lists(&self, guards: &Guards, read: &dyn Fn(&str) -> Option<String>, evidence: &dyn Evidence) -> Vec<(String, String)> {
        let paths: BTreeSet<&str> = Self::LISTS.iter().copied().chain(self.lists.keys().map(String::as_str)).collect();
        let slipped = paths.into_iter().filter_map(|path| {
            let none = KnownList::default();
            let known = self.lists.get(path).unwrap_or(&none);
            let after = read(path);
            let before = serde_json::json!({ "tested": known.tested }).to_string();
            let why = match guards.slipped(path, &before, after.as_deref(), evidence) {
                Some(why) => format!("{why}. {}; or record a run of the tests with twining_report", undo(path)),
                None => match guards.lost(path, &known.features, after.as_deref()) {
                    Some(why) => format!("{why}. {}; or a person accepts it with `twining guard accept`", undo(path)),
                    None => format!(
                        "{}. {}; or say it with twining_report, or have a person accept it with `twining guard accept`",
                        guards.moved(path, known, after.as_deref(), evidence)?,
                        undo(path)
                    ),
                },
            };
            Some((path.to_owned(), why))
        });
        slipped.collect()
    }
}

fn undo(path: &str) -> String {
    if path == ".twining/features.json" {
        // Agents are kept from it, with git too.
        return format!(
            "Undo it: `git diff {path}` shows it, twining_features puts a feature back, and a person may say `git restore {path}`"
        );
    }
    format!("Undo it: `git diff {path}` shows it, `git restore {path}` takes back what is not committed")
}

/// Whether an agent may return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// It may.
    Freely,
    /// It is held, for this reason.
    Held(String),
    /// It was held often enough; the reason becomes a question.
    LetGo(String),
}

/// What an agent may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing: it used no tool that could.
    Nothing,
    /// These files.
    Files(BTreeSet<String>),
    /// Whatever there is: it ran commands.
    Anything,
}

/// Whether an agent acts that is sent to change files.
#[must_use]
pub fn is_coder(event: &Event) -> bool {
    let kind = event.agent_type.as_deref().unwrap_or_default().to_lowercase();
    CODERS.iter().any(|name| kind.rsplit(':').next() == Some(name))
}

/// Whether the worker that `init` installs acts.
fn is_worker(event: &Event) -> bool {
    event.agent_type.as_deref().is_some_and(|kind| kind.to_lowercase().rsplit(':').next() == Some("twining-worker"))
}

/// Whether a call is work in the memory: one that does any work may well do it there alone.
fn is_memory_work(event: &Event) -> bool {
    let verbs = ["twining_post", "twining_decide", "twining_report"];
    event.action == Action::Nothing && is_worker(event) && verbs.iter().any(|verb| event.tool.ends_with(verb))
}

impl Notes {
    /// Remembers that a subagent began.
    pub fn subagent_began(&mut self, event: &Event, now: Time) {
        // A session that starts endless agents is not followed into each.
        if self.started.len() < MOST_AGENTS {
            self.started.extend(event.agent_id.clone().map(|agent| (agent, now)));
        }
    }

    /// Remembers that a tool failed; a script may have done its work before it did.
    pub fn tool_failed(&mut self, event: &Event) {
        self.hears_tools = true;
        if matches!(event.action, Action::Shell(_)) && self.ran.len() < MOST_AGENTS {
            self.ran.extend(event.agent_id.clone());
        }
    }

    /// Remembers what a tool did, and to which file if it names one.
    pub fn tool_ran(&mut self, event: &Event, file: Option<String>) {
        self.tool_failed(event);
        let agent = event.agent_id.clone().unwrap_or_default();
        if let Some(file) = file.filter(|_| self.wrote.len() < MOST_AGENTS || self.wrote.contains_key(&agent)) {
            let wrote = self.wrote.entry(agent.clone()).or_default();
            wrote.insert(file);
            if wrote.len() > MOST_WROTE {
                // Too many to ask after each: whatever changed may be its work.
                self.wrote.remove(&agent);
                self.ran.insert(agent.clone());
            }
        } else if matches!(event.action, Action::Patch(_) | Action::Cell { .. } | Action::Touches(_)) && self.ran.len() < MOST_AGENTS {
            self.ran.insert(agent.clone());
        }
        if is_memory_work(event) && self.worked.len() < MOST_AGENTS {
            self.worked.insert(agent.clone());
        }
        let changes = match &event.action {
            Action::Nothing => is_memory_work(event),
            Action::Read(_) | Action::ReadPart(_) | Action::ReadMany(_) => false,
            // A line that only looks changes nothing; any other may have.
            Action::Shell(line) => {
                shell::effects(line).map_or(true, |effects| effects.writes.iter().any(shell::ShellWrite::leaves_something))
            }
            _ => true,
        };
        if changes && self.changes.len() < MOST_AGENTS {
            *self.changes.entry(agent).or_default() += 1;
        }
    }

    /// Whether an agent that is sent to change files returns, and enough is known of
    /// it to say that it did not; in the words that would be said.
    #[must_use]
    pub fn owes_changes(&self, event: &Event) -> Option<String> {
        let kind = event.agent_type.as_deref()?.to_lowercase();
        let agent = event.agent_id.as_deref()?;
        // Where its beginning was told and no tool of its was, it used none.
        let is_known = self.hears_tools || self.started.contains_key(agent);
        (is_coder(event) && is_known && !self.worked.contains(agent)).then(|| format!("{kind} changed no file"))
    }

    /// Whether a coding agent returns with nothing done, by what its calls say.
    #[must_use]
    pub fn returns_empty(&self, event: &Event) -> Option<String> {
        let agent = event.agent_id.as_deref()?;
        self.owes_changes(event).filter(|_| !self.changes.contains_key(agent))
    }

    /// What an agent may have changed, by what its calls say.
    #[must_use]
    pub fn reach_of(&self, event: &Event) -> Reach {
        let agent = event.agent_id.as_deref().unwrap_or_default();
        match self.wrote.get(agent) {
            _ if self.ran.contains(agent) => Reach::Anything,
            Some(files) => Reach::Files(files.clone()),
            None if self.changes.contains_key(agent) => Reach::Anything,
            None => Reach::Nothing,
        }
    }

    /// Since when files may have changed that no line of an agent names: by a script, a
    /// patch, a generator. None if it ran no command.
    #[must_use]
    pub fn may_have_changed_since(&self, event: &Event) -> Option<Time> {
        let agent = event.agent_id.as_deref().filter(|agent| self.ran.contains(*agent))?;
        self.started.get(agent).copied().or(self.began)
    }

    /// What is known of a subagent that returns, in words.
    #[must_use]
    pub fn known_of(&self, event: &Event) -> String {
        let kind = event.agent_type.as_deref().unwrap_or("the agent");
        let agent = event.agent_id.as_deref().unwrap_or_default();
        match (self.returns_empty(event), self.changes.get(agent)) {
            (Some(why), _) => why,
            (None, Some(changes)) => format!("{kind} made {changes} changes"),
            (None, None) if self.hears_tools || self.started.contains_key(agent) => format!("{kind} is not sent to change files"),
            (None, None) => "nothing is known of what it did: neither its beginning nor a tool of its was told".to_owned(),
        }
    }

    /// Holds for a reason, unless it held for it twice, or the host says that
    /// the agent goes on because of us and nothing new came up. `whose` is the agent
    /// whose own doing it is; what is wrong with the project holds all of them together
    /// no more often than one.
    pub fn hold(&mut self, reason: &str, whose: Option<&str>, stop_hook_active: bool) -> Returned {
        let counted = whose.map_or_else(|| reason.to_owned(), |agent| format!("{agent}: {reason}"));
        // A session with endless reasons is not held for another.
        if self.held.len() >= MOST_REASONS && !self.held.contains_key(&counted) {
            return Returned::LetGo(reason.to_owned());
        }
        let held = self.held.entry(counted).or_default();
        if *held >= MOST_HOLDS || (stop_hook_active && *held > 0) {
            return Returned::LetGo(reason.to_owned());
        }
        *held += 1;
        Returned::Held(reason.to_owned())
    }
}
