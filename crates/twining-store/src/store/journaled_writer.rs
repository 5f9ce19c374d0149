//! Carrying a change out: journal first, then the files; and doing it again
//! after a crash, or after git took a file away.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde_json::{Map, Value};
use twining_model::{
    Amendment, Anchor, Change, Decision, Entry, Id, JsonDocument, Time, Trace, limits,
};

use super::checkpoint::{ARRAYS, edits_of};
use super::documents::RUNS;
use super::file_writes;
use super::file_writes::FileWrite;
use super::line_file::{ANCHOR_FILE, TRACE_FILE, anchor_lines, machine_dir};
use super::project_store::Durability;
use super::store_handle::OpenStore;
use super::traces;
use crate::disk::layout::{ANCHORS, TRACES, random_bits};
use crate::disk::{self, FileHandle};
use crate::error::StoreError;
use crate::format::{array, torn_lines};
use crate::log::array_file::{ArrayEdit, ArrayUndo, repair_torn_array};
use crate::log::board::BoardFile;
use crate::log::board::RECENT_MS;
use crate::log::hook_queue;
use crate::log::journal::{DrainedFile, JournalLine, OutboxMark};
use crate::log::lock::LockGuard;
use crate::log::lock::LockState;
use crate::log::outbox_file::OutboxLine;
use crate::merge::one_decision;

/// How often, and after what pause, a step is repeated that met git at work on a decision.
const GIT_RETRIES: usize = 20;
const GIT_PAUSE: Duration = Duration::from_millis(5);

/// A change, and its ids that no array contains yet.
pub(crate) struct PlannedChange {
    pub change: Change,
    pub new: HashSet<String>,
    /// The key that the log was given it under; whether it took it is not known.
    pub sent_as: Option<Id>,
}

impl From<Change> for PlannedChange {
    fn from(change: Change) -> Self {
        Self { change, new: HashSet::new(), sent_as: None }
    }
}

/// What goes with a change in its line of the journal.
#[derive(Default)]
pub(super) struct LineMarks {
    pub drained: Option<DrainedFile>,
    pub followed: Option<u64>,
    pub outbox: Option<OutboxMark>,
}

/// What was there before, to go back to.
enum UndoStep {
    File(FileWrite),
    Arrays(Vec<ArrayUndo>),
    Cut(FileHandle, u64),
    Archived,
}

/// What a write put where, and so what to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteTarget {
    Nothing,
    Entries,
    Files,
    Journal,
}

/// Whether a journal line is carried out for the first time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ApplyPass {
    First,
    /// What is done already stays, and what was written since.
    Again,
}

/// One who holds the write lock, and what they know of the files.
pub(crate) struct StoreWriter<'r> {
    pub store: &'r OpenStore,
    guard: LockGuard<'r>,
    /// The record as written in the lock file.
    written: LockState,
    pub state: LockState,
    board: BoardFile,
    now: Time,
}

impl<'r> StoreWriter<'r> {
    /// Looks first how the board is.
    pub(super) fn new(
        store: &'r OpenStore,
        guard: LockGuard<'r>,
        now: Time,
    ) -> Result<Self, StoreError> {
        let written = LockState::read(guard.file())?;
        let mut state = written;
        let board = store.board.open_and_restore(&mut state, now)?;
        Ok(Self { store, guard, written, state, board, now })
    }

    /// The same, and completes what a killed writer left.
    pub(super) fn recovered(
        store: &'r OpenStore,
        guard: LockGuard<'r>,
        now: Time,
    ) -> Result<Self, StoreError> {
        let mut writer = Self::new(store, guard, now)?;
        let recovered = writer.recover();
        writer.save_state()?;
        recovered.map(|()| writer)
    }

    /// Before anyone reads or writes: completes what a killed writer or a power
    /// cut left undone.
    pub(super) fn recover_after_crash(store: &'r OpenStore, now: Time) -> Result<(), StoreError> {
        let state = store.lock_state()?;
        let rebooted = state.boot != 0 && state.boot != disk::boot_id();
        if store.journal.bytes()? == 0
            || (!rebooted && !store.journal.has_after(state.applied_seq)?)
        {
            return Ok(());
        }
        // The lock holder has done this, or is about to.
        store.lock_briefly()?.map_or(Ok(()), |guard| Self::recovered(store, guard, now).map(drop))
    }

