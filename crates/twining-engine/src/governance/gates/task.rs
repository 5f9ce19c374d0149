//! What a task is called and how hard it is: the many words in use, made few.

use twining_model::{InvalidInput, limits, text};

use crate::governance::policy::{GovernancePolicy, HARDEST, word};
use crate::words;

/// What to take a word for that no profile has. Never for something easier than
/// `feature`, unless the word is plainly another one for it.
const ALIASES: [(&str, &str); 5] = [
    ("feature", "implementation|enhancement|bug_fix|bugfix|fix|hotfix|refactor|refactoring|glue|wiring"),
    ("testing", "benchmark|test|tests"),
    ("documentation", "research|docs|doc"),
    ("scaffolding", "scaffold"),
    ("declarative", "config|configuration|dto"),
];

/// What every task is judged as when its word is not known.
const FALLBACK: &str = "feature";

/// A task's type and complexity, in known words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) task_type: String,
    pub(crate) complexity: u8,
    /// What was taken for something else.
    pub(crate) notes: Vec<String>,
}

/// Reads a task's type and complexity as callers write them.
pub(crate) fn task(policy: &GovernancePolicy, task_type: &str, complexity: i64) -> Result<Task, InvalidInput> {
    let mut notes = Vec::new();
    text::bounded("task_type", task_type, limits::NAME_BYTES)?;
    let clamped = complexity.clamp(1, i64::from(HARDEST));
    if clamped != complexity {
        notes.push(format!("complexity {complexity} is taken as {clamped}; it runs from 1 to {HARDEST}"));
    }
    Ok(Task { task_type: known_type(policy, task_type, &mut notes), complexity: u8::try_from(clamped).unwrap_or(HARDEST), notes })
}

fn known_type(policy: &GovernancePolicy, given: &str, notes: &mut Vec<String>) -> String {
    let given = word(given);
    let is_known = |name: &str| policy.patch.gates.contains_key(name);
    if is_known(&given) {
        return given;
    }
    let alias = ALIASES.iter().find(|(_, words)| words.split('|').any(|word| word == given)).map(|(name, _)| *name);
    match alias {
        Some(name) if is_known(name) => name.to_owned(),
        _ if given.is_empty() => {
            notes.push(format!("no task type was given; the gates of `{FALLBACK}` hold"));
            FALLBACK.to_owned()
        }
        _ => {
            let known = words::some_names(policy.patch.gates.keys().map(String::as_str));
            let shown = text::excerpt(&given, 40);
            notes.push(format!("`{shown}` is no known task type; the gates of `{FALLBACK}` hold. Known are {known}"));
            FALLBACK.to_owned()
        }
    }
}
