//! Carrying a change out: journal first, then the files; and doing it again
//! after a crash, or after git took a file away.

use std::collections::HashSet;

use serde_json::Map;
use twining_model::{Amendment, Change, Decision, Document, Entry, Id, Time, Trace, limits};

use super::archive;
use super::checkpoint::{ARRAYS, edits_of};
use super::features::{remember, remembered, runs_file};
use super::open::Durability;
use super::record_files::FileBefore;
use super::room::Room;
use super::{trace_ring, traces};
use crate::disk::layout::{DECISIONS, TRACES};
use crate::disk::{self, Handle};
use crate::error::StoreError;
use crate::format::array;
use crate::format::tail;
use crate::log::array_file::{ArrayUndo, mend_torn};
use crate::log::board::{Footing, RECENT_MS};
use crate::log::journal::{Drained, JournalLine};
use crate::log::queue;
use crate::log::record::Record;
use crate::merge::one_decision;

/// A change, and the ids in it that stand in no array yet.
pub(crate) struct Planned {
    pub change: Change,
    pub new: HashSet<String>,
}

impl From<Change> for Planned {
    fn from(change: Change) -> Self {
        Self { change, new: HashSet::new() }
    }
}

/// What was there before, to go back to.
enum Undo {
    Remove(String),
    Restore(String, Vec<u8>),
    Arrays(Vec<ArrayUndo>),
    File(FileBefore),
    Cut(Handle, u64),
    Archived,
}

/// What a write put where, and so what to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    Nothing,
    Entries,
    Files,
    Journal,
}

impl Room {
    /// Appends a change that is nothing but entries.
    pub(crate) fn append_entries(&self, change: &Change, footing: Footing, record: &mut Record, now: Time) -> Result<(), StoreError> {
        if change.entries.is_empty() {
            return Ok(());
        }
        self.board.append(&lines_of(&change.entries)?, footing, record, now)
    }

    /// Carries out a change that is one write to one file.
    pub(crate) fn write_once(
        &self,
        change: &Change,
        durability: Durability,
        footing: Footing,
        record: &mut Record,
        now: Time,
    ) -> Result<Wrote, StoreError> {
        if !change.entries.is_empty() {
            self.append_entries(change, footing, record, now)?;
            return Ok(Wrote::Entries);
        }
        for write in self.file_writes(change)? {
            write.carry_out(self, durability == Durability::Strict)?;
        }
        self.append_lines(change, now, &mut Vec::new())?;
        Ok(Wrote::Files)
    }

    /// Adds what a change has for the files of lines besides the board.
    fn append_lines(&self, change: &Change, now: Time, undo: &mut Vec<Undo>) -> Result<(), StoreError> {
        if !change.runs.is_empty() {
            let file = runs_file(&self.layout)?;
            let size = file.fingerprint()?.size;
            undo.push(Undo::Cut(file, size));
            remember(&self.layout, &change.runs)?;
        }
        if change.traces.is_empty() && change.imported_traces.is_empty() {
            return Ok(());
        }
        let lost = trace_ring::lost(self, now)?;
        traces::append_lines(&self.layout, &lost, now)?;
        // What was taken back after a failure has just come back, and is not written twice.
        let back: HashSet<String> = lost.split(|byte| *byte == b'\n').filter_map(tail::id_of).collect();
        let rest = |traces: &[Trace]| traces.iter().filter(|trace| !back.contains(&trace.id)).cloned().collect::<Vec<_>>();
        let (own, imported) = (traces::lines_of(&rest(&change.traces))?, traces::lines_of(&rest(&change.imported_traces))?);
        traces::drain(&self.layout, now)?;
        let file = self.layout.top.make_append(TRACES)?;
        let size = file.fingerprint()?.size;
        undo.push(Undo::Cut(file, size));
        traces::append(&self.layout, &own, now)?;
        traces::append_lines(&self.layout, &imported, now)
    }

