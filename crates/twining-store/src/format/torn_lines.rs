//! The ends of line files: what a killed writer left is mended, and nothing that
//! says something is cut off.

use std::collections::HashSet;
use std::ops::Range;

use memchr::{memchr, memmem};
use serde::Serialize;
use twining_model::limits;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::disk::FileHandle;
use crate::disk::layout::Layout;
use crate::error::StoreError;

const QUARANTINE: &str = "quarantine";
const CHUNK: usize = 1024 * 1024;

/// Records as lines. One over `most` bytes is refused: nothing is written that we would refuse to read back.
pub(crate) fn to_json_lines<T: Serialize>(
    records: &[T],
    max_bytes: usize,
) -> Result<Vec<u8>, StoreError> {
    let mut lines = Vec::new();
    for record in records {
        let start = lines.len();
        serde_json::to_writer(&mut lines, record)?;
        let bytes = lines.len() - start;
        if bytes > max_bytes {
            return Err(StoreError::TooLarge { bytes, max_bytes });
        }
        lines.push(b'\n');
    }
    Ok(lines)
}

/// Appends lines to a file that is ours alone, after a torn one if there is one.
pub(crate) fn append_after_torn_line(handle: &FileHandle, lines: &[u8]) -> Result<(), StoreError> {
    let size = handle.fingerprint()?.size;
    if last_byte(handle, size)? == b'\n' {
        return handle.write(lines);
    }
    handle.write(&[b"\n", lines].concat())
}

/// A killed writer's fragment is copied to the quarantine and cut off; a line
/// that only lacks its newline gets it. The size after that.
pub(crate) fn repair_tail(
    layout: &Layout,
    handle: &FileHandle,
    size: u64,
) -> Result<u64, StoreError> {
    let start = last_line_start(handle, size)?;
    let length = usize::try_from(size - start).unwrap_or(usize::MAX).min(64 * limits::RECORD_BYTES);
    let mut tail = vec![0; length];
    handle.read_at(&mut tail, start)?;
    if serde_json::from_slice::<serde_json::Value>(&tail).is_ok_and(|value| value.is_object()) {
        handle.write(b"\n")?;
        return Ok(size + 1);
    }
    tail.push(b'\n');
    layout.local.create_append(QUARANTINE)?.write(&tail)?;
    handle.set_len(start)?;
    Ok(start)
}

/// The last byte; a newline for an empty file.
pub(crate) fn last_byte(handle: &FileHandle, size: u64) -> Result<u8, StoreError> {
    let mut byte = [b'\n'];
    if size > 0 {
        handle.read_at(&mut byte, size - 1)?;
    }
    Ok(byte[0])
}

