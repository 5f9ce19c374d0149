//! The outbox of a linked folder: what is sent to the log, once, and what came of it.
//!
//! A line enters with the change it belongs to, in one line of the journal. It is sent under one
//! key until the log answers, and it stays until the folder has followed past it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};
use twining_model::{Amendment, Change, Id, Time};

use super::file_writes::archived_ids_in;
use super::follow::LineOrigins;
use super::journaled_writer::{LineMarks, PlannedChange, StoreWriter};
use super::project_store::Store;
use super::store_handle::OpenStore;
use crate::disk::FileHandle;
use crate::disk::layout::{ANCHORS, BOARD, TRACES};
use crate::error::{LogError, StoreError};
use crate::format::torn_lines;
use crate::log::journal::{Log, LogLine, NewLine};
use crate::log::outbox_file::{OutboxLine, OutboxSignature, RefusedLine};
use crate::merge::one_decision;

/// What is sent at once.
const BATCH_LINES: usize = 500;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// A line over this size is refused here: the log would not take the request.
const LINE_BYTES: usize = 7 * 1024 * 1024;
/// What ends a disagreement with the log about a decision.
const TAKE_BACK: &str = "`twining sync drop --all` takes back here what the log refused; or ask somebody whose token has the role `maintainer`, and run `twining sync retry` with such a token";
/// Why a decision is out of force that the log refused together with a change of another.
const GIVEN_UP: &str = "given up: the team's log refused it";
/// The lock of whoever exchanges lines for this folder, in `local/`.
const SYNC_LOCK: &str = "sync.lock";
/// The lock of whoever exchanges claims for this folder.
const CLAIMS_LOCK: &str = "claims.lock";

/// The outbox of a folder.
#[derive(Clone, Copy, Debug)]
pub struct Outbox<'s>(pub(super) &'s Store);

/// What waits in an outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboxState {
    /// Whether the folder is linked.
    pub is_linked: bool,
    /// Lines that the log has not accepted.
    pub waiting: usize,
    /// When the oldest of them was written.
    pub since: Option<Time>,
    /// Lines that the log refused.
    pub refused: usize,
    /// Whether there is an outbox of another folder, which is never sent.
    pub has_foreign: bool,
}

/// What came of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Lines that the log accepted.
    pub sent: usize,
    /// Lines that it refused.
    pub refused: usize,
}

/// Whoever has it exchanges lines for this folder. Dropping it lets go.
pub struct SyncLock(FileHandle);

impl Drop for SyncLock {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

impl Store {
    /// The outbox of the folder.
    #[must_use]
    pub fn outbox(&self) -> Outbox<'_> {
        Outbox(self)
    }

