//! The journal: every change that touches more than the blackboard is one line
//! here before it is anywhere else, so it happens whole or not at all.
//!
//! Lines stay for a while after they are in the files. If git takes a file away
//! from under us in that time, they are carried out again.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use twining_model::{Change, Id, Time};

use crate::disk::layout::Layout;
use crate::disk::{Dir, FileHandle};
use crate::error::{LogError, StoreError};
use crate::format::torn_lines;

/// Writes that are not in every array yet, in `local/`.
pub(crate) const JOURNAL: &str = "journal.jsonl";
const MAX_BYTES: usize = 256 * 1024 * 1024;
/// Bytes from the end in which the last line is looked for.
const LAST_BYTES: u64 = 8 * 1024;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalLine {
    /// Grows from line to line, also over a lost journal.
    pub seq: u64,
    /// When it was written.
    pub at: Time,
    /// What it does.
    pub change: Change,
    /// A drained queue file that goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drained: Option<DrainedFile>,
    /// How far the log was followed with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<u64>,
    /// The line of the outbox that goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outbox: Option<OutboxMark>,
}

/// That a change goes to the log too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxMark {
    /// The key that it is sent under, for good.
    pub key: Id,
    /// The folder that it was made in: a journal that came with a clone sends nothing.
    pub seal: String,
}

impl JournalLine {
    /// The decisions it makes or amends.
    pub fn touched_decisions(&self) -> impl Iterator<Item = &Id> {
        let made = self.change.decisions.iter().map(|decision| &decision.id);
        made.chain(self.change.amendments.iter().map(|amendment| &amendment.id))
    }
}

/// A queue file whose lines up to `through` became entries of this change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainedFile {
    /// Its name in `local/`.
    pub file: String,
    /// How many bytes of it were taken.
    pub through: u64,
}

/// Which line it is, without reading what it does.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct LineStamp {
    pub(crate) seq: u64,
    pub(crate) at: Time,
}

impl LineStamp {
    pub(crate) fn of(line: &JournalLine) -> Self {
        Self { seq: line.seq, at: line.at }
    }
}

/// The journal file.
pub(crate) struct Journal {
    local: Dir,
    cursor: Mutex<JournalCursor>,
}

/// Up to where a reader has read, so that it need not start over.
#[derive(Clone, Copy, Debug, Default)]
struct JournalCursor {
    ino: u64,
    offset: u64,
    seq: u64,
}

impl Journal {
    /// The journal in `local/`.
    pub(crate) fn new(local: &Dir) -> Self {
        Self { local: local.clone(), cursor: Mutex::new(JournalCursor::default()) }
    }

    /// Appends a line, and returns the journal's previous length. The caller holds the write lock.
    pub(crate) fn append(&self, line: &JournalLine) -> Result<u64, StoreError> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let handle = self.local.create_append(JOURNAL)?;
        let before = truncate_torn_line(&handle)?;
        // A torn line is cut off by the next writer if this fails too.
        handle.write(&text).inspect_err(|_| drop(handle.set_len(before)))?;
        Ok(before)
    }

    /// Cuts the journal back to a length it had.
    pub(crate) fn truncate(&self, size: u64) -> Result<(), StoreError> {
        *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = JournalCursor::default();
        self.local.create_append(JOURNAL)?.set_len(size)
    }

    /// Flushes it to the device.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.local.create_append(JOURNAL)?.sync()
    }

    /// Cuts off a line that a killed writer left half written. The caller holds the lock.
    pub(crate) fn repair_tail(&self) -> Result<(), StoreError> {
        self.local
            .open_append(JOURNAL)?
            .map_or(Ok(0), |handle| truncate_torn_line(&handle))
            .map(drop)
    }

    /// Whether there are lines after `seq`.
    pub(crate) fn has_after(&self, seq: u64) -> Result<bool, StoreError> {
        Ok(self.last()?.is_some_and(|last| last.seq > seq))
    }

    /// The stamp of the last line: mostly read without the lines before it.
    pub(crate) fn last(&self) -> Result<Option<LineStamp>, StoreError> {
        let Some(handle) = self.local.open(JOURNAL)? else { return Ok(None) };
        let (tail, _) = handle.read_tail(LAST_BYTES)?;
        let mut lines = tail.strip_suffix(b"\n").unwrap_or_default().rsplit(|&byte| byte == b'\n');
        match lines.next().map(serde_json::from_slice) {
            Some(Ok(last)) => Ok(Some(last)),
            // Longer than that, torn, or none at all.
            _ => Ok(self.since(0, u64::MAX)?.last().map(LineStamp::of)),
        }
    }

    /// Every line after `seq` up to `through`, in order. A line that does not parse
    /// is passed over; one after `through` is not settled yet.
    pub(crate) fn since(&self, seq: u64, through: u64) -> Result<Vec<JournalLine>, StoreError> {
        let Some(handle) = self.local.open(JOURNAL)? else { return Ok(Vec::new()) };
        let print = handle.fingerprint()?;
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = cursor.ino == print.ino && cursor.offset <= print.size && cursor.seq <= seq;
        let start = if fits { cursor.offset } else { 0 };
        let length = usize::try_from(print.size - start).unwrap_or(usize::MAX).min(MAX_BYTES);
        let mut bytes = vec![0; length];
        let read = handle.read_at(&mut bytes, start)?;
        bytes.truncate(read);
        let mut lines = Vec::new();
        let mut taken = 0;
        let mut last = if fits { cursor.seq } else { 0 };
        for text in bytes.split_inclusive(|&byte| byte == b'\n') {
            if !text.ends_with(b"\n") {
                break;
            }
            let number = serde_json::from_slice::<LineStamp>(text).map(|line| line.seq);
            if number.as_ref().is_ok_and(|&number| number > through) {
                break;
            }
            taken += text.len() as u64;
            let Ok(number) = number else { continue };
            last = last.max(number);
            if number > seq {
                lines.extend(serde_json::from_slice::<JournalLine>(text).ok());
            }
        }
        *cursor = JournalCursor { ino: print.ino, offset: start + taken, seq: last };
        Ok(lines)
    }

    /// Keeps only the given lines. The caller holds the write lock.
    pub(crate) fn rewrite(&self, layout: &Layout, lines: &[JournalLine]) -> Result<(), StoreError> {
        layout.replace(
            &self.local,
            JOURNAL,
            &torn_lines::to_json_lines(lines, MAX_BYTES)?,
            !lines.is_empty(),
        )
    }

    /// The length of the file, zero if there is none.
    pub(crate) fn bytes(&self) -> Result<u64, StoreError> {
        Ok(self.local.print(JOURNAL)?.map_or(0, |print| print.size))
    }
}

