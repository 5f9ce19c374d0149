//! What is done about the arrays off everybody's way: blanks are taken out, what could
//! not be written before is, and the list of decisions is gone over after others wrote it.
//!
//! The new file is made without the write lock and put in place under it, if
//! the old one is still the one it was made from. Doing it twice changes nothing.

use std::collections::BTreeSet;

use serde_json::json;
use twining_model::{Decision, Id, Time};

use super::room::Room;
use crate::disk::layout::Staged;
use crate::error::StoreError;
use crate::format::array;
use crate::log::array_file::{ArrayEdits, Edited};
use crate::log::files::{Array, Files, Fingerprint};
use crate::log::journal::JournalLine;
use crate::log::recent::RECENT_MS;
use crate::log::record::Record;

/// Every array.
pub const ARRAYS: [Array; 3] = [Array::Entities, Array::Relations, Array::DecisionIndex];
/// A journal over this size is shortened even if that costs a flush.
const JOURNAL_BYTES: u64 = 1024 * 1024;

/// Arrays over this size are written anew when nobody has written to them for a moment.
const LARGE: u64 = 256 * 1024;
const QUIET_MS: i64 = 1000;

/// A new version of an array, ready to be put in place.
struct Ready {
    array: Array,
    from: Option<Fingerprint>,
    /// The new file and its state, or nothing if it would be the same.
    staged: Option<(Staged, Fingerprint)>,
}

/// When to write large arrays anew.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// When nobody has written for a moment: whoever writes meanwhile waits for
    /// parts of their flush.
    Quiet,
}

/// Whether there is anything to do about the arrays.
pub fn is_due(record: &Record) -> bool {
    record.checkpoint_seq < record.applied_seq || ARRAYS.iter().any(|array| is_array_due(record, *array))
}

fn is_array_due(record: &Record, array: Array) -> bool {
    let left = record.arrays[array as usize];
    left.is_some_and(|left| left.is_loose) || (array == Array::DecisionIndex && left.is_none() && record.applied_seq > 0)
}

/// One pass: arrays as they should be, and the journal shortened. Nothing happens if
/// another process is at it.
pub fn run(room: &Room, now: Time, when: When) -> Result<(), StoreError> {
    let Some(_alone) = room.checkpoint_lock.try_take()? else { return Ok(()) };
    let record = room.record()?;
    let lines = room.journal.since(record.checkpoint_seq, record.applied_seq)?;
    let mut due = Vec::new();
    for array in ARRAYS {
        if (!lines.is_empty() || is_array_due(&record, array)) && (when == When::Now || !is_busy(room, array, now)?) {
            due.push(array);
        }
    }
    if !due.is_empty() {
        carry_out(room, &record, &lines, &due)?;
    }
    shorten(room, now)
}

/// Whether somebody is writing, and the array is so large that it would be felt.
fn is_busy(room: &Room, array: Array, now: Time) -> Result<bool, StoreError> {
    let written = room.files.array_fingerprint(array)?.filter(|print| print.size > LARGE);
    Ok(written.is_some_and(|print| now.as_ms() - print.mtime_ns / 1_000_000 < QUIET_MS))
}

fn carry_out(room: &Room, record: &Record, lines: &[JournalLine], due: &[Array]) -> Result<(), StoreError> {
    let mut ready = Vec::new();
    let mut whole = due.len() == ARRAYS.len();
    let through = record.applied_seq;
    for which in due.iter().copied() {
        match prepare(room, record, lines, which)? {
            Some(made) => ready.push(made),
            // Damaged: it stays as it is, and the journal keeps what belongs in it.
            None => whole = false,
        }
    }
    let held = room.lock.take()?;
    let mut record = Record::read(held.file())?;
    let mut unchanged = Vec::new();
    for made in ready {
        if room.files.array_fingerprint(made.array)? == made.from {
            let to = made.staged.as_ref().map_or(made.from, |(_, print)| Some(*print)).unwrap_or_default();
            record.leave_array(made.array, Edited { from: made.from, to, is_loose: false, is_ours: true }, through);
            unchanged.push(made);
        } else {
            whole = false;
        }
    }
    // Before the files are in place: a reader that sees a new array and an old
    // record would take the array for somebody else's and read all of it.
    record.write(held.file())?;
    // Kept open until the lock is gone: freeing a large file takes milliseconds.
    let mut replaced = Vec::new();
    for Ready { array, staged, .. } in unchanged {
        if let Some((staged, _)) = staged {
            replaced.push(array.dir(&room.layout).open(array.name()));
            staged.put(array.dir(&room.layout), array.name())?;
        }
    }
    if whole {
        record.checkpoint_seq = record.checkpoint_seq.max(through);
    }
    record.write(held.file())?;
    drop(held);
    drop(replaced);
    Ok(())
}