    /// Sends what waits, in order, and follows the log.
    pub(super) fn deliver_outbox(&self, log: &dyn Log) -> Result<Delivery, StoreError> {
        let mut delivery = Delivery::default();
        let mut limit = BATCH_LINES;
        loop {
            let batch = self.next_batch(limit)?;
            if batch.is_empty() {
                return Ok(delivery);
            }
            let lines: Vec<NewLine> = batch
                .iter()
                .map(|line| NewLine { key: line.key.clone(), change: line.change.clone() })
                .collect();
            let answer = if batch.len() == 1 && size_of_line(&batch[0])? > LINE_BYTES {
                Err(LogError::Refused("the change is too large for one line".to_owned()))
            } else {
                log.admit(&lines)
            };
            match answer {
                Ok(numbers) => {
                    self.accept(&batch, &numbers)?;
                    delivery.sent += batch.len();
                    limit = BATCH_LINES;
                    // Before more is sent: what the log made of these may concern the rest.
                    self.follow_to_end(log, &HashSet::new())?;
                }
                Err(LogError::Refused(reason)) if batch.len() == 1 => {
                    self.set_aside(&batch[0], reason)?;
                    delivery.refused += 1;
                }
                // One of them is the reason: one at a time.
                Err(LogError::Refused(_)) => limit = 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The oldest lines that the log has not accepted.
    fn next_batch(&self, limit: usize) -> Result<Vec<OutboxLine>, StoreError> {
        let mut batch = self.outbox().lines()?;
        batch.retain(|line| line.accepted.is_none());
        batch.truncate(limit);
        let mut bytes = 0;
        for (at, line) in batch.iter().enumerate() {
            bytes += size_of_line(line)?;
            if bytes > BATCH_BYTES && at > 0 {
                batch.truncate(at);
                break;
            }
        }
        Ok(batch)
    }

    /// Writes what the files lack of a line.
    fn write_back(
        &self,
        store: &OpenStore,
        writer: &mut StoreWriter<'_>,
        line: OutboxLine,
    ) -> Result<(), StoreError> {
        let mut line = LogLine { seq: 0, key: line.key, change: line.change };
        let mut missing = Vec::new();
        for decision in std::mem::take(&mut line.change.decisions) {
            if store.files.decision_fingerprint(&decision.id)?.is_none() {
                missing.push(decision);
            }
        }
        line.change.decisions = missing;
        for amendment in &mut line.change.amendments {
            if let Some(here) = store.decision_fields(&amendment.id)? {
                leave_to_others(amendment, &here);
            }
        }
        let (origins, now) = (LineOrigins::beside_own(), self.ids().now());
        let change = self.merged_change(store, &[&line], &origins, &[], now)?;
        self.write_here(writer, change)
    }

    /// Writes what is sent nowhere.
    fn write_here(
        &self,
        writer: &mut StoreWriter<'_>,
        change: PlannedChange,
    ) -> Result<(), StoreError> {
        if change.change.is_empty() {
            return Ok(());
        }
        let done = writer.journal_and_apply(change, LineMarks::default());
        // Also after a failure: what was rolled back moved the end of the board.
        writer.save_state()?;
        self.work.add();
        done
    }

    fn accept(&self, lines: &[OutboxLine], numbers: &[u64]) -> Result<(), StoreError> {
        if numbers.len() != lines.len() {
            let what = format!("the log answered {} lines of {}", numbers.len(), lines.len());
            return Err(StoreError::Damaged { what });
        }
        let store = self.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        let accepted: Vec<(Id, u64)> =
            lines.iter().map(|line| line.key.clone()).zip(numbers.iter().copied()).collect();
        store.outbox.accept(&accepted)
    }

    fn set_aside(&self, line: &OutboxLine, reason: String) -> Result<(), StoreError> {
        let store = self.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        store.outbox.set_aside(RefusedLine { line: line.clone(), reason })?;
        let followed = store.lock_state()?.followed_seq;
        let mut remaining = store.outbox.load(followed)?;
        remaining.retain(|other| other.key != line.key);
        store.outbox.rewrite(&remaining)
    }
}

impl Outbox<'_> {
    /// Makes the outbox: from now on what is written here goes to a log too.
    pub fn create(&self) -> Result<(), StoreError> {
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        store.outbox.create()
    }

    /// From now on records are signed as the log signs them.
    pub fn sign_as(&self, signature: OutboxSignature) -> Result<(), StoreError> {
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        let lines = store.outbox.load(store.lock_state()?.followed_seq)?;
        store.outbox.rewrite_signed(&lines, Some(signature))
    }

    /// How the log signs what this folder sends, if it is linked and that is known.
    pub fn signature(&self) -> Result<Option<OutboxSignature>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        Ok(store.outbox.head()?.and_then(|head| head.signature))
    }

    /// Takes the outbox away. What waits in it and what the log refused is in the files then, also
    /// if git replaced them: no log has it.
    pub fn remove(&self) -> Result<(), StoreError> {
        let Some(_) = self.0.open_for_reading()? else { return Ok(()) };
        let store = self.0.open_for_writing()?;
        let guard = store.lock.acquire()?;
        let mut writer = StoreWriter::recovered(&store, guard, self.0.ids().now())?;
        let mut unsent = store.outbox.load(writer.state.followed_seq)?;
        unsent.retain(|line| line.accepted.is_none());
        unsent.extend(store.outbox.refused()?.into_iter().map(new_records_of));
        for line in unsent {
            self.0.write_back(&store, &mut writer, line)?;
        }
        store.outbox.remove()
    }

    /// Whether the folder is linked: it has an outbox of its own.
    pub fn is_linked(&self) -> Result<bool, StoreError> {
        self.0.open_for_reading()?.map_or(Ok(false), |store| Ok(store.outbox.seal()?.is_some()))
    }

    /// What waits.
    pub fn state(&self) -> Result<OutboxState, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(OutboxState::default()) };
        let waiting: Vec<OutboxLine> =
            self.lines()?.into_iter().filter(|line| line.accepted.is_none()).collect();
        Ok(OutboxState {
            is_linked: store.outbox.seal()?.is_some(),
            waiting: waiting.len(),
            since: waiting.first().map(|line| line.at),
            refused: store.outbox.refused()?.len(),
            has_foreign: store.outbox.is_foreign()?,
        })
    }

    /// The lines that are not followed yet, oldest first.
    pub fn lines(&self) -> Result<Vec<OutboxLine>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(Vec::new()) };
        store.outbox.load(store.lock_state()?.followed_seq)
    }

    /// What the log refused, oldest first.
    pub fn refused(&self) -> Result<Vec<RefusedLine>, StoreError> {
        self.0.open_for_reading()?.map_or_else(|| Ok(Vec::new()), |store| store.outbox.refused())
    }

    /// Whether a line waits for the log.
    pub fn has_waiting(&self) -> Result<bool, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(false) };
        // Mostly the write of this very call; the file may be long after weeks without the log.
        if store.outbox.ends_with_waiting()? {
            return Ok(true);
        }
        Ok(self.lines()?.iter().any(|line| line.accepted.is_none()))
    }

    /// Lets refused lines wait again, under their keys, and returns how many; the log has none of
    /// them. An empty list means all.
    pub fn retry_refused(&self, keys: &[Id]) -> Result<usize, StoreError> {
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        if store.outbox.seal()?.is_none() {
            return Ok(0);
        }
        let (taken, kept) = chosen(store.outbox.refused()?, keys);
        let lines: Vec<OutboxLine> = taken.into_iter().map(|refused| refused.line).collect();
        // Killed in between, a line is in both files: it is sent under one key, so it counts once.
        store.outbox.add(&lines)?;
        store.outbox.sync()?;
        store.outbox.rewrite_refused(&kept)?;
        Ok(lines.len())
    }

    /// Forgets refused lines for a person, and returns how many. What they changed of decisions is taken back;
    /// other records of theirs stay in this folder alone. An empty list means all.
    pub fn drop_refused(&self, keys: &[Id]) -> Result<usize, StoreError> {
        let store = self.0.open_for_writing()?;
        let guard = store.lock.acquire()?;
        let mut writer = StoreWriter::recovered(&store, guard, self.0.ids().now())?;
        let (dropped, kept) = chosen(store.outbox.refused()?, keys);
        for refused in dropped.iter().rev() {
            let back = store.back_from(&refused.line.change)?;
            self.0.write_here(&mut writer, back.into())?;
        }
        store.outbox.rewrite_refused(&kept)?;
        Ok(dropped.len())
    }

    /// Fails if the log refused a change of one of these decisions that this folder still shows.
    pub fn check_not_refused(&self, decisions: &[Id]) -> Result<(), StoreError> {
        for one in self.refused()? {
            let amended = one.line.change.amendments.iter().map(|amendment| &amendment.id);
            if let Some(id) = amended.into_iter().find(|id| decisions.contains(id)) {
                let why =
                    format!("the team's log refused a change of {id} made here: {}", one.reason);
                return Err(LogError::Denied { why, hint: TAKE_BACK }.into());
            }
        }
        Ok(())
    }

    /// Adds lines for what the folder has already and the log has not.
    pub fn add(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        let at = self.0.ids().now();
        let lines: Vec<OutboxLine> = changes
            .into_iter()
            .map(|change| OutboxLine { key: self.0.ids().next(), at, change, accepted: None })
            .collect();
        store.outbox.add(&lines)
    }

    /// Sends what waits and follows the log, as far as it answers.
    pub fn deliver(&self, log: &dyn Log) -> Result<Delivery, StoreError> {
        self.0.deliver_outbox(log)
    }

    /// The lock of whoever exchanges lines for this folder; none if another process has it.
    pub fn sync_lock(&self) -> Result<Option<SyncLock>, StoreError> {
        self.lock_named(SYNC_LOCK)
    }

    /// The lock of whoever exchanges claims for this folder; none if another has it.
    pub fn claims_lock(&self) -> Result<Option<SyncLock>, StoreError> {
        self.lock_named(CLAIMS_LOCK)
    }

    fn lock_named(&self, name: &str) -> Result<Option<SyncLock>, StoreError> {
        let store = self.0.open_for_writing()?;
        let handle = store.layout.local.create_random_access(name)?;
        Ok(handle.try_lock()?.then(|| SyncLock(handle)))
    }
}