    /// Writes the record down, if it says something new.
    pub(super) fn save_state(&mut self) -> Result<(), StoreError> {
        if self.state != self.written {
            self.state.write(self.guard.file())?;
            self.written = self.state;
        }
        Ok(())
    }

    /// Carries a planned change out. Where it is one write to one file it needs no journal.
    pub(super) fn commit(
        &mut self,
        mut planned: PlannedChange,
        drained: Option<DrainedFile>,
        durability: Durability,
    ) -> Result<WriteTarget, StoreError> {
        if planned.change.is_empty() && drained.is_none() {
            return Ok(WriteTarget::Nothing);
        }
        let outbox = self.mark_for_outbox(&mut planned)?;
        let is_plain = drained.is_none() && outbox.is_none();
        let committed = if is_plain && planned.change.is_one_write() {
            self.write_once(&planned.change, durability)
        } else {
            let marks = LineMarks { drained, outbox, ..LineMarks::default() };
            self.journal_and_apply(planned, marks).map(|()| WriteTarget::Journal)
        };
        // Also after a failure: what was rolled back moved the end of the board.
        let noted = self.save_state();
        let wrote = committed?;
        noted.map(|()| wrote)
    }

    /// In a linked folder, the key that the shared part of a change goes to the log under.
    fn mark_for_outbox(
        &self,
        planned: &mut PlannedChange,
    ) -> Result<Option<OutboxMark>, StoreError> {
        let Some(head) = self.store.outbox.head()? else { return Ok(None) };
        if let Some(signature) = &head.signature {
            signature.sign(&mut planned.change);
        }
        if planned.sent_as.is_some() && self.has_records_of(&planned.change)? {
            // The log took it, and another process has followed it meanwhile.
            planned.change = std::mem::take(&mut planned.change).split_shared().1;
        }
        if planned.change.clone().split_shared().0.is_empty() {
            return Ok(None);
        }
        self.note_values_before(&mut planned.change)?;
        let key = match planned.sent_as.take() {
            Some(key) => key,
            None => Id::from_parts(self.now, random_bits()?),
        };
        Ok(Some(OutboxMark { key, seal: head.seal }))
    }

    /// Whether records that a change makes are there already.
    fn has_records_of(&self, change: &Change) -> Result<bool, StoreError> {
        for decision in &change.decisions {
            if self.store.files.decision_fingerprint(&decision.id)?.is_some() {
                return Ok(true);
            }
        }
        let missing = self.board.missing(change.entries.iter().map(|entry| entry.id.as_str()))?;
        if missing.len() < change.entries.len() {
            return Ok(true);
        }
        let anchors = change.anchors.iter().map(|anchor| anchor.id.clone()).collect();
        Ok(self.missing_from(ANCHORS, anchors)?.len() < change.anchors.len())
    }

    /// Returns the ids that a file of lines does not contain.
    fn missing_from(
        &self,
        name: &str,
        mut ids: HashSet<String>,
    ) -> Result<HashSet<String>, StoreError> {
        if let Some(file) = self.store.layout.top.open(name)?.filter(|_| !ids.is_empty()) {
            torn_lines::remove_present_ids(&file, &mut ids)?;
        }
        Ok(ids)
    }

    /// Notes what amended fields were, for whoever merges the amendment with others'.
    fn note_values_before(&self, change: &mut Change) -> Result<(), StoreError> {
        for amendment in &mut change.amendments {
            let Some(before) = self.store.decision_fields(&amendment.id)? else { continue };
            amendment.was =
                before.into_iter().filter(|(field, _)| amendment.set.contains_key(field)).collect();
        }
        Ok(())
    }

    fn write_once(
        &mut self,
        change: &Change,
        durability: Durability,
    ) -> Result<WriteTarget, StoreError> {
        if !change.entries.is_empty() {
            self.append_entries(&change.entries)?;
            return Ok(WriteTarget::Entries);
        }
        for write in self.store.file_writes(change)? {
            write.apply_to(self.store, durability == Durability::Strict)?;
        }
        self.append_lines(change, &mut Vec::new())?;
        let mut undo = Vec::new();
        self.append_anchors(&change.anchors, &mut undo)
            .and_then(|()| self.remember_anchors(&change.anchors))
            // Nobody will acknowledge these lines, so they must not stay.
            .inspect_err(|_| drop(self.roll_back(&undo)))?;
        Ok(WriteTarget::Files)
    }

