//! Carrying the journal into the arrays, off everybody's way.
//!
//! The new file is made without the write lock and put in place under it, if
//! the old one is still the one it was made from. Doing it twice changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::json;
use twining_model::{Decision, Id, Time};

use crate::array;
use crate::board::RECENT_MS;
use crate::error::StoreError;
use crate::files::{Array, Checkpointed, Files, Fingerprint};
use crate::journal::JournalLine;
use crate::layout::Staged;
use crate::record::Record;
use crate::room::Room;

const ARRAYS: [Array; 3] = [Array::Entities, Array::Relations, Array::DecisionIndex];
/// A journal over this size is shortened even if that costs a flush.
const JOURNAL_BYTES: u64 = 1024 * 1024;

/// Arrays over this size are carried when nobody writes, or at last after a while.
const LARGE: u64 = 256 * 1024;
const QUIET_MS: u128 = 1000;
const LONGEST_MS: u128 = 5000;

/// What the journal does to one array.
#[derive(Default)]
struct Puts {
    puts: BTreeMap<String, String>,
    gone: HashSet<String>,
}

/// A new version of an array, ready to be put in place.
struct Ready {
    array: Array,
    from: Option<Fingerprint>,
    /// The new file and its state, or nothing if it would be the same.
    staged: Option<(Staged, Fingerprint)>,
}

/// One pass: arrays brought up to the journal, and the journal shortened.
/// Nothing happens if another process is at it. The arrays get no further than
/// `indexed`, where the index is: it then knows their content without reading them.
pub fn run(room: &Room, indexed: u64, now: Time, when: When) -> Result<(), StoreError> {
    let Some(_alone) = room.checkpoint_lock.try_take()? else { return Ok(()) };
    let record = room.record()?;
    let lines = room.journal.since(record.checkpoint_seq, record.applied_seq.min(indexed))?;
    if let Some(last) = lines.last()
        && (when == When::Now || !is_busy(room, &lines, now)?)
    {
        carry_out(room, &record, &lines, last.seq)?;
    }
    shorten(room, now)
}

/// When to carry large arrays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once.
    Now,
    /// When nobody has written for a moment: whoever writes meanwhile waits for
    /// parts of their flush.
    Quiet,
}

/// Whether somebody is writing, and the arrays are so large that it would be felt.
fn is_busy(room: &Room, lines: &[JournalLine], now: Time) -> Result<bool, StoreError> {
    let ages = |line: Option<&JournalLine>| line.map_or(0, |line| now.since(line.at).as_millis());
    Ok(room.files.arrays_bytes()? > LARGE && ages(lines.last()) < QUIET_MS && ages(lines.first()) < LONGEST_MS)
}

fn carry_out(room: &Room, record: &Record, lines: &[JournalLine], through: u64) -> Result<(), StoreError> {
    let mut ready = Vec::new();
    let mut whole = true;
    for which in ARRAYS {
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
            record.arrays[made.array as usize] = Some(Checkpointed { from: made.from, to, through });
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
    let puts = if which == Array::DecisionIndex {
        let left_so = from.is_some() && record.checkpointed(which).map(|known| known.to) == from && scanned.unreadable.is_empty();
        listed_decisions(&room.files, lines, if left_so { Which::Touched } else { Which::All })?
    } else if scanned.unreadable.is_empty() {
        graph_puts(lines, which)?
    } else {
        return Ok(None);
    };
    // The index is derived: what it holds of decisions that are gone goes too.
    let text = array::splice(&scanned, &puts.puts, &puts.gone);
    let staged = if from.is_some() && text.as_bytes() == bytes {
        None
    } else {
        Some(room.layout.stage(which.dir(&room.layout), text.as_bytes(), true)?)
    };
    Ok(Some(Ready { array: which, from, staged }))
}

fn graph_puts(lines: &[JournalLine], which: Array) -> Result<Puts, StoreError> {
    let mut made = Puts::default();
    for line in lines {
        let change = &line.change;
        let mut put = |id: &str, text: String| {
            made.gone.remove(id);
            made.puts.insert(id.to_owned(), text);
        };
        if which == Array::Entities {
            for entity in &change.entities {
                put(&entity.id, serde_json::to_string(entity)?);
            }
        } else {
            for relation in &change.relations {
                put(&relation.id, serde_json::to_string(relation)?);
            }
        }
        let gone = if which == Array::Entities { &change.removed_entities } else { &change.removed_relations };
        for id in gone {
            made.puts.remove(id);
            made.gone.insert(id.clone());
        }
    }
    Ok(made)
}

/// Which decisions to list anew.
#[derive(Clone, Copy)]
enum Which {
    /// Those the journal touched.
    Touched,
    /// Every one: somebody else wrote the index, or nobody did.
    All,
}

fn listed_decisions(files: &Files, lines: &[JournalLine], which: Which) -> Result<Puts, StoreError> {
    let touched = lines.iter().flat_map(JournalLine::touched_decisions).cloned();
    let ids: BTreeSet<Id> = match which {
        Which::Touched => touched.collect(),
        Which::All => files.decision_names()?.decisions.into_iter().map(|(id, _)| id).chain(touched).collect(),
    };
    let mut made = Puts::default();
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
    room.journal.rewrite(&room.layout, &kept)?;
    drop(held);
    Ok(())
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
    room.layout.graph.sync()?;
    room.board.sync()?;
    let held = room.lock.take()?;
    let mut record = Record::read(held.file())?;
    record.synced_seq = record.synced_seq.max(last.seq);
    record.write(held.file())
}
