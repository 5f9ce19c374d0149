//! Carrying a change out: journal first, then the files; and doing it again
//! after a crash, or after git took a file away.

use std::collections::HashSet;

use serde_json::Map;
use twining_model::{Amendment, Change, Decision, Entry, Id, JsonDocument, Time, Trace, limits};

use super::archive;
use super::checkpoint::{ARRAYS, edits_of};
use super::features::RUNS;
use super::open::Durability;
use super::record_files::FileWrite;
use super::room::Room;
use super::traces::{self, nook};
use crate::disk::layout::TRACES;
use crate::disk::{self, Handle};
use crate::error::StoreError;
use crate::format::{array, tail};
use crate::log::array_file::{ArrayEdit, ArrayUndo, mend_torn};
use crate::log::board::BoardFile;
use crate::log::journal::{Drained, JournalLine};
use crate::log::lock::Held;
use crate::log::queue;
use crate::log::recent::RECENT_MS;
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
    File(FileWrite),
    Arrays(Vec<ArrayUndo>),
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

/// Whether a journal line is carried out for the first time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    First,
    /// What is done already stays, and what was written since.
    Again,
}

/// One who holds the write lock, and what they know of the files.
pub(crate) struct Writer<'r> {
    pub room: &'r Room,
    held: Held<'r>,
    /// The record as it stands in the lock file.
    written: Record,
    pub record: Record,
    board: BoardFile,
    now: Time,
}

impl<'r> Writer<'r> {
    /// Looks first how the board is.
    pub fn new(room: &'r Room, held: Held<'r>, now: Time) -> Result<Self, StoreError> {
        let written = Record::read(held.file())?;
        let mut record = written;
        let board = room.board.settle(&mut record, now)?;
        Ok(Self { room, held, written, record, board, now })
    }

    /// The same, and completes what a killed writer left.
    pub fn recovered(room: &'r Room, held: Held<'r>, now: Time) -> Result<Self, StoreError> {
        let mut writer = Self::new(room, held, now)?;
        let recovered = writer.recover();
        writer.note()?;
        recovered.map(|()| writer)
    }

    /// Before anyone reads or writes: completes what a killed writer or a power
    /// cut left undone.
    pub fn recover_after_crash(room: &'r Room, now: Time) -> Result<(), StoreError> {
        let record = room.record()?;
        let rebooted = record.boot != 0 && record.boot != disk::boot();
        if room.journal.bytes()? == 0 || (!rebooted && room.journal.since(record.applied_seq, u64::MAX)?.is_empty()) {
            return Ok(());
        }
        // Whoever holds the lock has done this, or is about to.
        room.lock_for_a_moment()?.map_or(Ok(()), |held| Self::recovered(room, held, now).map(drop))
    }

    /// Writes the record down, if it says something new.
    pub fn note(&mut self) -> Result<(), StoreError> {
        if self.record != self.written {
            self.record.write(self.held.file())?;
            self.written = self.record;
        }
        Ok(())
    }

    /// Carries a planned change out. Where it is one write to one file it needs no journal.
    pub fn commit(&mut self, planned: Planned, drained: Option<Drained>, durability: Durability) -> Result<Wrote, StoreError> {
        if planned.change.is_empty() && drained.is_none() {
            return Ok(Wrote::Nothing);
        }
        let committed = if planned.change.is_one_write() && drained.is_none() {
            self.write_once(&planned.change, durability)
        } else {
            self.journal_and_apply(planned, drained, None).map(|()| Wrote::Journal)
        };
        // Also after a failure: what was rolled back moved the end of the board.
        let noted = self.note();
        let wrote = committed?;
        noted.map(|()| wrote)
    }

    fn write_once(&mut self, change: &Change, durability: Durability) -> Result<Wrote, StoreError> {
        if !change.entries.is_empty() {
            self.append_entries(&change.entries)?;
            return Ok(Wrote::Entries);
        }
        for write in self.room.file_writes(change)? {
            write.carry_out(self.room, durability == Durability::Strict)?;
        }
        self.append_lines(change, &mut Vec::new())?;
        Ok(Wrote::Files)
    }

    fn append_entries(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.room.board.append(&self.board, &lines_of(entries)?, &mut self.record, self.now)
    }

