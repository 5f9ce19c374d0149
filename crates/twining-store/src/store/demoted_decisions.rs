//! Decisions that this folder had in force and that the log took in as provisional: others had
//! decided differently meanwhile. Whoever exchanges lines leaves their ids in `local/`, so that a
//! person is told of them also where another process did it.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;
use twining_model::{Change, Decision, DecisionStatus, Id};

use super::outbox::Outbox;
use super::project_store::Store;
use super::store_handle::OpenStore;
use crate::error::StoreError;
use crate::log::journal::LogLine;
use crate::log::outbox_file::OutboxLine;
use crate::merge::one_decision;

/// The note in `local/`.
const NOTE: &str = "shared-demoted";

impl Outbox<'_> {
    /// Decisions of this folder that the log made provisional; some may be settled since.
    #[must_use]
    pub fn demoted(&self) -> BTreeSet<Id> {
        self.0.local_state().read_json(NOTE).unwrap_or_default()
    }
}

impl Store {
    /// Remembers what these lines make provisional of what the folder has in force. Before they are
    /// taken in: a crash in between repeats it. The caller holds the write lock.
    pub(super) fn note_demoted(
        &self,
        store: &OpenStore,
        lines: &[&LogLine],
        waiting: &HashMap<Id, OutboxLine>,
    ) -> Result<(), StoreError> {
        let own = lines.iter().filter_map(|line| Some((waiting.get(&line.key)?, *line)));
        let found: Vec<Id> =
            own.flat_map(|(own, line)| demoted(&own.change, &line.change)).collect();
        if found.is_empty() {
            return Ok(());
        }
        let mut kept = BTreeSet::new();
        for id in self.outbox().demoted() {
            if store.status_of(&id)? == Some(DecisionStatus::Provisional) {
                kept.insert(id);
            }
        }
        kept.extend(found);
        self.local_state().write_json(NOTE, &kept);
        Ok(())
    }
}

impl OpenStore {
    fn status_of(&self, id: &Id) -> Result<Option<DecisionStatus>, StoreError> {
        let Some((_, bytes)) = self.files.decision(id)? else { return Ok(None) };
        Ok(serde_json::from_slice::<Decision>(&one_decision(&bytes)).ok().map(|one| one.status))
    }
}

/// What our line put in force, and the log did not.
fn demoted(ours: &Change, accepted: &Change) -> Vec<Id> {
    let decided = ours.decisions.iter().filter(|one| one.status == DecisionStatus::Active);
    let promoted = ours.amendments.iter().filter(|one| is_set_to(&one.set, "active"));
    let activated = decided.map(|one| &one.id).chain(promoted.map(|one| &one.id));
    let is_provisional = |id: &Id| {
        let made = accepted
            .decisions
            .iter()
            .any(|one| one.id == *id && one.status == DecisionStatus::Provisional);
        made || accepted
            .amendments
            .iter()
            .any(|one| one.id == *id && is_set_to(&one.set, "provisional"))
    };
    activated.filter(|id| is_provisional(id)).cloned().collect()
}

fn is_set_to(set: &serde_json::Map<String, Value>, status: &str) -> bool {
    set.get("status").is_some_and(|value| *value == status)
}