    fn append_entries(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.store.board.append(&self.board, &lines_of(entries)?, &mut self.state, self.now)
    }

    /// Adds what a change has for the files of lines besides the board.
    fn append_lines(&self, change: &Change, undo: &mut Vec<UndoStep>) -> Result<(), StoreError> {
        let (layout, now) = (&self.store.layout, self.now);
        if !change.runs.is_empty() {
            let file = RUNS.open(&machine_dir(layout)?)?;
            let size = file.fingerprint()?.size;
            let added =
                torn_lines::append_after_torn_line(&file, run_lines(&change.runs)?.as_bytes());
            undo.push(UndoStep::Cut(file, size));
            added?;
        }
        if change.traces.is_empty() && change.imported_traces.is_empty() {
            return Ok(());
        }
        // What was taken back after a failure has just come back, and is not written twice.
        let back = ids_in(&TRACE_FILE.restore(self.store, now)?);
        let rest = |traces: &[Trace]| {
            traces.iter().filter(|trace| !back.contains(&trace.id)).cloned().collect::<Vec<_>>()
        };
        let (own, imported) = (
            traces::lines_of(&rest(&change.traces))?,
            traces::lines_of(&rest(&change.imported_traces))?,
        );
        traces::drain(layout, now)?;
        let (file, size) = TRACE_FILE.open(layout)?;
        undo.push(UndoStep::Cut(file, size));
        traces::append(layout, &own, now)?;
        traces::append_lines(layout, &imported, now)
    }

    fn append_anchors(
        &self,
        anchors: &[Anchor],
        undo: &mut Vec<UndoStep>,
    ) -> Result<(), StoreError> {
        if anchors.is_empty() {
            return Ok(());
        }
        let back = ids_in(&ANCHOR_FILE.restore(self.store, self.now)?);
        let fresh = anchors.iter().filter(|anchor| !back.contains(&anchor.id)).cloned();
        let (file, size) = ANCHOR_FILE.open(&self.store.layout)?;
        undo.push(UndoStep::Cut(file, size));
        ANCHOR_FILE.write(&self.store.layout, &anchor_lines(&fresh.collect::<Vec<_>>())?)
    }

    /// Remembers anchors that are there to stay: what is taken back must not come back.
    fn remember_anchors(&self, anchors: &[Anchor]) -> Result<(), StoreError> {
        ANCHOR_FILE.remember(&self.store.layout, &anchor_lines(anchors)?, self.now)
    }

    /// Writes a change to the journal and carries it out; if that fails,
    /// everything is as it was. The caller notes the record afterwards.
    pub(super) fn journal_and_apply(
        &mut self,
        PlannedChange { change, new, .. }: PlannedChange,
        LineMarks { drained, followed, outbox }: LineMarks,
    ) -> Result<(), StoreError> {
        self.store.check_change(&change)?;
        let (seq, at) = (self.next_seq(), self.now);
        let line = JournalLine { seq, at, change, drained, followed, outbox };
        let size = self.store.journal.append(&line)?;
        let mut undo = Vec::new();
        let (remaining_part, checkpoint_seq) = (self.state.arrays, self.state.checkpoint_seq);
        if let Err(error) = self.apply(&line, &line.change, ApplyPass::First, &new, &mut undo) {
            (self.state.arrays, self.state.checkpoint_seq) = (remaining_part, checkpoint_seq);
            // If going back fails as well, the journal keeps the line and the
            // next writer completes it: whole, though we reported a failure.
            let undone = self.roll_back(&undo).and_then(|()| self.store.journal.truncate(size));
            return Err(if undone.is_ok() {
                error
            } else {
                StoreError::Unfinished(Box::new(error))
            });
        }
        // A queue file that could not be marked keeps the line open, so that the next process marks
        // it before taking anything from it.
        drop(self.close(&line, ApplyPass::First));
        Ok(())
    }

    /// A line is carried out, with the queue file it came from and the outbox it goes to.
    fn close(&mut self, line: &JournalLine, pass: ApplyPass) -> Result<(), StoreError> {
        self.state.written_seq = self.state.written_seq.max(line.seq);
        self.state.followed_seq = line.followed.unwrap_or(self.state.followed_seq);
        line.drained
            .as_ref()
            .map_or(Ok(()), |drained| hook_queue::mark_taken(&self.store.layout, drained))?;
        line.outbox.as_ref().map_or(Ok(()), |mark| self.add_to_outbox(line, mark, pass))?;
        self.remember_anchors(&line.change.anchors)?;
        self.state.applied_seq = line.seq;
        Ok(())
    }