fn prepare(room: &Room, record: &Record, lines: &[JournalLine], which: Array) -> Result<Option<Ready>, StoreError> {
    let current = room.files.array(which)?;
    let from = current.as_ref().map(|(print, _)| *print);
    // No file at all, as on a branch that never had one, is an empty array.
    let bytes = current.map_or_else(|| array::NONE.to_vec(), |(_, bytes)| bytes);
    let scanned = array::scan(&bytes);
    let edits = if which == Array::DecisionIndex {
        let left_so = from.is_some() && record.arrays[which as usize].map(|known| known.to) == from && scanned.unreadable.is_empty();
        if left_so { edits_of(&room.files, lines, which)? } else { listed_decisions(&room.files, all_decisions(&room.files, lines)?)? }
    } else if scanned.unreadable.is_empty() {
        edits_of(&room.files, lines, which)?
    } else {
        return Ok(None);
    };
    // The index is derived: what it holds of decisions that are gone goes too.
    let text = array::splice(&scanned, &edits.puts, &edits.gone);
    let staged = if from.is_some() && text.as_bytes() == bytes {
        None
    } else {
        Some(room.layout.stage(which.dir(&room.layout), text.as_bytes(), true)?)
    };
    Ok(Some(Ready { array: which, from, staged }))
}

/// What journal lines do to an array.
pub fn edits_of(files: &Files, lines: &[JournalLine], which: Array) -> Result<ArrayEdits, StoreError> {
    let mut made = ArrayEdits::default();
    for JournalLine { change, .. } in lines {
        let (puts, gone) = match which {
            Array::Entities => {
                (change.entities.iter().map(|it| Ok((&it.id, serde_json::to_string(it)?))).collect(), &change.removed_entities)
            }
            Array::Relations => {
                (change.relations.iter().map(|it| Ok((&it.id, serde_json::to_string(it)?))).collect(), &change.removed_relations)
            }
            Array::DecisionIndex => {
                return listed_decisions(files, lines.iter().flat_map(JournalLine::touched_decisions).cloned().collect());
            }
        };
        let puts: Result<Vec<(&String, String)>, serde_json::Error> = puts;
        for (id, text) in puts? {
            made.gone.remove(id);
            made.puts.insert(id.clone(), text);
        }
        for id in gone {
            made.puts.remove(id);
            made.gone.insert(id.clone());
        }
    }
    Ok(made)
}

/// Every decision there is: somebody else wrote the list, or nobody did.
fn all_decisions(files: &Files, lines: &[JournalLine]) -> Result<BTreeSet<Id>, StoreError> {
    let touched = lines.iter().flat_map(JournalLine::touched_decisions).cloned();
    Ok(files.decision_names()?.decisions.into_iter().map(|(id, _)| id).chain(touched).collect())
}

fn listed_decisions(files: &Files, ids: BTreeSet<Id>) -> Result<ArrayEdits, StoreError> {
    let mut made = ArrayEdits::default();
    for id in ids {
        let bytes = match files.decision(&id) {
            Ok(Some((_, bytes))) => bytes,
            Ok(None) => {
                made.gone.insert(id.into());
                continue;
            }
            // It is there and cannot be read: what is listed of it stays.
            Err(StoreError::Damaged { .. } | StoreError::Unsafe { .. }) => continue,
            Err(error) => return Err(error),
        };
        if let Ok(decision) = serde_json::from_slice::<Decision>(&bytes) {
            made.puts.insert(id.into(), listing(&decision).to_string());
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
fn shorten(room: &Room, now: Time) -> Result<(), StoreError> {
    let record = room.record()?;
    let lines = room.journal.since(0, u64::MAX)?;
    let settled = |line: &JournalLine| line.seq <= record.checkpoint_seq && now.since(line.at).as_millis() as i64 > RECENT_MS;
    let old: Vec<&JournalLine> = lines.iter().filter(|line| settled(line)).collect();
    sync_lines(room, &record, &lines)?;
    if old.is_empty() || (old.len() < lines.len() && room.journal.bytes()? < JOURNAL_BYTES) {
        return Ok(());
    }
    let held = room.lock.take()?;
    let kept: Vec<JournalLine> = room.journal.since(0, u64::MAX)?.into_iter().filter(|line| !settled(line)).collect();
    // Before they go: a reader that is not so far yet must not take what is left for all there was.
    let mut record = Record::read(held.file())?;
    record.dropped_seq = record.dropped_seq.max(old.last().map_or(0, |line| line.seq));
    record.write(held.file())?;
    room.journal.rewrite(&room.layout, &kept)
}

/// Flushes the files behind the lines that were not flushed yet, and says so.
fn sync_lines(room: &Room, record: &Record, lines: &[JournalLine]) -> Result<(), StoreError> {
    let fresh: Vec<&JournalLine> = lines.iter().filter(|line| line.seq > record.synced_seq && line.seq <= record.checkpoint_seq).collect();
    let Some(last) = fresh.last() else { return Ok(()) };
    let ids: BTreeSet<&Id> = fresh.iter().flat_map(|line| line.touched_decisions()).collect();
    for id in &ids {
        if let Some(handle) = room.layout.decisions.open(&format!("{id}.json"))? {
            handle.sync()?;
        }
    }
    if !ids.is_empty() {
        room.layout.decisions.sync()?;
    }
    let mut flushed = Vec::new();
    for array in ARRAYS {
        if let Some(handle) = array.dir(&room.layout).open(array.name())? {
            let print = handle.fingerprint()?;
            handle.sync()?;
            flushed.push((array, print));
        }
    }
    room.layout.graph.sync()?;
    room.board.sync()?;
    let held = room.lock.take()?;
    for (array, print) in flushed {
        if room.files.array_fingerprint(array)? == Some(print) {
            room.layout.forget_kept(array.name())?;
        }
    }
    let mut record = Record::read(held.file())?;
    record.synced_seq = record.synced_seq.max(last.seq);
    record.write(held.file())
}