impl OpenStore {
    /// Takes lines that were followed out of the outbox. The caller holds the write lock.
    pub(super) fn settle_outbox(
        &self,
        lines: &[&LogLine],
        waiting: &mut HashMap<Id, OutboxLine>,
        followed: u64,
    ) -> Result<(), StoreError> {
        let mut settled = Vec::new();
        let mut renamed = BTreeMap::new();
        for line in lines {
            if let Some(own) = waiting.remove(&line.key) {
                renamed.extend(renamed_entities(&own.change, &line.change));
                settled.push((line.key.clone(), line.seq));
            }
        }
        if settled.is_empty() {
            return Ok(());
        }
        self.outbox.accept(&settled)?;
        if renamed.is_empty() {
            return self.outbox.compact(followed);
        }
        let mut remaining = self.outbox.load(followed)?;
        remaining.iter_mut().for_each(|line| rename_entities(&mut line.change, &renamed));
        self.outbox.rewrite(&remaining)
    }

    /// The fields of a decision that is in its file and can be read.
    pub(super) fn decision_fields(
        &self,
        id: &Id,
    ) -> Result<Option<Map<String, Value>>, StoreError> {
        let found = self.files.decision(id)?;
        Ok(found.and_then(|(_, bytes)| serde_json::from_slice(&one_decision(&bytes)).ok()))
    }