    fn add_to_outbox(
        &self,
        line: &JournalLine,
        OutboxMark { key, seal }: &OutboxMark,
        pass: ApplyPass,
    ) -> Result<(), StoreError> {
        let outbox = &self.store.outbox;
        if outbox.seal()?.as_ref() != Some(seal)
            || (pass == ApplyPass::Again && outbox.contains(key)?)
        {
            return Ok(());
        }
        let (change, _) = line.change.clone().split_shared();
        outbox.add(&[OutboxLine { key: key.clone(), at: line.at, change, accepted: None }])
    }

    /// Carries out what is left to do of a line.
    fn apply(
        &mut self,
        line: &JournalLine,
        remaining_part: &Change,
        pass: ApplyPass,
        new: &HashSet<String>,
        undo: &mut Vec<UndoStep>,
    ) -> Result<(), StoreError> {
        self.write_decisions(remaining_part, undo)?;
        let mut edited = Vec::new();
        let arrays = self.write_arrays(line, new, &mut edited);
        undo.push(UndoStep::Arrays(edited));
        arrays?;
        for write in self.store.file_writes(remaining_part)? {
            if pass == ApplyPass::First || !write.was_written_after(self.store, line.at)? {
                write_with_undo(self.store, &write, undo)?;
            }
        }
        self.append_lines(remaining_part, undo)?;
        self.append_anchors(&remaining_part.anchors, undo)?;
        if !remaining_part.archived.is_empty() {
            undo.push(UndoStep::Archived);
            if let Some(remaining) =
                file_writes::move_out(&self.store.layout, &remaining_part.archived, self.now)?
            {
                self.board = self.store.board.replace(
                    &remaining,
                    &remaining_part.archived.iter().cloned().collect(),
                    &mut self.state,
                )?;
            }
        }
        // Last, because it cannot be taken back once others may have appended.
        self.append_entries(&remaining_part.entries)
    }

    fn write_decisions(&self, change: &Change, undo: &mut Vec<UndoStep>) -> Result<(), StoreError> {
        for decision in &change.decisions {
            write_with_undo(self.store, &decision_file(decision)?, undo)?;
        }
        for amendment in &change.amendments {
            if let Some(write) = self.amended(amendment)? {
                write_with_undo(self.store, &write, undo)?;
            }
        }
        Ok(())
    }

    /// Brings the arrays up to a journal line. One that nobody can read stays as it is,
    /// and the journal keeps what belongs in it.
    fn write_arrays(
        &mut self,
        line: &JournalLine,
        new: &HashSet<String>,
        undo: &mut Vec<ArrayUndo>,
    ) -> Result<(), StoreError> {
        let (store, state) = (self.store, &mut self.state);
        let mut is_whole = state.checkpoint_seq >= state.applied_seq;
        for array in ARRAYS {
            let edits = edits_of(&store.files, std::slice::from_ref(line), array)?;
            if edits.is_empty() {
                continue;
            }
            let edit = ArrayEdit {
                layout: &store.layout,
                array,
                edits: &edits,
                last_state: state.arrays[array as usize],
                new,
            };
            match store.arrays.edit(&edit, undo)? {
                Some(edited) => state.set_array_state(array, edited, line.seq),
                None => is_whole = false,
            }
        }
        if is_whole {
            state.checkpoint_seq = line.seq;
        }
        Ok(())
    }

    fn roll_back(&self, undo: &[UndoStep]) -> Result<(), StoreError> {
        let back = |step: &UndoStep| match step {
            UndoStep::File(before) => before.restore(self.store),
            UndoStep::Cut(file, size) => file.set_len(*size),
            // Entries that are in the archive stay there: the next writer completes the change.
            UndoStep::Archived => {
                Err(StoreError::Damaged { what: "entries are already archived".to_owned() })
            }
            UndoStep::Arrays(arrays) => {
                arrays.iter().rev().try_for_each(|undo| undo.roll_back(&self.store.layout))
            }
        };
        // On a full disk a step may need what a later one frees.
        let failed = undo.iter().rev().filter(|step| back(step).is_err()).count();
        if failed == 0 { Ok(()) } else { undo.iter().rev().try_for_each(back) }
    }

