//! Vectors of texts: `local/vectors-<model>.bin`, a cache like the index beside it.
//!
//! A vector depends on its text and on the model alone, so each model has a file of its own, in
//! which a vector is keyed by a hash of the text. Two programs with different models can work on
//! one folder: neither reads the other's vectors, and neither removes them while they are in use.
//! Rebuilding the index, switching branches and back, dismissing or archiving an entry: none of
//! them costs a vector. Rows have one size and are appended whole; a torn or altered one is
//! skipped. A file that came with a clone is not read: its author could pair any text with any
//! other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use twining_model::{Decision, Entry, limits};
use xxhash_rust::xxh3::xxh3_64;

use super::catch_up::clip;
use super::view::row_limit;
use crate::disk::layout::{Layout, random_bits};
use crate::disk::{Dir, FileHandle, Fingerprint};
use crate::error::StoreError;
use crate::log::lock::{FileLock, LockGuard};

/// Bytes of one vector: a scale, and a number from -127 to 127 for each dimension.
pub const VECTOR_BYTES: usize = 388;
/// A vector as it is stored. What the bytes mean is the model's business.
pub type VectorBytes = [u8; VECTOR_BYTES];

/// The file of the first model, from when there was one file for all.
const FIRST_FILE: &str = "vectors.bin";
/// A file of another model that was last written so long before ours is not in use any more.
const UNUSED_NS: i64 = 30 * 24 * 3600 * 1_000_000_000;
const MAGIC: &[u8; 8] = b"TWNVEC\x00\x02";
/// Magic, seal, and a number that distinguishes two files of one name.
const HEAD: usize = 24;
const ROW: usize = 8 + VECTOR_BYTES + 4;
/// Rows that are read at once.
const STRIDE: usize = 2048;

/// What a text is known by. Two texts share one about never; if they do, one of
/// them is found by the other's meaning.
#[must_use]
pub fn vector_key(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

/// The files of vectors, one for each model.
pub(crate) struct VectorFiles {
    layout: Layout,
    by_model: Mutex<HashMap<u64, Arc<VectorFile>>>,
}

impl VectorFiles {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { layout: layout.clone(), by_model: Mutex::default() }
    }

    /// The file of the model that this number identifies.
    pub(crate) fn of(&self, model: u64) -> Arc<VectorFile> {
        let mut files = self.by_model.lock().unwrap_or_else(PoisonError::into_inner);
        let file =
            files.entry(model).or_insert_with(|| Arc::new(VectorFile::new(&self.layout, model)));
        Arc::clone(file)
    }
}

/// The file of the vectors that one model made.
pub struct VectorFile {
    layout: Layout,
    model: u64,
    name: String,
    lock: FileLock,
    embedding_lock: FileLock,
    /// Whether files that other models left were looked for.
    is_tidied: AtomicBool,
}

/// How far a reader has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorCursor {
    /// The file as it was when it was read to its end.
    seen: Option<Fingerprint>,
    /// Which file: a new one may get the inode of one that was removed.
    file: u64,
    offset: u64,
}

/// What reading on came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorReadOutcome {
    /// Everything there is has been read.
    Done,
    /// It is another file now: forget what was read, and read it from the start.
    Replaced,
}

impl VectorFile {
    fn new(layout: &Layout, model: u64) -> Self {
        Self {
            layout: layout.clone(),
            model,
            name: format!("vectors-{model:016x}.bin"),
            lock: FileLock::new(&layout.local, "vectors.lock"),
            embedding_lock: FileLock::new(&layout.local, format!("embed-{model:016x}.lock")),
            is_tidied: AtomicBool::new(false),
        }
    }