    /// Writes a change to the journal and carries it out; if that fails,
    /// everything is as it was. The caller writes the record afterwards.
    pub(crate) fn journal_and_apply(
        &self,
        Planned { change, new }: Planned,
        drained: Option<Drained>,
        followed: Option<u64>,
        footing: Footing,
        record: &mut Record,
        now: Time,
    ) -> Result<(), StoreError> {
        check_sizes(&change)?;
        self.journal.mend()?;
        let size = self.journal.size()?;
        let line = JournalLine { seq: next_seq(record, now), at: now, change, drained, followed };
        self.journal.append(&line)?;
        let mut undo = Vec::new();
        let (left, checkpoint_seq) = (record.arrays, record.checkpoint_seq);
        let applied = self.apply(&line, &new, footing, record, &mut undo, now);
        match applied {
            Ok(()) => {
                record.written_seq = line.seq;
                record.followed_seq = line.followed.unwrap_or(record.followed_seq);
                // A queue file that could not be marked keeps the line open, so that
                // whoever comes next marks it before taking anything from it.
                let settled = line.drained.as_ref().map_or(Ok(()), |drained| queue::settle(&self.layout, drained));
                if settled.is_ok() {
                    record.applied_seq = line.seq;
                }
                Ok(())
            }
            Err(error) => {
                (record.arrays, record.checkpoint_seq) = (left, checkpoint_seq);
                // If going back fails as well, the journal keeps the line and the
                // next writer completes it: whole, though we reported a failure.
                if self.roll_back(undo).is_ok() {
                    drop(self.journal.cut(size));
                }
                Err(error)
            }
        }
    }

    fn apply(
        &self,
        line: &JournalLine,
        new: &HashSet<String>,
        footing: Footing,
        record: &mut Record,
        undo: &mut Vec<Undo>,
        now: Time,
    ) -> Result<(), StoreError> {
        for decision in &line.change.decisions {
            let name = file_name(&decision.id);
            // Before it is there: what fails halfway through is undone as well.
            undo.push(Undo::Remove(name.clone()));
            self.put_decision(&name, pretty(decision)?.as_bytes())?;
        }
        for amendment in &line.change.amendments {
            if let Some((old, new)) = self.amended(amendment)? {
                let name = file_name(&amendment.id);
                undo.push(Undo::Restore(name.clone(), old));
                self.put_decision(&name, new.as_bytes())?;
            }
        }
        let mut edited = Vec::new();
        let arrays = self.write_arrays(line, new, record, &mut edited);
        undo.push(Undo::Arrays(edited));
        arrays?;
        for write in self.file_writes(&line.change)? {
            undo.extend(write.before(self).map(Undo::File));
            write.carry_out(self, false)?;
        }
        self.append_lines(&line.change, now, undo)?;
        let footing = if line.change.archived.is_empty() {
            footing
        } else {
            undo.push(Undo::Archived);
            self.move_out(&line.change.archived, record, now)?;
            Footing::Ours
        };
        // Last, because it cannot be taken back once others may have appended.
        self.append_entries(&line.change, footing, record, now)
    }

    /// Moves entries off the board.
    fn move_out(&self, ids: &[String], record: &mut Record, now: Time) -> Result<(), StoreError> {
        if archive::move_out(&self.layout, ids, now)? {
            record.epoch = record.epoch.saturating_add(1);
            self.board.replaced(record, &ids.iter().cloned().collect())?;
        }
        Ok(())
    }

    /// Brings the arrays up to a journal line. One that nobody can read stays as it is,
    /// and the journal keeps what belongs in it.
    fn write_arrays(
        &self,
        line: &JournalLine,
        new: &HashSet<String>,
        record: &mut Record,
        undo: &mut Vec<ArrayUndo>,
    ) -> Result<(), StoreError> {
        let mut is_whole = record.checkpoint_seq >= record.applied_seq;
        for array in ARRAYS {
            let edits = edits_of(&self.files, std::slice::from_ref(line), array)?;
            if edits.is_empty() {
                continue;
            }
            let left = record.arrays[array as usize];
            match self.arrays.edit(&self.layout, array, &edits, left, new, undo)? {
                Some(edited) => record.leave_array(array, edited, line.seq),
                None => is_whole = false,
            }
        }
        if is_whole {
            record.checkpoint_seq = line.seq;
        }
        Ok(())
    }