/// The length without a torn last line, which is cut off.
fn truncate_torn_line(handle: &FileHandle) -> Result<u64, StoreError> {
    let size = handle.fingerprint()?.size;
    if torn_lines::last_byte(handle, size)? == b'\n' {
        return Ok(size);
    }
    let start = torn_lines::last_line_start(handle, size)?;
    handle.set_len(start)?;
    Ok(start)
}

/// The version of the lines that this program writes and reads.
pub const LOG_VERSION: u32 = 1;

/// A line that is to be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewLine {
    /// Names the line: under one key it is added once, however often it is sent.
    pub key: Id,
    /// What it does.
    pub change: Change,
}

/// A line of the log. Numbers have no gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Its number, from one.
    pub seq: u64,
    /// Its key.
    pub key: Id,
    /// What it does.
    pub change: Change,
}

/// A stretch of the log in fewer lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CondensedLines {
    /// The number of its last line.
    pub through: u64,
    /// The key of that line, if it is known.
    pub key: Option<Id>,
    /// What it does, one after the other.
    pub changes: Vec<Change>,
}

/// What new lines were planned on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogBase {
    /// Nothing: they are true whatever others wrote.
    Any,
    /// A view that holds every line up to this one.
    At(u64),
}

/// A log that others write too.
pub trait Log: Send + Sync {
    /// Appends lines under their keys, all or none, and returns their numbers.
    fn append(&self, base: LogBase, lines: &[NewLine]) -> Result<Vec<u64>, LogError>;

    /// Lines after a number, in order, at most so many.
    fn since(&self, after: u64, limit: usize) -> Result<Vec<LogLine>, LogError>;

    /// A stretch of the log after a number, in fewer lines; none if the log has no more, or does not
    /// know how.
    fn condensed(&self, after: u64) -> Result<Option<CondensedLines>, LogError> {
        let _ = after;
        Ok(None)
    }

    /// Appends lines that were planned on an old view, where the log's keeper makes of them what
    /// it may hold. Known keys are answered with their numbers, whatever the lines say now.
    fn admit(&self, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        self.append(LogBase::Any, lines)
    }

    /// The numbers of the lines with these keys, none for a key that is not known.
    fn numbers_of(&self, keys: &[Id]) -> Result<Vec<Option<u64>>, LogError> {
        let (mut found, mut after) = (vec![None; keys.len()], 0);
        loop {
            let lines = self.since(after, 1024)?;
            let Some(last) = lines.last() else { return Ok(found) };
            after = last.seq;
            for (key, number) in keys.iter().zip(&mut found) {
                *number = number
                    .or_else(|| lines.iter().find(|line| line.key == *key).map(|line| line.seq));
            }
        }
    }
}
