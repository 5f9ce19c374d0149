//! Following a log that others write too.
//!
//! Lines are taken in under the write lock, many as one line of the journal that also
//! says how far the log was followed: a crash in between repeats them and doubles none.
//! The lock is never held while the log is asked.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use twining_model::{Change, Entity, Id, Relation, Time};

use super::journaled_writer::{PlannedChange, StoreWriter};
use super::project_store::{Durability, PlanBase, Store, planned};
use super::store_handle::OpenStore;
use crate::error::{LogError, StoreError};
use crate::log::journal::{Log, LogBase, LogLine, NewLine};

/// Lines that are asked for at once.
const BATCH: usize = 1024;
/// How often a plan is retried because others were quicker.
const TRIES: usize = 16;

/// What the folder has of its log.
#[derive(Clone, Copy, Debug)]
pub struct LogFollower<'s>(&'s Store);

impl Store {
    /// From now on the folder follows this log, and what is written goes there first.
    pub fn use_log(&self, log: Arc<dyn Log>) {
        // The first log stays.
        let _ = self.log.set(log);
    }

    /// What the folder has of its log.
    #[must_use]
    pub fn follower(&self) -> LogFollower<'_> {
        LogFollower(self)
    }

    fn follow_to_end(&self, own: &HashSet<Id>) -> Result<(), StoreError> {
        let Some(log) = self.log.get() else { return Ok(()) };
        loop {
            let lines = log.since(self.follower().position()?, BATCH)?;
            if lines.is_empty() {
                return Ok(());
            }
            self.take_in(&lines, own)?;
        }
    }

    fn take_in(&self, lines: &[LogLine], own: &HashSet<Id>) -> Result<(), StoreError> {
        let store = self.open_for_writing()?;
        let guard = store.lock.acquire()?;
        let now = self.ids().now();
        let mut writer = StoreWriter::recovered(&store, guard, now)?;
        let followed = writer.state.followed_seq;
        let lines: Vec<&LogLine> = lines.iter().filter(|line| line.seq > followed).collect();
        // Archived entries must be on the board: such a line starts a batch.
        for batch in lines.chunk_by(|_, next| next.change.archived.is_empty()) {
            let Some(last) = batch.last() else { continue };
            let followed = writer.state.followed_seq;
            if last.seq != followed + batch.len() as u64 {
                let what = format!("the log skips from line {followed} to line {}", last.seq);
                return Err(StoreError::Damaged { what });
            }
            let change = self.merged_change(&store, batch, own, now)?;
            let followed = writer.journal_and_apply(change, None, Some(last.seq));
            // Also after a failure: what was rolled back moved the end of the board.
            writer.save_state()?;
            followed?;
        }
        self.work.add();
        Ok(())
    }

    /// Many lines as one change, without what the folder cannot carry out.
    fn merged_change(
        &self,
        store: &OpenStore,
        lines: &[&LogLine],
        own: &HashSet<Id>,
        now: Time,
    ) -> Result<PlannedChange, StoreError> {
        let mut change = join(lines, own);
        let made: BTreeSet<&Id> = change.decisions.iter().map(|decision| &decision.id).collect();
        let mut amendments = Vec::new();
        for amendment in &change.amendments {
            // Of a decision that this checkout does not have there is nothing to amend.
            if made.contains(&amendment.id)
                || store.files.decision_fingerprint(&amendment.id)?.is_some()
            {
                amendments.push(amendment.clone());
            }
        }
        change.amendments = amendments;
        if change.entities.is_empty() && change.relations.is_empty() {
            let new = change.decisions.iter().map(|decision| decision.id.to_string()).collect();
            return Ok(PlannedChange { change, new });
        }
        store.catch_up()?;
        store.with_view(now, |view| planned(view, change))
    }

    /// Writes through the log: plans without the lock, appends to the log, and follows it, our own
    /// line included. If others were quicker, it plans again.
    pub(super) fn commit_to_log<T, E: From<StoreError>>(
        &self,
        log: &dyn Log,
        durability: Durability,
        planned_on: PlanBase,
        mut plan: impl FnMut(Time) -> Result<(PlannedChange, T), E>,
    ) -> Result<T, E> {
        for _ in 0..TRIES {
            self.follower().catch_up()?;
            let base = if planned_on == PlanBase::View {
                LogBase::At(self.follower().position()?)
            } else {
                LogBase::Any
            };
            let (planned, outcome) = plan(self.ids().now())?;
            let (shared, local) = split(planned.change);
            if !shared.is_empty() {
                let line = NewLine { key: self.ids().next(), change: shared };
                match log.append(base, std::slice::from_ref(&line)) {
                    Ok(_) => self.follow_to_end(&HashSet::from([line.key]))?,
                    Err(LogError::Behind) => continue,
                    Err(error) => return Err(StoreError::from(error).into()),
                }
            }
            if !local.is_empty() {
                self.commit_locally::<_, E>(&*self.open_for_writing()?, durability, &mut |_| {
                    Ok((local.clone().into(), ()))
                })?;
            }
            return Ok(outcome);
        }
        Err(StoreError::from(LogError::Behind).into())
    }
}