/// Where the last line of the file starts.
pub(crate) fn last_line_start(handle: &FileHandle, size: u64) -> Result<u64, StoreError> {
    let mut end = size;
    let mut chunk = vec![0; 64 * 1024];
    while end > 0 {
        let from = end.saturating_sub(chunk.len() as u64);
        let length = usize::try_from(end - from).unwrap_or(0);
        handle.read_at(&mut chunk[..length], from)?;
        if let Some(newline) = memchr::memrchr(b'\n', &chunk[..length]) {
            return Ok(from + newline as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

/// The id of a line that we wrote: it comes first.
pub(crate) fn id_of(line: &[u8]) -> Option<String> {
    let rest = line.strip_prefix(b"{\"id\":\"")?;
    let end = memchr::memchr(b'"', rest)?;
    std::str::from_utf8(&rest[..end]).ok().map(str::to_owned)
}

/// Removes from `wanted` every id that the file holds, reading it in pieces.
pub(crate) fn remove_present_ids(
    handle: &FileHandle,
    wanted: &mut HashSet<String>,
) -> Result<(), StoreError> {
    let finder = memmem::Finder::new(b"\"id\":");
    let mut chunk = vec![0; CHUNK];
    let (mut offset, mut carried) = (0, 0);
    loop {
        let n = handle.read_at(&mut chunk[carried..], offset)?;
        if n == 0 || wanted.is_empty() {
            return Ok(());
        }
        let filled = carried + n;
        for at in finder.find_iter(&chunk[..filled]) {
            let rest = chunk[at + 5..filled].trim_ascii_start();
            if let Some(rest) = rest.strip_prefix(b"\"")
                && let Some(end) = memchr::memchr(b'"', &rest[..rest.len().min(128)])
                && let Ok(id) = std::str::from_utf8(&rest[..end])
            {
                wanted.remove(id);
            }
        }
        // An id may lie across the edge of two pieces.
        carried = filled.min(160);
        chunk.copy_within(filled - carried..filled, 0);
        offset += n as u64;
    }
}

const READ_CHUNK: usize = 1024 * 1024;

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileLine {
    /// Where it starts.
    pub pos: u64,
    /// Where the next one starts.
    pub end: u64,
    /// Hash of its bytes.
    pub hash: u64,
    /// Where its bytes are, in [`Lines::bytes`]; nowhere if it is too long to keep.
    pub text: Option<Range<usize>>,
    /// Whether a newline ends it: the last line may be half written.
    pub whole: bool,
}

/// The lines of a file from one place to the end it had when it was opened.
pub(crate) struct LineReader<'f> {
    file: &'f FileHandle,
    end: u64,
    /// Offset of `buffer[start..]` in the file.
    at: u64,
    buffer: Vec<u8>,
    start: usize,
    /// `buffer[start..searched]` has no newline in it.
    searched: usize,
}

impl<'f> LineReader<'f> {
    /// Reads on from `offset`, up to the size the file had.
    pub(crate) fn from(file: &'f FileHandle, offset: u64, end: u64) -> Self {
        Self { file, end, at: offset, buffer: Vec::new(), start: 0, searched: 0 }
    }

    /// The bytes of the line read last.
    pub(crate) fn bytes(&self, text: Range<usize>) -> &[u8] {
        &self.buffer[text]
    }

    /// The next line, if there is one.
    pub(crate) fn next(&mut self) -> Result<Option<FileLine>, StoreError> {
        let (pos, mut hashed_part) = (self.at, None);
        loop {
            if let Some(length) = memchr(b'\n', &self.buffer[self.searched..]) {
                let stop = self.searched + length;
                return Ok(Some(self.take(pos, hashed_part, stop, stop + 1)));
            }
            self.searched = self.buffer.len();
            if self.searched - self.start > limits::RECORD_BYTES {
                // Too long to keep: hashed, and let go chunk by chunk.
                hashed_part.get_or_insert_with(Xxh3::new).update(&self.buffer[self.start..]);
                self.at += (self.searched - self.start) as u64;
                self.start = self.searched;
            }
            if !self.fill()? {
                let rest = self.buffer.len();
                return Ok((self.at > pos || self.start < rest)
                    .then(|| self.take(pos, hashed_part, rest, rest)));
            }
        }
    }

    /// The line from `pos`, of which a part may have passed already.
    fn take(&mut self, pos: u64, hashed_part: Option<Xxh3>, stop: usize, next: usize) -> FileLine {
        let text = self.start..stop;
        let bytes = &self.buffer[text.clone()];
        let fits = hashed_part.is_none() && text.len() <= limits::RECORD_BYTES;
        let hash = hashed_part.map_or_else(
            || xxh3_64(bytes),
            |mut hash| {
                hash.update(bytes);
                hash.digest()
            },
        );
        self.at += (next - self.start) as u64;
        self.start = next;
        self.searched = next;
        FileLine { pos, end: self.at, hash, text: fits.then_some(text), whole: next > stop }
    }

    /// Reads one more chunk; false at the end.
    fn fill(&mut self) -> Result<bool, StoreError> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let buffered = self.buffer.len();
        self.searched = buffered;
        let from = self.at + buffered as u64;
        let wanted =
            usize::try_from(self.end.saturating_sub(from)).unwrap_or(READ_CHUNK).min(READ_CHUNK);
        self.buffer.resize(buffered + wanted, 0);
        let read = self.file.read_at(&mut self.buffer[buffered..], from)?;
        self.buffer.truncate(buffered + read);
        Ok(read > 0)
    }
}
