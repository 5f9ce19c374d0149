//! What a session is held to when it ends: notes kept from call to call, and at
//! most two refusals for the same reason.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::guards::builtin::CODERS;
use crate::guards::event::{Action, Event};
use crate::guards::features;
use crate::guards::judge::untested;
use crate::guards::seams::Evidence;
use crate::guards::shell;

/// Refusals for one reason before the agent is let go.
const MOST_HOLDS: u32 = 2;
/// Lists a session's notes follow.
const MOST_LISTS: usize = 16;

/// What hooks remember of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// How often each reason held it.
    pub held: BTreeMap<String, u32>,
    /// Feature lists, and which of their features were tested when last accepted.
    pub accepted: BTreeMap<String, BTreeSet<String>>,
    /// Changes made, by agent; the main agent is the empty name.
    pub changes: BTreeMap<String, u64>,
    /// Whether a tool's end was ever told; else nothing is known of changes.
    pub hears_tools: bool,
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

impl Notes {
    /// Remembers a list as it is when first seen.
    pub fn accept(&mut self, path: &str, text: &str) {
        if !self.accepted.contains_key(path) && self.accepted.len() < MOST_LISTS {
            self.accepted.insert(path.to_owned(), features::tested(text).unwrap_or_default());
        }
    }

    /// Remembers what a tool did.
    pub fn tool_ran(&mut self, event: &Event) {
        self.hears_tools = true;
        let changes = match &event.action {
            Action::Nothing | Action::Read(_) => false,
            // A line that only looks changes nothing; any other may have.
            Action::Shell(line) => shell::effects(line).map_or(true, |effects| !effects.writes.is_empty()),
            _ => true,
        };
        if changes && self.changes.len() < 256 {
            *self.changes.entry(event.agent_id.clone().unwrap_or_default()).or_default() += 1;
        }
    }

    /// What has slipped into the lists since they were accepted.
    #[must_use]
    pub fn slipped(&self, read: &dyn Fn(&str) -> Option<String>, evidence: &dyn Evidence) -> Option<String> {
        self.accepted.iter().find_map(|(path, tested)| {
            let known = serde_json::json!({ "tested": tested }).to_string();
            let why = untested(&known, &read(path)?, evidence)?;
            Some(format!(
                "`{path}` was changed: {why}. Undo it (`git diff {path}` shows it), or record a run of the tests with twining_report"
            ))
        })
    }

    /// Whether a coding agent returns with nothing done.
    #[must_use]
    pub fn returns_empty(&self, event: &Event) -> Option<String> {
        let kind = event.agent_type.as_deref()?.to_lowercase();
        let agent = event.agent_id.as_deref()?;
        let codes = CODERS.iter().any(|name| kind.rsplit(':').next() == Some(name));
        (codes && self.hears_tools && !self.changes.contains_key(agent)).then(|| format!("{kind} changed no file"))
    }

    /// Holds for a reason, unless it held for it twice, or the host says that
    /// the agent goes on because of us and nothing new came up.
    pub fn hold(&mut self, reason: &str, stop_hook_active: bool) -> Returned {
        let held = self.held.entry(reason.to_owned()).or_default();
        if *held >= MOST_HOLDS || (stop_hook_active && *held > 0) {
            return Returned::LetGo(reason.to_owned());
        }
        *held += 1;
        Returned::Held(reason.to_owned())
    }
}