    /// Adds what a change has for the files of lines besides the board.
    fn append_lines(&self, change: &Change, undo: &mut Vec<Undo>) -> Result<(), StoreError> {
        let (layout, now) = (&self.room.layout, self.now);
        if !change.runs.is_empty() {
            let file = RUNS.open(&nook(layout)?)?;
            let size = file.fingerprint()?.size;
            let added = tail::append_after(&file, run_lines(&change.runs)?.as_bytes());
            undo.push(Undo::Cut(file, size));
            added?;
        }
        if change.traces.is_empty() && change.imported_traces.is_empty() {
            return Ok(());
        }
        let lost = traces::lost(self.room, now)?;
        traces::append_lines(layout, &lost, now)?;
        // What was taken back after a failure has just come back, and is not written twice.
        let back: HashSet<String> = lost.split(|byte| *byte == b'\n').filter_map(tail::id_of).collect();
        let rest = |traces: &[Trace]| traces.iter().filter(|trace| !back.contains(&trace.id)).cloned().collect::<Vec<_>>();
        let (own, imported) = (traces::lines_of(&rest(&change.traces))?, traces::lines_of(&rest(&change.imported_traces))?);
        traces::drain(layout, now)?;
        let file = layout.top.make_append(TRACES)?;
        let size = file.fingerprint()?.size;
        undo.push(Undo::Cut(file, size));
        traces::append(layout, &own, now)?;
        traces::append_lines(layout, &imported, now)
    }

    /// Writes a change to the journal and carries it out; if that fails,
    /// everything is as it was. The caller notes the record afterwards.
    pub fn journal_and_apply(
        &mut self,
        Planned { change, new }: Planned,
        drained: Option<Drained>,
        followed: Option<u64>,
    ) -> Result<(), StoreError> {
        self.check(&change)?;
        let line = JournalLine { seq: self.next_seq(), at: self.now, change, drained, followed };
        let size = self.room.journal.append(&line)?;
        let mut undo = Vec::new();
        let (left, checkpoint_seq) = (self.record.arrays, self.record.checkpoint_seq);
        if let Err(error) = self.apply(&line, &line.change, Pass::First, &new, &mut undo) {
            (self.record.arrays, self.record.checkpoint_seq) = (left, checkpoint_seq);
            // If going back fails as well, the journal keeps the line and the
            // next writer completes it: whole, though we reported a failure.
            let undone = self.roll_back(&undo).and_then(|()| self.room.journal.cut(size));
            return Err(if undone.is_ok() { error } else { StoreError::Unfinished(Box::new(error)) });
        }
        // A queue file that could not be marked keeps the line open, so that
        // whoever comes next marks it before taking anything from it.
        drop(self.close(&line));
        Ok(())
    }

    /// Makes all that would be written. A change that is in the journal must not be refused
    /// for what it says: whoever completes it after a crash would fail for ever.
    fn check(&self, change: &Change) -> Result<(), StoreError> {
        lines_of(&change.entries)?;
        traces::lines_of(&change.traces)?;
        traces::lines_of(&change.imported_traces)?;
        run_lines(&change.runs)?;
        change.decisions.iter().try_for_each(|decision| decision_file(decision).map(drop))?;
        self.room.file_writes(change).map(drop)
    }

    /// A line is carried out, with the queue file it came from.
    fn close(&mut self, line: &JournalLine) -> Result<(), StoreError> {
        self.record.written_seq = self.record.written_seq.max(line.seq);
        self.record.followed_seq = line.followed.unwrap_or(self.record.followed_seq);
        line.drained.as_ref().map_or(Ok(()), |drained| queue::settle(&self.room.layout, drained))?;
        self.record.applied_seq = line.seq;
        Ok(())
    }

    /// Carries out what is left to do of a line.
    fn apply(
        &mut self,
        line: &JournalLine,
        left: &Change,
        pass: Pass,
        new: &HashSet<String>,
        undo: &mut Vec<Undo>,
    ) -> Result<(), StoreError> {
        self.put_decisions(left, undo)?;
        let mut edited = Vec::new();
        let arrays = self.write_arrays(line, new, &mut edited);
        undo.push(Undo::Arrays(edited));
        arrays?;
        for write in self.room.file_writes(left)? {
            if pass == Pass::First || !write.was_written_after(self.room, line.at)? {
                put(self.room, &write, undo)?;
            }
        }
        self.append_lines(left, undo)?;
        if !left.archived.is_empty() {
            undo.push(Undo::Archived);
            if let Some(kept) = archive::move_out(&self.room.layout, &left.archived, self.now)? {
                self.board = self.room.board.replace(&kept, &left.archived.iter().cloned().collect(), &mut self.record)?;
            }
        }
        // Last, because it cannot be taken back once others may have appended.
        self.append_entries(&left.entries)
    }

    fn put_decisions(&self, change: &Change, undo: &mut Vec<Undo>) -> Result<(), StoreError> {
        for decision in &change.decisions {
            put(self.room, &decision_file(decision)?, undo)?;
        }
        for amendment in &change.amendments {
            if let Some(write) = self.amended(amendment)? {
                put(self.room, &write, undo)?;
            }
        }
        Ok(())
    }