    /// The turn to make vectors of this model, unless another process has it: two that made the
    /// same ones would be no faster.
    pub fn try_embedding_lock(&self) -> Result<Option<LockGuard<'_>>, StoreError> {
        self.embedding_lock.try_acquire()
    }

    /// Whether the cursor is at the end of the file.
    pub fn is_read(&self, cursor: &VectorCursor) -> Result<bool, StoreError> {
        let now = self.local().stat(&self.name)?.map(|(_, now)| now);
        Ok(cursor.seen == now && (now.is_some() || *cursor == VectorCursor::default()))
    }

    /// Reads the rows that the cursor has not seen.
    pub fn read_new(
        &self,
        cursor: &mut VectorCursor,
        each: &mut dyn FnMut(u64, &VectorBytes),
    ) -> Result<VectorReadOutcome, StoreError> {
        let Some((_, now)) = self.local().stat(&self.name)? else { return Ok(forget(cursor)) };
        if cursor.seen == Some(now) {
            return Ok(VectorReadOutcome::Done);
        }
        let Some(handle) = self.local().open(&self.name)? else { return Ok(forget(cursor)) };
        let Some(file) = self.own_file_id(&handle)? else { return Ok(forget(cursor)) };
        let now = handle.fingerprint()?;
        if file != cursor.file || now.size < cursor.offset {
            if *cursor != VectorCursor::default() {
                return Ok(forget(cursor));
            }
            *cursor = VectorCursor { seen: None, file, offset: HEAD as u64 };
        }
        read_rows(&handle, cursor, each)?;
        cursor.seen = (now.size == cursor.offset).then_some(now);
        Ok(VectorReadOutcome::Done)
    }

    /// Adds rows. They are not flushed: a vector that a power cut takes is made again.
    pub fn append(&self, rows: &[(u64, VectorBytes)]) -> Result<(), StoreError> {
        let _lock = self.lock.acquire()?;
        self.add(rows)?;
        if !self.is_tidied.swap(true, Ordering::Relaxed) {
            // A file that cannot be removed costs space and nothing else.
            drop(self.remove_unused());
        }
        Ok(())
    }

    fn add(&self, rows: &[(u64, VectorBytes)]) -> Result<(), StoreError> {
        let Some(handle) = self.local().open_append(&self.name)? else { return self.begin(rows) };
        if self.own_file_id(&handle)?.is_none() {
            return self.begin(rows);
        }
        let Fingerprint { size, .. } = handle.fingerprint()?;
        let torn = (size - HEAD as u64) % ROW as u64;
        if torn > 0 {
            handle.set_len(size - torn)?;
        }
        handle.write(&rows_bytes(rows))
    }

    /// Puts these rows in the place of all.
    pub fn rewrite(&self, rows: &[(u64, VectorBytes)]) -> Result<(), StoreError> {
        let _lock = self.lock.acquire()?;
        self.begin(rows)
    }

    /// Removes the files of models that nobody used for a month before ours was written.
    fn remove_unused(&self) -> Result<(), StoreError> {
        let Some(own) = self.local().print(&self.name)? else { return Ok(()) };
        for name in self.local().list()? {
            let model = name.strip_prefix("vectors-").and_then(|rest| rest.strip_suffix(".bin"));
            if name == self.name || (model.is_none() && name != FIRST_FILE) {
                continue;
            }
            let Some(other) = self.local().print(&name)? else { continue };
            if own.mtime_ns.saturating_sub(other.mtime_ns) > UNUSED_NS {
                self.local().remove(&name)?;
                self.local().remove(&match model {
                    Some(model) => format!("embed-{model}.lock"),
                    None => "embed.lock".to_owned(),
                })?;
            }
        }
        Ok(())
    }

    fn begin(&self, rows: &[(u64, VectorBytes)]) -> Result<(), StoreError> {
        // Never zero, which is the file of a cursor that has read nothing.
        let file = u64::try_from(random_bits()? >> 64).unwrap_or(1) | 1;
        let bytes =
            [MAGIC.as_slice(), &self.checksum()?, &file.to_le_bytes(), &rows_bytes(rows)].concat();
        self.layout.replace(self.local(), &self.name, &bytes, false)
    }

    /// The number of a file that this model made here; nothing of any other.
    fn own_file_id(&self, handle: &FileHandle) -> Result<Option<u64>, StoreError> {
        let mut head = [0; HEAD];
        let n = handle.read_at(&mut head, 0)?;
        let is_ours = n == HEAD && head[..8] == *MAGIC && head[8..16] == self.checksum()?;
        Ok(head.last_chunk::<8>().filter(|_| is_ours).map(|file| u64::from_le_bytes(*file)))
    }

    /// What only a file made in this directory, by this model, has at its head.
    fn checksum(&self) -> Result<[u8; 8], StoreError> {
        let sealed = format!("{:x} {}", self.model, self.local().identity()?);
        Ok(xxh3_64(sealed.as_bytes()).to_le_bytes())
    }

    fn local(&self) -> &Dir {
        &self.layout.local
    }
}

fn forget(cursor: &mut VectorCursor) -> VectorReadOutcome {
    if *cursor == VectorCursor::default() {
        return VectorReadOutcome::Done;
    }
    *cursor = VectorCursor::default();
    VectorReadOutcome::Replaced
}

