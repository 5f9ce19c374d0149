//! Reading a large file line by line in bounded memory.

use std::ops::Range;

use memchr::memchr;
use twining_model::limits;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::disk::FileHandle;
use crate::error::StoreError;

const READ_CHUNK: usize = 1024 * 1024;

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLine {
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
pub struct LineReader<'f> {
    file: &'f FileHandle,
    end: u64,
    /// Where `buffer[start..]` stands in the file.
    at: u64,
    buffer: Vec<u8>,
    start: usize,
    /// `buffer[start..searched]` has no newline in it.
    searched: usize,
}

impl<'f> LineReader<'f> {
    /// Reads on from `offset`, up to the size the file had.
    pub fn from(file: &'f FileHandle, offset: u64, end: u64) -> Self {
        Self { file, end, at: offset, buffer: Vec::new(), start: 0, searched: 0 }
    }

    /// The bytes of the line read last.
    pub fn bytes(&self, text: Range<usize>) -> &[u8] {
        &self.buffer[text]
    }

    /// The next line, if there is one.
    pub fn next(&mut self) -> Result<Option<FileLine>, StoreError> {
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
                return Ok((self.at > pos || self.start < rest).then(|| self.take(pos, hashed_part, rest, rest)));
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
        let wanted = usize::try_from(self.end.saturating_sub(from)).unwrap_or(READ_CHUNK).min(READ_CHUNK);
        self.buffer.resize(buffered + wanted, 0);
        let read = self.file.read_at(&mut self.buffer[buffered..], from)?;
        self.buffer.truncate(buffered + read);
        Ok(read > 0)
    }
}
