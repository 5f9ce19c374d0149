//! Reading a large file line by line in bounded memory.

use std::ops::Range;

use memchr::memchr;
use twining_model::limits;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::error::StoreError;
use crate::log::files::DataFile;

const CHUNK: usize = 1024 * 1024;

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
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
pub(super) struct Lines<'f> {
    file: &'f DataFile,
    end: u64,
    /// Where `buffer[start..]` stands in the file.
    at: u64,
    buffer: Vec<u8>,
    start: usize,
    /// `buffer[start..searched]` has no newline in it.
    searched: usize,
}

impl<'f> Lines<'f> {
    /// Reads on from `offset`.
    pub fn from(file: &'f DataFile, offset: u64) -> Self {
        Self { file, end: file.fingerprint().size, at: offset, buffer: Vec::new(), start: 0, searched: 0 }
    }

    /// The bytes of the line read last.
    pub fn bytes(&self, text: Range<usize>) -> &[u8] {
        &self.buffer[text]
    }

    /// The next line, if there is one.
    pub fn next(&mut self) -> Result<Option<Line>, StoreError> {
        loop {
            if let Some(length) = memchr(b'\n', &self.buffer[self.searched..]) {
                let stop = self.searched + length;
                return Ok(Some(self.take(stop, stop + 1)));
            }
            self.searched = self.buffer.len();
            if self.buffer.len() - self.start > limits::RECORD_BYTES {
                return self.skip().map(Some);
            }
            if !self.fill()? {
                let rest = self.buffer.len();
                return Ok((self.start < rest).then(|| self.take(rest, rest)));
            }
        }
    }

    fn take(&mut self, stop: usize, next: usize) -> Line {
        let text = self.start..stop;
        let line = Line {
            pos: self.at,
            end: self.at + (next - self.start) as u64,
            hash: xxh3_64(&self.buffer[text.clone()]),
            whole: next > stop,
            text: (text.len() <= limits::RECORD_BYTES).then_some(text),
        };
        self.at = line.end;
        self.start = next;
        self.searched = next;
        line
    }

    /// Passes over a line too long to keep: hashed, and let go chunk by chunk.
    fn skip(&mut self) -> Result<Line, StoreError> {
        let pos = self.at;
        let mut hash = Xxh3::new();
        loop {
            let rest = &self.buffer[self.start..];
            if let Some(length) = memchr(b'\n', rest) {
                hash.update(&rest[..length]);
                self.at += length as u64 + 1;
                self.start += length + 1;
                self.searched = self.start;
                return Ok(Line { pos, end: self.at, hash: hash.digest(), text: None, whole: true });
            }
            hash.update(rest);
            self.at += rest.len() as u64;
            self.start = self.buffer.len();
            if !self.fill()? {
                return Ok(Line { pos, end: self.at, hash: hash.digest(), text: None, whole: false });
            }
        }
    }

    /// Reads one more chunk; false at the end.
    fn fill(&mut self) -> Result<bool, StoreError> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let kept = self.buffer.len();
        self.searched = kept;
        let from = self.at + kept as u64;
        let wanted = usize::try_from(self.end.saturating_sub(from)).unwrap_or(CHUNK).min(CHUNK);
        self.buffer.resize(kept + wanted, 0);
        let read = self.file.read_at(&mut self.buffer[kept..], from)?;
        self.buffer.truncate(kept + read);
        Ok(read > 0)
    }
}