fn read_rows(
    handle: &FileHandle,
    cursor: &mut VectorCursor,
    each: &mut dyn FnMut(u64, &VectorBytes),
) -> Result<(), StoreError> {
    let mut stride = vec![0; ROW * STRIDE];
    loop {
        let n = handle.read_at(&mut stride, cursor.offset)?;
        let (rows, _torn) = stride[..n].as_chunks::<ROW>();
        for row in rows {
            if let Some((text_key, vector)) = parse(row) {
                each(text_key, vector);
            }
        }
        cursor.offset += (rows.len() * ROW) as u64;
        if rows.len() < STRIDE {
            return Ok(());
        }
    }
}

fn rows_bytes(rows: &[(u64, VectorBytes)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rows.len() * ROW);
    for (text_key, vector) in rows {
        let start = bytes.len();
        bytes.extend(text_key.to_le_bytes());
        bytes.extend(vector);
        bytes.extend(sum_of(&bytes[start..]));
    }
    bytes
}

fn parse(row: &[u8; ROW]) -> Option<(u64, &VectorBytes)> {
    let (text_key, rest) = row.split_first_chunk::<8>()?;
    let (vector, sum) = rest.split_first_chunk::<VECTOR_BYTES>()?;
    (*sum == sum_of(&row[..8 + VECTOR_BYTES])).then(|| (u64::from_le_bytes(*text_key), vector))
}

fn sum_of(bytes: &[u8]) -> [u8; 4] {
    let [a, b, c, d, ..] = xxh3_64(bytes).to_le_bytes();
    [a, b, c, d]
}

/// A row of the index, good for one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub(super) i64);

/// Under which names the vectors of a record are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorKeys {
    /// The whole text.
    pub text_key: u64,
    /// The summary, where that is not the whole.
    pub summary_key: Option<u64>,
}

/// What is known of a record without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The names of its vectors.
    pub vector_keys: VectorKeys,
    /// Its author, in lower case.
    pub agent: String,
}

/// The text of an entry that gets a vector.
#[must_use]
pub fn entry_text(entry: &Entry) -> String {
    join([&entry.summary, &entry.detail])
}

/// The text of a decision that gets a vector.
#[must_use]
pub fn decision_text(decision: &Decision) -> String {
    join([&decision.summary, &decision.rationale, &decision.context])
}

fn join<const N: usize>(texts: [&String; N]) -> String {
    let parts: Vec<&str> =
        texts.into_iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    parts.join(" ")
}

impl VectorKeys {
    /// Of a record with this summary and this whole text.
    #[must_use]
    pub fn of(summary: &str, text: &str) -> Self {
        let text_key = vector_key(text);
        let summary_key = vector_key(summary.trim());
        Self { text_key, summary_key: (summary_key != text_key).then_some(summary_key) }
    }

    /// Both names.
    pub fn names(self) -> impl Iterator<Item = u64> {
        std::iter::once(self.text_key).chain(self.summary_key)
    }

    pub(super) fn columns(self) -> (i64, Option<i64>) {
        (self.text_key.cast_signed(), self.summary_key.map(u64::cast_signed))
    }

    pub(super) fn at(row: &SqlRow<'_>, first: usize) -> Result<Self, rusqlite::Error> {
        let summary_key: Option<i64> = row.get(first + 1)?;
        Ok(Self {
            text_key: row.get::<_, i64>(first)?.cast_unsigned(),
            summary_key: summary_key.map(i64::cast_unsigned),
        })
    }
}

/// How an author is compared with the words of a question.
pub(super) fn agent_key(agent: &str) -> String {
    clip(agent, limits::NAME_BYTES).to_lowercase()
}

/// Reads a record header: `text_vector, summary_vector, agent` of one row, if it exists.
pub(super) fn header(
    conn: &Connection,
    sql: &str,
    row: RowId,
) -> Result<Option<RecordHeader>, StoreError> {
    let read = |row: &SqlRow<'_>| {
        Ok(RecordHeader { vector_keys: VectorKeys::at(row, 0)?, agent: row.get(2)? })
    };
    Ok(conn.prepare_cached(sql)?.query_row([row.0], read).optional()?)
}

/// The names of the vectors of the rows after `after`, at most so many rows.
pub(super) fn vector_keys_after(
    conn: &Connection,
    sql: &str,
    after: RowId,
    limit: usize,
) -> Result<Vec<(RowId, VectorKeys)>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params![after.0, row_limit(limit)], |row| {
        Ok((RowId(row.get(0)?), VectorKeys::at(row, 1)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
