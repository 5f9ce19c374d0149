//! What decisions and knowledge rule out, looked for in whole files: for what was
//! written by a way that no tool call showed, at the end of a turn and at a commit.

use std::collections::BTreeSet;

use crate::guards::clause;
use crate::guards::judge::Guards;
use crate::guards::rule::{Guard, Kind, Level, Standing};

/// Something that a file uses although it is ruled out there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The guard that says so.
    pub guard: String,
    /// What it does about it.
    pub level: Level,
    /// What is used.
    pub item: String,
    /// What tells this ruling from any other, whichever record it stands in.
    pub ruling: String,
    /// The first line that uses it.
    pub line: usize,
    /// The record's own words.
    pub say: String,
    /// What to do instead.
    pub next_step: String,
}

impl Guards {
    /// Every ruling in force: what must not be used, and where.
    #[must_use]
    pub fn rulings(&self) -> BTreeSet<String> {
        self.ruling().flat_map(|guard| guard.when.adds.iter().map(|item| ruling(guard, item))).collect()
    }

    /// Whether anything is ruled out in a file.
    #[must_use]
    pub fn rules_out_in(&self, path: &str) -> bool {
        self.ruling().any(|guard| guard.paths.name(path))
    }

    /// What a file uses that is ruled out in it.
    #[must_use]
    pub fn uses(&self, path: &str, text: &str) -> Vec<Use> {
        let in_force = self.ruling().filter(|guard| guard.paths.name(path));
        let uses = in_force.flat_map(|guard| {
            guard.when.adds.iter().filter_map(|item| {
                Some(Use {
                    line: clause::line_of_use(item, text, path)?,
                    guard: guard.id.clone(),
                    level: guard.action,
                    item: item.clone(),
                    ruling: ruling(guard, item),
                    say: guard.say.clone(),
                    next_step: guard.next_step.clone(),
                })
            })
        });
        uses.collect()
    }

    fn ruling(&self) -> impl Iterator<Item = &Guard> {
        self.guards.iter().filter(|guard| guard.kind == Kind::Clause && guard.action > Level::Off && guard.standing == Standing::Alive)
    }
}

fn ruling(guard: &Guard, item: &str) -> String {
    format!("{item} in {}", guard.paths.globs().join(" "))
}
