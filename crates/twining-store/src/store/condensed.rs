//! A stretch of a log in fewer and larger lines, for a folder that has a long way to follow: what
//! was replaced within the stretch is left out, and the folder ends up the same.

use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;

use twining_model::{Amendment, Change, Id};

use super::follow::{FollowedLine, LineOrigins, LogFollower, join};
use super::journaled_writer::{LineMarks, StoreWriter};
use crate::error::StoreError;
use crate::log::journal::{CondensedLines, LogLine};

/// Condenses lines of a log that follow each other.
#[must_use]
pub fn condense(lines: &[LogLine]) -> Option<CondensedLines> {
    let LogLine { seq: through, key, .. } = lines.last()?.clone();
    let lines: Vec<&LogLine> = lines.iter().collect();
    let mut change = join(&lines, &LineOrigins::default(), &[]);
    change.amendments = merged(change.amendments);
    change.handoffs = last_of_each(change.handoffs, |handoff| handoff.id.clone());
    change.turns =
        last_of_each(change.turns, |turn| (turn.feature.clone(), turn.task.clone(), turn.number));
    // Entries must be on the board before they are archived.
    let archived = std::mem::take(&mut change.archived);
    let mut changes = vec![change, Change { archived, ..Change::default() }];
    changes.retain(|change| !change.is_empty());
    Some(CondensedLines { through, key: Some(key), changes })
}

/// One amendment for each decision: of each field the last value.
fn merged(amendments: Vec<Amendment>) -> Vec<Amendment> {
    let mut places: BTreeMap<Id, usize> = BTreeMap::new();
    let mut merged: Vec<Amendment> = Vec::new();
    for amendment in amendments {
        match places.get(&amendment.id).and_then(|place| merged.get_mut(*place)) {
            Some(known) => known.set.extend(amendment.set),
            None => {
                places.insert(amendment.id.clone(), merged.len());
                merged.push(Amendment::new(amendment.id, amendment.set));
            }
        }
    }
    merged
}

/// Without what a later element of the same name replaces.
fn last_of_each<T, N: Eq + Hash>(elements: Vec<T>, name: impl Fn(&T) -> N) -> Vec<T> {
    let mut named = HashSet::new();
    let mut kept: Vec<T> =
        elements.into_iter().rev().filter(|element| named.insert(name(element))).collect();
    kept.reverse();
    kept
}

impl LogFollower<'_> {
    /// Takes in a stretch of the log that begins after the line `after`, which must be the last
    /// that the folder has. Does nothing and returns false where something waits to be sent: which
    /// of it the log has is seen by its lines only.
    pub fn take_in_condensed(
        &self,
        after: u64,
        condensed: CondensedLines,
    ) -> Result<bool, StoreError> {
        let CondensedLines { through, key, changes } = condensed;
        let store = self.0.open_for_writing()?;
        let guard = store.lock.acquire()?;
        let now = self.0.ids().now();
        let mut writer = StoreWriter::recovered(&store, guard, now)?;
        let followed = writer.state.followed_seq;
        if followed != after || through <= after || !store.outbox.load(followed)?.is_empty() {
            return Ok(false);
        }
        // After a crash in between the folder has some of it.
        let origins = LineOrigins::beside_own();
        let count = changes.len();
        for (at, change) in changes.into_iter().enumerate() {
            let line = LogLine { seq: through, key: self.0.ids().next(), change };
            let change = self.0.merged_change(&store, &[&line], &origins, &[], now)?;
            let is_last = at + 1 == count;
            let marks = LineMarks { followed: is_last.then_some(through), ..LineMarks::default() };
            let done = writer.journal_and_apply(change, marks);
            // Also after a failure: what was rolled back moved the end of the board.
            writer.save_state()?;
            done?;
        }
        if count == 0 {
            writer.state.followed_seq = through;
            writer.save_state()?;
        }
        if let Some(key) = key {
            self.note_last_line(&FollowedLine { seq: through, key });
        }
        self.0.work.add();
        Ok(true)
    }
}
