//! What is done about the arrays off everybody's way: blanks are taken out, what could
//! not be written before is, and the list of decisions is gone over after others wrote it.
//!
//! The new file is made without the write lock and put in place under it, if
//! the old one is still the one it was made from. Doing it twice changes nothing.

use std::collections::BTreeSet;

use serde_json::json;
use twining_model::{Decision, Id, Time};

use super::store_handle::OpenStore;
use crate::disk::FileHandle;
use crate::disk::layout::ANCHORS;
use crate::error::StoreError;
use crate::format::array;
use crate::log::array_file::{EditedArray, ElementEdits};
use crate::log::board::RECENT_MS;
use crate::log::journal::{JournalLine, LineStamp};
use crate::log::lock::LockState;
use crate::log::store_files::{Array, StoreFiles};

/// Every array.
pub(super) const ARRAYS: [Array; 3] = [Array::Entities, Array::Relations, Array::DecisionIndex];
/// A journal over this size is shortened even if that costs a flush.
const JOURNAL_BYTES: u64 = 1024 * 1024;

/// Arrays over this size are rewritten when nobody has written to them for a moment.
const LARGE: u64 = 256 * 1024;
const QUIET_MS: i64 = 1000;

/// When to rewrite large arrays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RewriteTiming {
    /// At once.
    Now,
    /// When nobody has written for a moment: a concurrent writer waits for parts of the flush.
    Quiet,
}

/// Whether there is anything to do about the arrays.
pub(super) fn is_due(state: &LockState) -> bool {
    state.checkpoint_seq < state.applied_seq
        || ARRAYS.iter().any(|array| is_array_due(state, *array))
}

fn is_array_due(state: &LockState, array: Array) -> bool {
    let last_state = state.arrays[array as usize];
    last_state.is_some_and(|last_state| last_state.has_gaps || last_state.is_unchecked)
        || (array == Array::DecisionIndex && last_state.is_none() && state.applied_seq > 0)
}

/// One pass: arrays as they should be, and the journal shortened. Nothing happens if
/// another process is at it.
pub(super) fn run(store: &OpenStore, now: Time, when: RewriteTiming) -> Result<(), StoreError> {
    let Some(_lock) = store.checkpoint_lock.try_acquire()? else { return Ok(()) };
    let state = store.lock_state()?;
    let lines = store.journal.since(state.checkpoint_seq, state.applied_seq)?;
    let mut is_whole = !lines.is_empty();
    for array in ARRAYS {
        if lines.iter().any(|line| touches(line, array)) || is_array_due(&state, array) {
            is_whole &= (when == RewriteTiming::Now || !is_busy(store, array, now)?)
                && rewrite_array(store, &state, &lines, array)?;
        }
    }
    if is_whole {
        let guard = store.lock.acquire()?;
        LockState::update(guard.file(), |current| {
            current.checkpoint_seq = current.checkpoint_seq.max(state.applied_seq);
        })?;
    }
    trim_journal(store, now)
}

/// Whether a line changes what is in an array.
fn touches(line: &JournalLine, array: Array) -> bool {
    let change = &line.change;
    match array {
        Array::Entities => !change.entities.is_empty() || !change.removed_entities.is_empty(),
        Array::Relations => !change.relations.is_empty() || !change.removed_relations.is_empty(),
        Array::DecisionIndex => line.touched_decisions().next().is_some(),
    }
}

/// Whether somebody is writing, and the array is so large that it would be felt.
fn is_busy(store: &OpenStore, array: Array, now: Time) -> Result<bool, StoreError> {
    let written = store.files.array_fingerprint(array)?.filter(|print| print.size > LARGE);
    Ok(written.is_some_and(|print| now.as_ms() - print.mtime_ns / 1_000_000 < QUIET_MS))
}

/// Rewrites an array so that it contains all applied lines; returns whether it does. A damaged one
/// is left unchanged, and the journal keeps its lines.
fn rewrite_array(
    store: &OpenStore,
    state: &LockState,
    lines: &[JournalLine],
    which: Array,
) -> Result<bool, StoreError> {
    let (dir, name) = (which.dir(&store.layout), which.name());
    let current = store.files.array(which)?;
    let from = current.as_ref().map(|(print, _)| *print);
    // No file at all, as on a branch that never had one, is an empty array.
    let bytes = current.map_or_else(|| array::EMPTY_ARRAY.to_vec(), |(_, bytes)| bytes);
    let scanned = array::scan(&bytes);
    let known = state.arrays[which as usize].filter(|known| !known.is_unchecked);
    let is_as_recorded = from.is_some() && known.map(|known| known.to) == from;
    let edits = match which {
        // The list is derived: what it holds of decisions that are gone goes too.
        Array::DecisionIndex if !is_as_recorded || !scanned.unreadable.is_empty() => {
            // Somebody else wrote it, or nobody did: all there are.
            let names = store.files.list_decisions()?.decisions.into_iter().map(|(id, _)| id);
            listed_decisions(
                &store.files,
                names
                    .chain(lines.iter().flat_map(JournalLine::touched_decisions).cloned())
                    .collect(),
            )?
        }
        _ if !scanned.unreadable.is_empty() => return Ok(false),
        _ => edits_of(&store.files, lines, which)?,
    };
    let text = array::splice(&scanned, &edits.upserts, &edits.removed);
    let is_same = from.is_some() && text.as_bytes() == bytes;
    let staged = if is_same {
        None
    } else {
        Some(store.layout.stage(dir, text.as_bytes(), !store.is_cache)?)
    };
    let guard = store.lock.acquire()?;
    if store.files.array_fingerprint(which)? != from {
        return Ok(false);
    }
    // Before the file is in place: a reader that sees a new array and an old
    // record would take the array for somebody else's and read all of it.
    let to = staged.as_ref().map_or(from, |(_, print)| Some(*print)).unwrap_or_default();
    let edited = EditedArray { from, to, has_gaps: false, is_unchecked: false };
    LockState::update(guard.file(), |current| {
        current.set_array_state(which, edited, state.applied_seq);
    })?;
    // Kept open until the lock is gone: freeing a large file takes milliseconds.
    let replaced = dir.open(name);
    staged.map_or(Ok(()), |(staged, _)| staged.publish(dir, name))?;
    drop(guard);
    drop(replaced);
    Ok(true)
}