    /// Writes a decision file. git removes the directory when a switch empties it,
    /// also between our opening it and this moment; then it is made again.
    pub(crate) fn put_decision(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        match self.layout.replace(&self.layout.decisions, name, bytes, false) {
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                self.layout.replace(&self.layout.top.make_dir(DECISIONS)?, name, bytes, false)
            }
            other => other,
        }
    }

    fn roll_back(&self, undo: Vec<Undo>) -> Result<(), StoreError> {
        for step in undo.into_iter().rev() {
            match step {
                Undo::Remove(name) => self.layout.decisions.remove(&name).map(drop)?,
                Undo::Restore(name, bytes) => self.put_decision(&name, &bytes)?,
                Undo::File(before) => before.carry_out(self, false)?,
                Undo::Cut(file, size) => file.set_len(size)?,
                // Entries that are in the archive stay there: the next writer completes the change.
                Undo::Archived => return Err(StoreError::Damaged { what: "entries have left the board".to_owned() }),
                Undo::Arrays(arrays) => arrays.into_iter().rev().try_for_each(|undo| undo.roll_back(&self.layout))?,
            }
        }
        Ok(())
    }

    /// The decision file before and after, or `None` if it says so already.
    fn amended(&self, amendment: &Amendment) -> Result<Option<(Vec<u8>, String)>, StoreError> {
        let Some((_, old)) = self.files.decision(&amendment.id)? else {
            return Err(StoreError::NoDecision { id: amendment.id.to_string() });
        };
        let mut document = Document::parse(&one_decision(&old))?;
        for (key, value) in &amendment.set {
            document.set(key, value)?;
        }
        let new = document.to_pretty()?;
        Ok((new.as_bytes() != old).then_some((old, new)))
    }

    /// Before anyone reads or writes: completes what a killed writer or a power
    /// cut left undone.
    pub(crate) fn recover_after_crash(&self, now: Time) -> Result<(), StoreError> {
        let record = self.record()?;
        let rebooted = record.boot != 0 && record.boot != disk::boot();
        let pending = self.journal.bytes()? > 0 && (rebooted || !self.journal.since(record.applied_seq, u64::MAX)?.is_empty());
        if !pending {
            return Ok(());
        }
        // Whoever holds the lock has done this, or is about to.
        let Some(held) = self.lock_for_a_moment()? else { return Ok(()) };
        let mut record = Record::read(held.file())?;
        self.recover(&mut record, now)?;
        record.write(held.file())
    }

    /// Completes journal lines that are not carried out, and repeats recent ones
    /// if git has been at work since. The caller holds the write lock.
    pub(crate) fn recover(&self, record: &mut Record, now: Time) -> Result<(), StoreError> {
        let boot = disk::boot();
        if record.boot != boot {
            if record.boot != 0 {
                for array in ARRAYS {
                    let is_sound = |bytes: &[u8]| array::scan(bytes).unreadable.is_empty();
                    self.layout.put_back(array.dir(&self.layout), array.name(), is_sound)?;
                }
                // What the last run of the machine did not flush may be gone.
                record.applied_seq = record.applied_seq.min(record.synced_seq);
                record.checkpoint_seq = record.checkpoint_seq.min(record.synced_seq);
            }
            record.boot = boot;
        }
        self.journal.mend()?;
        let pending = self.journal.since(record.applied_seq, u64::MAX)?;
        for array in ARRAYS {
            if let Some(left) = record.arrays[array as usize].filter(|_| !pending.is_empty()) {
                mend_torn(&self.layout, array, &left)?;
            }
        }
        for line in pending {
            self.repeat(&line, record, now)?;
            self.write_arrays(&line, &HashSet::new(), record, &mut Vec::new())?;
            self.repeat_files(&line, record, now)?;
            record.followed_seq = line.followed.unwrap_or(record.followed_seq);
            record.written_seq = record.written_seq.max(line.seq);
            record.applied_seq = line.seq;
        }
        self.repeat_after_git(record, now)
    }

    fn repeat_after_git(&self, record: &mut Record, now: Time) -> Result<(), StoreError> {
        let Some(index) = self.board.git_index() else { return Ok(()) };
        if index.mtime_ns == record.git_mtime_ns || self.board.git_is_busy() {
            return Ok(());
        }
        let since = (index.mtime_ns / 1_000_000).min(now.as_ms()) - RECENT_MS;
        let mut recent = self.journal.since(0, record.applied_seq)?;
        recent.retain(|line| line.at.as_ms() >= since);
        let replaced = self.arrays_were_replaced(record)?;
        recent.retain(|line| replaced || !self.stands(line));
        let witnesses: HashSet<String> = recent.iter().flat_map(|line| witnesses(&line.change)).collect();
        let decisions = recent.iter().flat_map(JournalLine::touched_decisions).cloned().collect();
        let safe = self.board.in_history(&witnesses, &decisions);
        let mut again = Change::default();
        for line in &recent {
            let lost = without_safe(&line.change, &safe);
            self.repeat(&JournalLine { change: lost.clone(), ..line.clone() }, record, now)?;
            again.entities.extend(lost.entities);
            again.relations.extend(lost.relations);
            again.removed_entities.extend(lost.removed_entities);
            again.removed_relations.extend(lost.removed_relations);
            let amended = |id: &Id| Amendment { id: id.clone(), set: Map::new() };
            again.amendments.extend(lost.decisions.iter().map(|decision| amended(&decision.id)));
            again.amendments.extend(lost.amendments.iter().map(|amendment| amended(&amendment.id)));
        }
        if !again.is_empty() && replaced {
            let line = JournalLine { seq: next_seq(record, now), at: now, change: again, drained: None, followed: None };
            self.journal.append(&line)?;
            self.write_arrays(&line, &HashSet::new(), record, &mut Vec::new())?;
            record.written_seq = line.seq;
            record.applied_seq = line.seq;
        }
        record.git_mtime_ns = index.mtime_ns;
        Ok(())
    }

    /// Whether the decisions a line made or changed are as it left them.
    fn stands(&self, line: &JournalLine) -> bool {
        let made = line.change.decisions.iter().all(|decision| matches!(self.files.decision_fingerprint(&decision.id), Ok(Some(_))));
        made && line.change.amendments.iter().all(|amendment| matches!(self.amended(amendment), Ok(None)))
    }

    fn arrays_were_replaced(&self, record: &Record) -> Result<bool, StoreError> {
        for array in ARRAYS {
            let left = record.arrays[array as usize].map(|known| known.to);
            if left.is_some() && self.files.array_fingerprint(array)? != left {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Carries the rest of a line out that nobody completed; what was written since stays.
    fn repeat_files(&self, line: &JournalLine, record: &mut Record, now: Time) -> Result<(), StoreError> {
        let change = &line.change;
        for write in self.file_writes(change)? {
            if !write.was_written_after(self, line.at)? {
                write.carry_out(self, false)?;
            }
        }
        let known = remembered(&self.layout)?;
        let runs = change.runs.iter().filter(|run| !known.contains(run.as_str())).cloned().collect();
        let mut missing: HashSet<String> = change.traces.iter().chain(&change.imported_traces).map(|trace| trace.id.clone()).collect();
        if let Some(file) = self.layout.top.open(TRACES)?.filter(|_| !missing.is_empty()) {
            tail::strike_out_present(&file, &mut missing)?;
        }
        let lost = |traces: &[Trace]| traces.iter().filter(|trace| missing.contains(&trace.id)).cloned().collect();
        let (traces, imported_traces) = (lost(&change.traces), lost(&change.imported_traces));
        self.append_lines(&Change { runs, traces, imported_traces, ..Change::default() }, now, &mut Vec::new())?;
        if change.archived.is_empty() { Ok(()) } else { self.move_out(&change.archived, record, now) }
    }

    /// Carries a line out again: what is there already stays.
    fn repeat(&self, line: &JournalLine, record: &mut Record, now: Time) -> Result<(), StoreError> {
        for decision in &line.change.decisions {
            let there = self.files.decision(&decision.id)?.is_some_and(|(_, bytes)| Document::parse(&one_decision(&bytes)).is_ok());
            if !there {
                self.put_decision(&file_name(&decision.id), pretty(decision)?.as_bytes())?;
            }
        }
        for amendment in &line.change.amendments {
            // A decision that is gone from the tree is git's doing, and not ours to bring back.
            if let Ok(Some((_, new))) = self.amended(amendment) {
                self.put_decision(&file_name(&amendment.id), new.as_bytes())?;
            }
        }
        let ids: Vec<&str> = line.change.entries.iter().map(|entry| entry.id.as_str()).collect();
        if !ids.is_empty() {
            let missing: HashSet<String> = self.board.missing(&ids)?;
            let lost: Vec<Entry> = line.change.entries.iter().filter(|entry| missing.contains(&entry.id)).cloned().collect();
            if !lost.is_empty() {
                let footing = self.board.settle(record, now)?;
                let still = self.board.missing(&lost.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>())?;
                let lost = lost.into_iter().filter(|entry| still.contains(&entry.id)).collect();
                self.append_entries(&Change { entries: lost, ..Change::default() }, footing, record, now)?;
            }
        }
        match &line.drained {
            Some(drained) => queue::settle(&self.layout, drained),
            None => Ok(()),
        }
    }
}

/// Texts by which the parts of a change can be told in a commit: ids for what is
/// written once, whole elements for what may change.
fn witnesses(change: &Change) -> Vec<String> {
    let entries = change.entries.iter().map(|entry| entry.id.clone());
    let decisions = change.decisions.iter().map(|decision| decision.id.to_string());
    let amendments = change.amendments.iter().filter_map(witness_of);
    let entities = change.entities.iter().filter_map(|entity| serde_json::to_string(entity).ok());
    let relations = change.relations.iter().filter_map(|relation| serde_json::to_string(relation).ok());
    entries.chain(decisions).chain(amendments).chain(entities).chain(relations).collect()
}

/// The moment of the last change it records, which stands nowhere else.
fn witness_of(amendment: &Amendment) -> Option<String> {
    let last = |list: &str, field: &str| amendment.set.get(list)?.as_array()?.last()?.get(field)?.as_str().map(str::to_owned);
    last("history", "at").or_else(|| last("commits", "linked_at"))
}

/// What is left of a change when the parts that are safe are taken away.
fn without_safe(change: &Change, safe: &HashSet<String>) -> Change {
    let mut lost = change.clone();
    let is_safe = |text: Option<String>| text.is_some_and(|text| safe.contains(&text));
    lost.entries.retain(|entry| !safe.contains(&entry.id));
    // Of the other files git keeps what it has.
    lost = Change {
        entries: lost.entries,
        decisions: lost.decisions,
        amendments: lost.amendments,
        entities: lost.entities,
        relations: lost.relations,
        removed_entities: lost.removed_entities,
        removed_relations: lost.removed_relations,
        ..Change::default()
    };
    lost.decisions.retain(|decision| !safe.contains(decision.id.as_str()));
    lost.amendments.retain(|amendment| !is_safe(witness_of(amendment)));
    lost.entities.retain(|entity| !is_safe(serde_json::to_string(entity).ok()));
    lost.relations.retain(|relation| !is_safe(serde_json::to_string(relation).ok()));
    if !safe.is_empty() && lost.entities.is_empty() && lost.relations.is_empty() {
        // What was pruned with them was pruned in that commit as well.
        lost.removed_entities.clear();
        lost.removed_relations.clear();
    }
    lost
}

/// Sequence numbers come from the clock so that a lost lock file, and with it
/// the last number, does not make readers skip a line.
fn next_seq(record: &Record, now: Time) -> u64 {
    (record.written_seq.max(record.applied_seq) + 1).max(u64::try_from(now.as_ms()).unwrap_or(0) << 10)
}

fn file_name(id: &Id) -> String {
    format!("{id}.json")
}

fn pretty(decision: &Decision) -> Result<String, StoreError> {
    Ok(serde_json::to_string_pretty(decision)? + "\n")
}

fn lines_of(entries: &[Entry]) -> Result<Vec<u8>, StoreError> {
    let mut lines = Vec::new();
    for entry in entries {
        let start = lines.len();
        serde_json::to_writer(&mut lines, entry)?;
        fits(lines.len() - start)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Nothing is written that we would refuse to read back.
fn check_sizes(change: &Change) -> Result<(), StoreError> {
    traces::lines_of(&change.traces)?;
    traces::lines_of(&change.imported_traces)?;
    for entry in &change.entries {
        fits(serde_json::to_string(entry)?.len())?;
    }
    for decision in &change.decisions {
        fits(pretty(decision)?.len())?;
    }
    Ok(())
}

fn fits(bytes: usize) -> Result<(), StoreError> {
    if bytes >= limits::RECORD_BYTES { Err(StoreError::TooLarge { bytes, most: limits::RECORD_BYTES }) } else { Ok(()) }
}