    /// Brings the arrays up to a journal line. One that nobody can read stays as it is,
    /// and the journal keeps what belongs in it.
    fn write_arrays(&mut self, line: &JournalLine, new: &HashSet<String>, undo: &mut Vec<ArrayUndo>) -> Result<(), StoreError> {
        let (room, record) = (self.room, &mut self.record);
        let mut is_whole = record.checkpoint_seq >= record.applied_seq;
        for array in ARRAYS {
            let edits = edits_of(&room.files, std::slice::from_ref(line), array)?;
            if edits.is_empty() {
                continue;
            }
            let edit = ArrayEdit { layout: &room.layout, array, edits: &edits, left: record.arrays[array as usize], new };
            match room.arrays.edit(&edit, undo)? {
                Some(edited) => record.leave_array(array, edited, line.seq),
                None => is_whole = false,
            }
        }
        if is_whole {
            record.checkpoint_seq = line.seq;
        }
        Ok(())
    }

    fn roll_back(&self, undo: &[Undo]) -> Result<(), StoreError> {
        let back = |step: &Undo| match step {
            Undo::File(before) => before.restore(self.room),
            Undo::Cut(file, size) => file.set_len(*size),
            // Entries that are in the archive stay there: the next writer completes the change.
            Undo::Archived => Err(StoreError::Damaged { what: "entries have left the board".to_owned() }),
            Undo::Arrays(arrays) => arrays.iter().rev().try_for_each(|undo| undo.roll_back(&self.room.layout)),
        };
        // On a full disk a step may need what a later one frees.
        let failed = undo.iter().rev().filter(|step| back(step).is_err()).count();
        if failed == 0 { Ok(()) } else { undo.iter().rev().try_for_each(back) }
    }

    /// The decision file from now on, or `None` if it says so already.
    fn amended(&self, amendment: &Amendment) -> Result<Option<FileWrite>, StoreError> {
        let Some((_, old)) = self.room.files.decision(&amendment.id)? else {
            return Err(StoreError::NoDecision { id: amendment.id.to_string() });
        };
        let mut document = JsonDocument::parse(&one_decision(&old))?;
        for (key, value) in &amendment.set {
            document.set(key, value)?;
        }
        let new = document.to_pretty()?.into_bytes();
        if new == old { Ok(None) } else { FileWrite::decision(&amendment.id, new).map(Some) }
    }

    /// Completes journal lines that are not carried out, and repeats recent ones
    /// if git has been at work since.
    pub fn recover(&mut self) -> Result<(), StoreError> {
        let (layout, boot) = (&self.room.layout, disk::boot());
        if self.record.boot != boot {
            if self.record.boot != 0 {
                for array in ARRAYS {
                    let is_sound = |bytes: &[u8]| array::scan(bytes).unreadable.is_empty();
                    layout.put_back(array.dir(layout), array.name(), is_sound)?;
                }
                // What the last run of the machine did not flush may be gone.
                self.record.applied_seq = self.record.applied_seq.min(self.record.synced_seq);
                self.record.checkpoint_seq = self.record.checkpoint_seq.min(self.record.synced_seq);
            }
            self.record.boot = boot;
        }
        self.room.journal.mend()?;
        let pending = self.room.journal.since(self.record.applied_seq, u64::MAX)?;
        for array in ARRAYS {
            if let Some(left) = self.record.arrays[array as usize].filter(|_| !pending.is_empty()) {
                mend_torn(layout, array, &left)?;
            }
        }
        for line in pending {
            let left = self.left_of(&line.change)?;
            self.apply(&line, &left, Pass::Again, &HashSet::new(), &mut Vec::new())?;
            self.close(&line)?;
        }
        self.repeat_after_git()
    }

    /// What is not done yet of a change that somebody began to carry out.
    fn left_of(&self, change: &Change) -> Result<Change, StoreError> {
        let mut left = change.clone();
        let is_whole = |bytes: &[u8]| JsonDocument::parse(&one_decision(bytes)).is_ok();
        let mut decisions = Vec::new();
        for decision in &change.decisions {
            if !self.room.files.decision(&decision.id)?.is_some_and(|(_, bytes)| is_whole(&bytes)) {
                decisions.push(decision.clone());
            }
        }
        // A decision that is gone from the tree is git's doing, and not ours to bring back.
        let is_made = |id: &Id| decisions.iter().any(|decision| decision.id == *id);
        left.amendments.retain(|amendment| is_made(&amendment.id) || self.amended(amendment).is_ok());
        left.decisions = decisions;
        let missing = self.board.missing(change.entries.iter().map(|entry| entry.id.as_str()))?;
        left.entries.retain(|entry| missing.contains(&entry.id));
        if !left.runs.is_empty() {
            let known = String::from_utf8_lossy(&RUNS.read(&nook(&self.room.layout)?)?).into_owned();
            left.runs.retain(|run| !known.contains(run.as_str()));
        }
        let mut missing: HashSet<String> = left.traces.iter().chain(&left.imported_traces).map(|trace| trace.id.clone()).collect();
        if let Some(file) = self.room.layout.top.open(TRACES)?.filter(|_| !missing.is_empty()) {
            tail::strike_out_present(&file, &mut missing)?;
        }
        left.traces.retain(|trace| missing.contains(&trace.id));
        left.imported_traces.retain(|trace| missing.contains(&trace.id));
        Ok(left)
    }