/// What journal lines do to an array.
pub(super) fn edits_of(
    files: &StoreFiles,
    lines: &[JournalLine],
    which: Array,
) -> Result<ElementEdits, StoreError> {
    let mut edits = ElementEdits::default();
    for JournalLine { change, .. } in lines {
        match which {
            Array::Entities => edits.add(
                change.entities.iter().map(|entity| (&entity.id, entity)),
                &change.removed_entities,
            )?,
            Array::Relations => edits.add(
                change.relations.iter().map(|relation| (&relation.id, relation)),
                &change.removed_relations,
            )?,
            Array::DecisionIndex => {
                return listed_decisions(
                    files,
                    lines.iter().flat_map(JournalLine::touched_decisions).cloned().collect(),
                );
            }
        }
    }
    Ok(edits)
}

fn listed_decisions(files: &StoreFiles, ids: BTreeSet<Id>) -> Result<ElementEdits, StoreError> {
    let mut made = ElementEdits::default();
    for id in ids {
        match files.decision(&id) {
            Ok(Some((_, bytes))) => {
                if let Ok(decision) = serde_json::from_slice::<Decision>(&bytes) {
                    made.upserts.insert(id.into(), listing(&decision).to_string());
                }
            }
            Ok(None) => drop(made.removed.insert(id.into())),
            // It is there and cannot be read: what is listed of it stays.
            Err(StoreError::Damaged { .. } | StoreError::Unsafe { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(made)
}

fn listing(decision: &Decision) -> serde_json::Value {
    json!({
        "id": decision.id, "timestamp": decision.timestamp, "domain": decision.domain, "scope": decision.scope,
        "summary": decision.summary, "confidence": decision.confidence, "status": decision.status,
        "affected_files": decision.affected_files, "affected_symbols": decision.affected_symbols,
        "commit_hashes": decision.commit_hashes,
    })
}

/// Drops journal lines that are in the files for good, once the files would
/// survive a power cut without them.
fn trim_journal(store: &OpenStore, now: Time) -> Result<(), StoreError> {
    let state = store.lock_state()?;
    sync_lines(store, &state, &store.journal.since(state.synced_seq, u64::MAX)?)?;
    let is_old = |line: &LineStamp| {
        line.seq <= state.checkpoint_seq && now.since(line.at).as_millis() as i64 > RECENT_MS
    };
    let is_all_old = store.journal.last()?.is_none_or(|last| is_old(&last));
    if !is_all_old && store.journal.bytes()? < JOURNAL_BYTES {
        return Ok(());
    }
    let guard = store.lock.acquire()?;
    let (old, remaining): (Vec<JournalLine>, Vec<JournalLine>) = store
        .journal
        .since(0, u64::MAX)?
        .into_iter()
        .partition(|line| is_old(&LineStamp::of(line)));
    let Some(dropped) = old.last().map(|line| line.seq) else { return Ok(()) };
    // Before they go: a reader that is not so far yet must not take what is left for all there was.
    LockState::update(guard.file(), |current| {
        current.dropped_seq = current.dropped_seq.max(dropped);
    })?;
    store.journal.rewrite(&store.layout, &remaining)
}

/// Flushes the files behind the lines that were not flushed yet, and says so.
fn sync_lines(
    store: &OpenStore,
    state: &LockState,
    lines: &[JournalLine],
) -> Result<(), StoreError> {
    let fresh: Vec<&JournalLine> = lines
        .iter()
        .filter(|line| line.seq > state.synced_seq && line.seq <= state.checkpoint_seq)
        .collect();
    let Some(last) = fresh.last() else { return Ok(()) };
    if store.is_cache {
        let guard = store.lock.acquire()?;
        return note_synced(guard.file(), last.seq);
    }
    let ids: BTreeSet<&Id> = fresh.iter().flat_map(|line| line.touched_decisions()).collect();
    for id in &ids {
        if let Some(handle) = store.layout.decisions.open(&format!("{id}.json"))? {
            handle.sync()?;
        }
    }
    if !ids.is_empty() {
        store.layout.decisions.sync()?;
    }
    let mut flushed = [None; 3];
    for array in ARRAYS {
        let is_touched = fresh.iter().any(|line| touches(line, array));
        if let Some(handle) = array.dir(&store.layout).open(array.name())?.filter(|_| is_touched) {
            flushed[array as usize] = Some(handle.fingerprint()?);
            handle.sync()?;
        }
    }
    if flushed.iter().any(Option::is_some) {
        store.layout.graph.sync()?;
    }
    store.board.sync()?;
    if fresh.iter().any(|line| !line.change.anchors.is_empty())
        && let Some(handle) = store.layout.top.open(ANCHORS)?
    {
        handle.sync()?;
    }
    store.outbox.sync()?;
    let guard = store.lock.acquire()?;
    for array in ARRAYS {
        let print = store.files.array_fingerprint(array)?;
        if print.is_some() && print == flushed[array as usize] {
            store.layout.remove_backup(array.name())?;
        }
    }
    note_synced(guard.file(), last.seq)
}

fn note_synced(lock: &FileHandle, seq: u64) -> Result<(), StoreError> {
    LockState::update(lock, |current| current.synced_seq = current.synced_seq.max(seq))
}