    /// The decision file from now on, or `None` if it says so already.
    fn amended(&self, amendment: &Amendment) -> Result<Option<FileWrite>, StoreError> {
        let Some((_, old)) = self.store.files.decision(&amendment.id)? else {
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
    pub(super) fn recover(&mut self) -> Result<(), StoreError> {
        let (layout, boot) = (&self.store.layout, disk::boot_id());
        if self.state.boot != boot {
            if self.state.boot != 0 {
                for array in ARRAYS {
                    let is_sound = |bytes: &[u8]| array::scan(bytes).unreadable.is_empty();
                    layout.restore_backup(array.dir(layout), array.name(), is_sound)?;
                }
                // What the last run of the machine did not flush may be gone.
                self.state.applied_seq = self.state.applied_seq.min(self.state.synced_seq);
                self.state.checkpoint_seq = self.state.checkpoint_seq.min(self.state.synced_seq);
            }
            self.state.boot = boot;
        }
        self.store.journal.repair_tail()?;
        let pending = self.store.journal.since(self.state.applied_seq, u64::MAX)?;
        for array in ARRAYS {
            if let Some(remaining_part) =
                self.state.arrays[array as usize].filter(|_| !pending.is_empty())
            {
                repair_torn_array(layout, array, &remaining_part)?;
            }
        }
        for line in pending {
            self.beside_git(|writer| {
                let remaining_part = writer.remaining_change(&line.change)?;
                let (nothing, undo) = (HashSet::new(), &mut Vec::new());
                writer.apply(&line, &remaining_part, ApplyPass::Again, &nothing, undo)
            })?;
            self.close(&line, ApplyPass::Again)?;
        }
        self.repeat_after_git()
    }

    /// Repeats a step of the recovery that met a decision file which git was just removing or
    /// writing. What is done is left out the next time, so only such a moment makes it fail.
    fn beside_git(
        &mut self,
        mut step: impl FnMut(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for _ in 0..GIT_RETRIES {
            match step(self) {
                Err(StoreError::NoDecision { .. } | StoreError::Encode(_)) => {
                    std::thread::sleep(GIT_PAUSE);
                }
                ended => return ended,
            }
        }
        step(self)
    }

    /// What is not done yet of a change that somebody began to carry out.
    fn remaining_change(&self, change: &Change) -> Result<Change, StoreError> {
        let mut remaining_part = change.clone();
        let is_whole = |bytes: &[u8]| JsonDocument::parse(&one_decision(bytes)).is_ok();
        let mut decisions = Vec::new();
        for decision in &change.decisions {
            if !self.store.files.decision(&decision.id)?.is_some_and(|(_, bytes)| is_whole(&bytes))
            {
                decisions.push(decision.clone());
            }
        }
        // A decision that is gone from the tree is git's doing, and not ours to bring back.
        let is_made = |id: &Id| decisions.iter().any(|decision| decision.id == *id);
        remaining_part
            .amendments
            .retain(|amendment| is_made(&amendment.id) || self.amended(amendment).is_ok());
        remaining_part.decisions = decisions;
        let missing = self.board.missing(change.entries.iter().map(|entry| entry.id.as_str()))?;
        remaining_part.entries.retain(|entry| missing.contains(&entry.id));
        if !remaining_part.runs.is_empty() {
            let known = String::from_utf8_lossy(&RUNS.read(&machine_dir(&self.store.layout)?)?)
                .into_owned();
            remaining_part.runs.retain(|run| !known.contains(run.as_str()));
        }
        let traces = change.traces.iter().chain(&change.imported_traces);
        let missing = self.missing_from(TRACES, traces.map(|trace| trace.id.clone()).collect())?;
        remaining_part.traces.retain(|trace| missing.contains(&trace.id));
        remaining_part.imported_traces.retain(|trace| missing.contains(&trace.id));
        let anchors = change.anchors.iter().map(|anchor| anchor.id.clone()).collect();
        let missing = self.missing_from(ANCHORS, anchors)?;
        remaining_part.anchors.retain(|anchor| missing.contains(&anchor.id));
        Ok(remaining_part)
    }

    fn repeat_after_git(&mut self) -> Result<(), StoreError> {
        let Some(index) = self.store.board.git_index() else { return Ok(()) };
        if index.mtime_ns == self.state.git_mtime_ns || self.store.board.git_is_busy() {
            return Ok(());
        }
        ANCHOR_FILE.restore(self.store, self.now)?;
        let since = (index.mtime_ns / 1_000_000).min(self.now.as_ms()) - RECENT_MS;
        let mut recent = self.store.journal.since(0, self.state.applied_seq)?;
        recent.retain(|line| line.at.as_ms() >= since);
        let altered = self.altered_decisions(&recent);
        let replaced = self.arrays_were_replaced()?;
        recent.retain(|line| replaced || line.touched_decisions().any(|id| altered.contains(id)));
        let identifying_texts: HashSet<String> =
            recent.iter().flat_map(|line| identifying_texts(&line.change)).collect();
        let decisions = recent.iter().flat_map(JournalLine::touched_decisions).cloned().collect();
        let committed_texts = self.store.board.in_history(&identifying_texts, &decisions);
        let mut again = Change::default();
        for mut lost in without_committed(&recent, &committed_texts) {
            lost.amendments.retain(|amendment| altered.contains(&amendment.id));
            self.beside_git(|writer| {
                let remaining_part = writer.remaining_change(&lost)?;
                writer.write_decisions(&remaining_part, &mut Vec::new())?;
                writer.append_entries(&remaining_part.entries)
            })?;
            let touched = lost
                .decisions
                .iter()
                .map(|decision| &decision.id)
                .chain(lost.amendments.iter().map(|amendment| &amendment.id));
            again.amendments.extend(touched.map(|id| Amendment::new(id.clone(), Map::new())));
            again.entities.extend(lost.entities);
            again.relations.extend(lost.relations);
            again.removed_entities.extend(lost.removed_entities);
            again.removed_relations.extend(lost.removed_relations);
        }
        if !again.is_empty() && replaced {
            let line = JournalLine {
                seq: self.next_seq(),
                at: self.now,
                change: again,
                drained: None,
                followed: None,
                outbox: None,
            };
            self.store.journal.append(&line)?;
            self.write_arrays(&line, &HashSet::new(), &mut Vec::new())?;
            self.close(&line, ApplyPass::First)?;
        }
        self.state.git_mtime_ns = index.mtime_ns;
        Ok(())
    }

    /// The decisions that are not as these lines left them, all together: an amendment alone says
    /// less than the ones after it.
    fn altered_decisions(&self, lines: &[JournalLine]) -> HashSet<Id> {
        let mut amended: BTreeMap<&Id, Amendment> = BTreeMap::new();
        for amendment in lines.iter().flat_map(|line| &line.change.amendments) {
            let id = &amendment.id;
            let all = amended.entry(id).or_insert_with(|| Amendment::new(id.clone(), Map::new()));
            all.set.extend(amendment.set.clone());
        }
        let made = lines.iter().flat_map(|line| &line.change.decisions).map(|made| &made.id);
        let is_missing =
            |id: &&Id| !matches!(self.store.files.decision_fingerprint(id), Ok(Some(_)));
        let altered = amended.values().filter(|all| !matches!(self.amended(all), Ok(None)));
        made.filter(is_missing).chain(altered.map(|all| &all.id)).cloned().collect()
    }

    fn arrays_were_replaced(&self) -> Result<bool, StoreError> {
        for array in ARRAYS {
            let remaining_part = self.state.arrays[array as usize].map(|known| known.to);
            if remaining_part.is_some()
                && self.store.files.array_fingerprint(array)? != remaining_part
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sequence numbers come from the clock so that a lost lock file, and with it
    /// the last number, does not make readers skip a line.
    fn next_seq(&self) -> u64 {
        let last = self.state.written_seq.max(self.state.applied_seq);
        (last + 1).max(u64::try_from(self.now.as_ms()).unwrap_or(0) << 10)
    }
}

impl OpenStore {
    /// Builds everything that a change would write. One in the journal or in the log must not be
    /// rejected for its content: carrying it out would fail forever.
    pub(super) fn check_change(&self, change: &Change) -> Result<(), StoreError> {
        lines_of(&change.entries)?;
        traces::lines_of(&change.traces)?;
        traces::lines_of(&change.imported_traces)?;
        anchor_lines(&change.anchors)?;
        run_lines(&change.runs)?;
        change.decisions.iter().try_for_each(|decision| decision_file(decision).map(drop))?;
        // Elements become parts of files that others share: text that is no element would break them.
        change.agents.values().try_for_each(|element| check_element(element))?;
        change.handoffs.iter().try_for_each(|handoff| check_element(&handoff.line))?;
        self.file_writes(change).map(drop)
    }
}

fn check_element(text: &str) -> Result<(), StoreError> {
    let one_line = || serde::de::Error::custom("a record must be on one line");
    serde_json::from_str::<Map<String, Value>>(text)
        .and_then(|_| if text.contains('\n') { Err(one_line()) } else { Ok(()) })
        .map_err(StoreError::from)
}

/// Carries a write out, with a way back: also what fails halfway through is undone.
fn write_with_undo(
    store: &OpenStore,
    write: &FileWrite,
    undo: &mut Vec<UndoStep>,
) -> Result<(), StoreError> {
    undo.extend(write.current(store).map(UndoStep::File));
    write.apply_to(store, false)
}

/// Returns texts that identify the parts of a change in a commit: ids for what is written once,
/// whole elements for what may change.
fn identifying_texts(change: &Change) -> Vec<String> {
    let entries = change.entries.iter().map(|entry| entry.id.clone());
    let decisions = change.decisions.iter().map(|decision| decision.id.to_string());
    let amendments = change.amendments.iter().filter_map(identifying_text);
    let entities = change.entities.iter().filter_map(|entity| serde_json::to_string(entity).ok());
    let relations =
        change.relations.iter().filter_map(|relation| serde_json::to_string(relation).ok());
    entries.chain(decisions).chain(amendments).chain(entities).chain(relations).collect()
}

/// Returns the time of the last change it records, which is unique.
fn identifying_text(amendment: &Amendment) -> Option<String> {
    let last = |list: &str, field: &str| {
        amendment.set.get(list)?.as_array()?.last()?.get(field)?.as_str().map(str::to_owned)
    };
    last("history", "at").or_else(|| last("commits", "linked_at"))
}

/// What is left of the lines' changes when the parts that are safe are taken away.
fn without_committed(lines: &[JournalLine], committed_texts: &HashSet<String>) -> Vec<Change> {
    let is_committed =
        |text: Option<String>| text.is_some_and(|text| committed_texts.contains(&text));
    // What a decision went through before a committed amendment is in that commit as well.
    let mut committed: HashSet<&Id> = HashSet::new();
    let mut changes = Vec::new();
    for JournalLine { change, .. } in lines.iter().rev() {
        let mut lost = change.clone();
        lost.entries.retain(|entry| !committed_texts.contains(&entry.id));
        lost.decisions.retain(|decision| !committed_texts.contains(decision.id.as_str()));
        lost.amendments.clear();
        for amendment in change.amendments.iter().rev() {
            if is_committed(identifying_text(amendment)) {
                committed.insert(&amendment.id);
            } else if !committed.contains(&amendment.id) {
                lost.amendments.insert(0, amendment.clone());
            }
        }
        lost.entities.retain(|entity| !is_committed(serde_json::to_string(entity).ok()));
        lost.relations.retain(|relation| !is_committed(serde_json::to_string(relation).ok()));
        if !committed_texts.is_empty() && lost.entities.is_empty() && lost.relations.is_empty() {
            // What was pruned with them was pruned in that commit as well.
            lost.removed_entities.clear();
            lost.removed_relations.clear();
        }
        changes.push(lost);
    }
    changes.reverse();
    changes
}

fn decision_file(decision: &Decision) -> Result<FileWrite, StoreError> {
    FileWrite::decision(&decision.id, (serde_json::to_string_pretty(decision)? + "\n").into_bytes())
}

fn run_lines(runs: &[String]) -> Result<String, StoreError> {
    let lines: String = runs.iter().map(|run| format!("{run}\n")).collect();
    if lines.len() > limits::RUN_BYTES {
        Err(StoreError::TooLarge { bytes: lines.len(), max_bytes: limits::RUN_BYTES })
    } else {
        Ok(lines)
    }
}

fn ids_in(lines: &[u8]) -> HashSet<String> {
    lines.split(|byte| *byte == b'\n').filter_map(torn_lines::id_of).collect()
}

/// A line of the board is shorter than a record may be: its newline counts.
fn lines_of(entries: &[Entry]) -> Result<Vec<u8>, StoreError> {
    torn_lines::to_json_lines(entries, limits::RECORD_BYTES - 1)
}