    fn repeat_after_git(&mut self) -> Result<(), StoreError> {
        let Some(index) = self.room.board.git_index() else { return Ok(()) };
        if index.mtime_ns == self.record.git_mtime_ns || self.room.board.git_is_busy() {
            return Ok(());
        }
        let since = (index.mtime_ns / 1_000_000).min(self.now.as_ms()) - RECENT_MS;
        let mut recent = self.room.journal.since(0, self.record.applied_seq)?;
        let replaced = self.arrays_were_replaced()?;
        recent.retain(|line| line.at.as_ms() >= since && (replaced || !self.stands(&line.change)));
        let witnesses: HashSet<String> = recent.iter().flat_map(|line| witnesses(&line.change)).collect();
        let decisions = recent.iter().flat_map(JournalLine::touched_decisions).cloned().collect();
        let safe = self.room.board.in_history(&witnesses, &decisions);
        let mut again = Change::default();
        for line in &recent {
            let lost = without_safe(&line.change, &safe);
            let left = self.left_of(&lost)?;
            self.put_decisions(&left, &mut Vec::new())?;
            self.append_entries(&left.entries)?;
            let touched = lost.decisions.iter().map(|decision| &decision.id).chain(lost.amendments.iter().map(|amendment| &amendment.id));
            again.amendments.extend(touched.map(|id| Amendment { id: id.clone(), set: Map::new() }));
            again.entities.extend(lost.entities);
            again.relations.extend(lost.relations);
            again.removed_entities.extend(lost.removed_entities);
            again.removed_relations.extend(lost.removed_relations);
        }
        if !again.is_empty() && replaced {
            let line = JournalLine { seq: self.next_seq(), at: self.now, change: again, drained: None, followed: None };
            self.room.journal.append(&line)?;
            self.write_arrays(&line, &HashSet::new(), &mut Vec::new())?;
            self.close(&line)?;
        }
        self.record.git_mtime_ns = index.mtime_ns;
        Ok(())
    }

    /// Whether the decisions that a change made or amended are as it left them.
    fn stands(&self, change: &Change) -> bool {
        let made = change.decisions.iter().all(|decision| matches!(self.room.files.decision_fingerprint(&decision.id), Ok(Some(_))));
        made && change.amendments.iter().all(|amendment| matches!(self.amended(amendment), Ok(None)))
    }

    fn arrays_were_replaced(&self) -> Result<bool, StoreError> {
        for array in ARRAYS {
            let left = self.record.arrays[array as usize].map(|known| known.to);
            if left.is_some() && self.room.files.array_fingerprint(array)? != left {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sequence numbers come from the clock so that a lost lock file, and with it
    /// the last number, does not make readers skip a line.
    fn next_seq(&self) -> u64 {
        let last = self.record.written_seq.max(self.record.applied_seq);
        (last + 1).max(u64::try_from(self.now.as_ms()).unwrap_or(0) << 10)
    }
}

/// Carries a write out, with a way back: also what fails halfway through is undone.
fn put(room: &Room, write: &FileWrite, undo: &mut Vec<Undo>) -> Result<(), StoreError> {
    undo.extend(write.before(room).map(Undo::File));
    write.carry_out(room, false)
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
    let Change { entries, decisions, amendments, entities, relations, removed_entities, removed_relations, .. } = change.clone();
    // Of the other files git keeps what it has.
    let mut lost = Change { entries, decisions, amendments, entities, relations, removed_entities, removed_relations, ..Change::default() };
    let is_safe = |text: Option<String>| text.is_some_and(|text| safe.contains(&text));
    lost.entries.retain(|entry| !safe.contains(&entry.id));
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

fn decision_file(decision: &Decision) -> Result<FileWrite, StoreError> {
    FileWrite::decision(&decision.id, (serde_json::to_string_pretty(decision)? + "\n").into_bytes())
}

fn run_lines(runs: &[String]) -> Result<String, StoreError> {
    let lines: String = runs.iter().map(|run| format!("{run}\n")).collect();
    if lines.len() > limits::RUN_BYTES { Err(StoreError::TooLarge { bytes: lines.len(), most: limits::RUN_BYTES }) } else { Ok(lines) }
}

/// A line of the board is shorter than a record may be: its newline counts.
fn lines_of(entries: &[Entry]) -> Result<Vec<u8>, StoreError> {
    tail::lines_of(entries, limits::RECORD_BYTES - 1)
}