    /// What takes back what a change did to decisions, where nobody changed them since: the
    /// announcements of it are archived.
    fn back_from(&self, change: &Change) -> Result<Change, StoreError> {
        let mut back = Change::default();
        for amendment in change.amendments.iter().rev() {
            let Some(here) = self.decision_fields(&amendment.id)? else { continue };
            let is_ours = |(field, ours): (&String, &Value)| here.get(field) == Some(ours);
            if !amendment.set.iter().all(is_ours) {
                // The team has settled it since.
                continue;
            }
            let before = |(field, ours): (&String, &Value)| {
                let none = if ours.is_array() { Value::Array(Vec::new()) } else { Value::Null };
                (field.clone(), amendment.was.get(field).cloned().unwrap_or(none))
            };
            let set = amendment.set.iter().map(before).collect();
            back.amendments.push(Amendment::new(amendment.id.clone(), set));
        }
        if back.amendments.is_empty() {
            return Ok(back);
        }
        // A decision that was to replace another would stand beside it.
        for made in &change.decisions {
            let set = json!({
                "status": "overridden", "override_reason": GIVEN_UP,
                "override_authority": "confirmed",
            });
            let set = set.as_object().cloned().unwrap_or_default();
            back.amendments.push(Amendment::new(made.id.clone(), set));
        }
        back.archived = change.entries.iter().map(|entry| entry.id.clone()).collect();
        Ok(back)
    }

