//! Records that git took away: a branch from before the link tracks them still, and whoever leaves
//! it has the files removed. The log has them all, and is followed again.

use serde::{Deserialize, Serialize};
use twining_store::{Delivery, Log, Store, StoreError};

/// The note that the log is to be followed again whatever the counts say, in `local/`.
const FOLLOW_AGAIN: &str = "shared-follow-again";
/// The note in `local/`.
const NOTE: &str = "shared-records";
/// Lines that are asked for at once.
const LINES: usize = 1024;

/// How many records the folder had after the last exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ExchangedCounts {
    entries: u64,
    decisions: u64,
    entities: u64,
    relations: u64,
    /// The size of the archive: entries that went there are not lost.
    #[serde(default)]
    archived_bytes: u64,
}

impl ExchangedCounts {
    fn of(store: &Store) -> Result<Self, StoreError> {
        let counts = store.view(|view| view.counts())?;
        Ok(Self {
            entries: counts.entries,
            decisions: counts.active + counts.provisional + counts.superseded + counts.overridden,
            entities: counts.entities,
            relations: counts.relations,
            archived_bytes: archived_bytes(store),
        })
    }

    fn is_less_than(&self, other: &Self) -> bool {
        (self.entries < other.entries && self.archived_bytes == other.archived_bytes)
            || self.decisions < other.decisions
            || self.entities < other.entities
            || self.relations < other.relations
    }
}

fn archived_bytes(store: &Store) -> u64 {
    let folder = store.location().project.join(".twining/archive");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}

/// Whether the folder has fewer records than after the last exchange. What was pruned from the graph
/// since is taken for lost too: following again brings nothing back that the log removed.
pub(super) fn has_lost_records(store: &Store) -> Result<bool, StoreError> {
    let before: Option<ExchangedCounts> = store.local_state().read_json(NOTE);
    match before {
        Some(before) => Ok(ExchangedCounts::of(store)?.is_less_than(&before)),
        None => Ok(false),
    }
}

/// With the next exchange the log is followed again from its first line.
pub(super) fn follow_again_next(store: &Store) {
    store.local_state().write_json(FOLLOW_AGAIN, &true);
}

/// Follows the log again from its first line if the folder lost records, or that was asked for;
/// whether it lost any, and what was sent.
pub(super) fn follow_again_if_lost(
    store: &Store,
    log: &dyn Log,
) -> Result<(bool, Delivery), StoreError> {
    let is_lost = has_lost_records(store)?;
    let is_asked_for = store.local_state().read_json(FOLLOW_AGAIN) == Some(true);
    if !is_lost && !is_asked_for {
        return Ok((false, Delivery::default()));
    }
    // First, so that what was written meanwhile comes back with the rest.
    let delivery = store.outbox().deliver(log)?;
    store.follower().restart()?;
    loop {
        let lines = log.since(store.follower().position()?, LINES)?;
        if lines.is_empty() {
            if is_asked_for {
                store.local_state().write_json(FOLLOW_AGAIN, &false);
            }
            return Ok((is_lost, delivery));
        }
        store.follower().take_in_beside_own(&lines)?;
    }
}

/// Remembers how many records there are, after an exchange.
pub(super) fn remember_counts(store: &Store) -> Result<(), StoreError> {
    let now = ExchangedCounts::of(store)?;
    if store.local_state().read_json(NOTE) != Some(now) {
        // Without the note, nothing is noticed; nothing else depends on it.
        store.local_state().write_json(NOTE, &now);
    }
    Ok(())
}