impl LogFollower<'_> {
    /// The last line of the log that the folder has.
    pub fn position(&self) -> Result<u64, StoreError> {
        Ok(self
            .0
            .open_for_reading()?
            .map(|store| store.lock_state())
            .transpose()?
            .map_or(0, |state| state.followed_seq))
    }

    /// Takes in all that the log has and the folder has not.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        self.0.follow_to_end(&HashSet::new())
    }

    /// Takes in lines of the log; those that the folder has already are passed over.
    pub fn take_in(&self, lines: &[LogLine]) -> Result<(), StoreError> {
        self.0.take_in(lines, &HashSet::new())
    }
}

/// Splits a change into its shared part and that of this working tree and machine.
fn split(change: Change) -> (Change, Change) {
    let Change { documents, runs, claims, presence, .. } = change.clone();
    let local = Change { documents, runs, claims, presence, ..Change::default() };
    (
        Change { documents: Vec::new(), runs: Vec::new(), claims: None, presence: None, ..change },
        local,
    )
}

/// What lines do one after the other, done at once. Of the graph the last word counts.
fn join(lines: &[&LogLine], own: &HashSet<Id>) -> Change {
    let mut merged = Change::default();
    let (mut entities, mut relations) =
        (BTreeMap::<String, Option<Entity>>::new(), BTreeMap::<String, Option<Relation>>::new());
    for line in lines {
        let (change, _) = split(line.change.clone());
        let vouched =
            if own.contains(&line.key) { &mut merged.traces } else { &mut merged.imported_traces };
        vouched.extend(change.traces);
        merged.imported_traces.extend(change.imported_traces);
        merged.entries.extend(change.entries);
        merged.decisions.extend(change.decisions);
        merged.amendments.extend(change.amendments);
        merged.archived.extend(change.archived);
        merged.agents.extend(change.agents);
        merged.handoffs.extend(change.handoffs);
        merged.turns.extend(change.turns);
        entities
            .extend(change.entities.into_iter().map(|entity| (entity.id.clone(), Some(entity))));
        entities.extend(change.removed_entities.into_iter().map(|id| (id, None)));
        relations.extend(
            change.relations.into_iter().map(|relation| (relation.id.clone(), Some(relation))),
        );
        relations.extend(change.removed_relations.into_iter().map(|id| (id, None)));
    }
    merged.removed_entities =
        entities.iter().filter(|(_, entity)| entity.is_none()).map(|(id, _)| id.clone()).collect();
    merged.removed_relations = relations
        .iter()
        .filter(|(_, relation)| relation.is_none())
        .map(|(id, _)| id.clone())
        .collect();
    merged.entities = entities.into_values().flatten().collect();
    merged.relations = relations.into_values().flatten().collect();
    merged
}