    /// Which entries, traces and anchors of a change are in their files or in the archive.
    pub(super) fn present_ids(&self, change: &Change) -> Result<HashSet<String>, StoreError> {
        let entries = change.entries.iter().map(|entry| entry.id.clone());
        let traces = change.traces.iter().chain(&change.imported_traces);
        let anchors = change.anchors.iter().map(|anchor| anchor.id.clone());
        let wanted: HashSet<String> =
            entries.chain(traces.map(|trace| trace.id.clone())).chain(anchors).collect();
        let mut missing = wanted.clone();
        for name in [BOARD, TRACES, ANCHORS] {
            if let Some(file) = self.layout.top.open(name)?.filter(|_| !missing.is_empty()) {
                torn_lines::remove_present_ids(&file, &mut missing)?;
            }
        }
        if !missing.is_empty() {
            let archived = archived_ids_in(&self.layout)?;
            missing.retain(|id| !archived.contains(id));
        }
        Ok(wanted.difference(&missing).cloned().collect())
    }
}

/// The refused lines with these keys, or all, and the rest.
fn chosen(refused: Vec<RefusedLine>, keys: &[Id]) -> (Vec<RefusedLine>, Vec<RefusedLine>) {
    refused.into_iter().partition(|one| keys.is_empty() || keys.contains(&one.line.key))
}

/// What a refused line recorded anew. What it did to the team's records is the team's to decide.
fn new_records_of(refused: RefusedLine) -> OutboxLine {
    let mut line = refused.line;
    line.change.amendments.clear();
    line.change.archived.clear();
    line
}

/// Leaves out of an amendment what others changed since it was planned. Lists have what both say.
fn leave_to_others(amendment: &mut Amendment, here: &Map<String, Value>) {
    let was = &amendment.was;
    amendment.set.retain(|field, ours| match (here.get(field), ours.as_array_mut()) {
        (now, _) if now == was.get(field) => true,
        (Some(Value::Array(now)), Some(ours)) => {
            ours.retain(|element| !now.contains(element));
            ours.splice(0..0, now.iter().cloned());
            true
        }
        _ => false,
    });
}

/// The entities of our line that the log has under another id.
fn renamed_entities(ours: &Change, accepted: &Change) -> Vec<(String, String)> {
    let known_as = |id: &String| {
        let entity = ours.entities.iter().find(|entity| entity.id == *id)?;
        let is_same =
            |(name, kind): (&String, &String)| *name == entity.name && *kind == entity.kind;
        let known = accepted.entities.iter().find(|other| is_same((&other.name, &other.kind)))?;
        Some((id.clone(), known.id.clone()))
    };
    accepted.removed_entities.iter().filter_map(known_as).collect()
}

fn rename_entities(change: &mut Change, renamed: &BTreeMap<String, String>) {
    let rename = |id: &mut String| {
        if let Some(known) = renamed.get(id) {
            id.clone_from(known);
        }
    };
    change.entities.iter_mut().for_each(|entity| rename(&mut entity.id));
    change.removed_entities.iter_mut().for_each(rename);
    for relation in &mut change.relations {
        rename(&mut relation.source);
        rename(&mut relation.target);
    }
}

fn size_of_line(line: &OutboxLine) -> Result<usize, StoreError> {
    Ok(serde_json::to_vec(&line.change)?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_settled_stays_when_the_outbox_is_written_into_the_files() {
        let fields = |value: Value| value.as_object().cloned().unwrap_or_default();
        let mut amendment = Amendment {
            was: fields(json!({"status": "active", "commit_hashes": ["a"]})),
            ..Amendment::new(
                Id::from_parts(Time::from_ms(1), 1),
                fields(json!({
                    "status": "superseded", "superseded_by": "x", "commit_hashes": ["a", "b"],
                })),
            )
        };
        let here = fields(json!({"status": "overridden", "commit_hashes": ["a", "c"]}));
        leave_to_others(&mut amendment, &here);
        let expected = json!({"superseded_by": "x", "commit_hashes": ["a", "c", "b"]});
        assert_eq!(Value::Object(amendment.set), expected);
    }
}
