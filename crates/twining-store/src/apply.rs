//! Carrying a change out: journal first, then the files; and doing it again
//! after a crash, or after git took a file away.

use std::collections::HashSet;

use twining_model::{Amendment, Change, Decision, Document, Entry, Id, Time, limits};

use crate::board::{Footing, RECENT_MS};
use crate::disk;
use crate::error::StoreError;
use crate::files::Array;
use crate::journal::{Drained, JournalLine};
use crate::layout::DECISIONS;
use crate::queue;
use crate::record::Record;
use crate::store::Room;

/// What was there before, to go back to.
enum Undo {
    Remove(String),
    Restore(String, Vec<u8>),
}

impl Room {
    /// Appends a change that is nothing but entries.
    pub(crate) fn append_entries(&self, change: &Change, footing: Footing, record: &mut Record, now: Time) -> Result<(), StoreError> {
        if change.entries.is_empty() {
            return Ok(());
        }
        self.board.append(&lines_of(&change.entries)?, footing, record, now)
    }

    /// Writes a change to the journal and carries it out; if that fails,
    /// everything is as it was. The caller writes the record afterwards.
    pub(crate) fn journal_and_apply(
        &self,
        change: Change,
        drained: Option<Drained>,
        footing: Footing,
        record: &mut Record,
        now: Time,
    ) -> Result<(), StoreError> {
        check_sizes(&change)?;
        self.journal.mend()?;
        let size = self.journal.size()?;
        let line = JournalLine { seq: next_seq(record, now), at: now, change, drained };
        self.journal.append(&line)?;
        let mut undo = Vec::new();
        let applied = self.apply(&line, footing, record, &mut undo, now);
        match applied {
            Ok(()) => {
                record.written_seq = line.seq;
                // A queue file that could not be marked keeps the line open, so that
                // whoever comes next marks it before taking anything from it.
                let settled = line.drained.as_ref().map_or(Ok(()), |drained| queue::settle(&self.layout, drained));
                if settled.is_ok() {
                    record.applied_seq = line.seq;
                }
                Ok(())
            }
            Err(error) => {
                // If going back fails as well, the journal keeps the line and the
                // next writer completes it: whole, though we reported a failure.
                if self.roll_back(undo).is_ok() {
                    drop(self.journal.cut(size));
                }
                Err(error)
            }
        }
    }

    fn apply(&self, line: &JournalLine, footing: Footing, record: &mut Record, undo: &mut Vec<Undo>, now: Time) -> Result<(), StoreError> {
        for decision in &line.change.decisions {
            let name = file_name(&decision.id);
            self.put_decision(&name, pretty(decision)?.as_bytes())?;
            undo.push(Undo::Remove(name));
        }
        for amendment in &line.change.amendments {
            if let Some((old, new)) = self.amended(amendment)? {
                let name = file_name(&amendment.id);
                self.put_decision(&name, new.as_bytes())?;
                undo.push(Undo::Restore(name, old));
            }
        }
        // Last, because it cannot be taken back once others may have appended.
        self.append_entries(&line.change, footing, record, now)
    }

    /// Writes a decision file. git removes the directory when a switch empties it,
    /// also between our opening it and this moment; then it is made again.
    fn put_decision(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
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
                Undo::Remove(name) => {
                    self.layout.decisions.remove(&name)?;
                }
                Undo::Restore(name, bytes) => self.put_decision(&name, &bytes)?,
            }
        }
        Ok(())
    }

    /// The decision file before and after, or `None` if it says so already.
    fn amended(&self, amendment: &Amendment) -> Result<Option<(Vec<u8>, String)>, StoreError> {
        let Some((_, old)) = self.files.decision(&amendment.id)? else {
            return Err(StoreError::NoDecision { id: amendment.id.to_string() });
        };
        let mut document = Document::parse(&old)?;
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
        let held = self.lock.take()?;
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
                // What the last run of the machine did not flush may be gone.
                record.applied_seq = record.applied_seq.min(record.synced_seq);
                record.checkpoint_seq = record.checkpoint_seq.min(record.synced_seq);
            }
            record.boot = boot;
        }
        self.journal.mend()?;
        for line in self.journal.since(record.applied_seq, u64::MAX)? {
            self.repeat(&line, record, now)?;
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
        let lines = self.journal.since(0, record.applied_seq)?;
        let recent: Vec<&JournalLine> = lines.iter().filter(|line| line.at.as_ms() >= since).collect();
        let mut graph = Change::default();
        for line in &recent {
            self.repeat(line, record, now)?;
            graph.entities.extend(line.change.entities.iter().cloned());
            graph.relations.extend(line.change.relations.iter().cloned());
            graph.removed_entities.extend(line.change.removed_entities.iter().cloned());
            graph.removed_relations.extend(line.change.removed_relations.iter().cloned());
        }
        if !graph.is_empty() && self.arrays_were_replaced(record)? {
            let line = JournalLine { seq: next_seq(record, now), at: now, change: graph, drained: None };
            self.journal.append(&line)?;
            record.written_seq = line.seq;
            record.applied_seq = line.seq;
        }
        record.git_mtime_ns = index.mtime_ns;
        Ok(())
    }

    fn arrays_were_replaced(&self, record: &Record) -> Result<bool, StoreError> {
        for array in [Array::Entities, Array::Relations] {
            let left = record.checkpointed(array).map(|known| known.to);
            if left.is_some() && self.files.array_fingerprint(array)? != left {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Carries a line out again: what is there already stays.
    fn repeat(&self, line: &JournalLine, record: &mut Record, now: Time) -> Result<(), StoreError> {
        for decision in &line.change.decisions {
            let there = self.files.decision(&decision.id)?.is_some_and(|(_, bytes)| Document::parse(&bytes).is_ok());
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
