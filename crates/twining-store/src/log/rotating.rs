//! Files of lines of which the newest are kept: one that is full takes the place of
//! the one before it.

use crate::disk::{Dir, FileHandle};
use crate::error::StoreError;
use crate::format::tail;

/// A file and the one before it.
#[derive(Clone, Copy, Debug)]
pub struct RotatingFile {
    /// The file's name.
    pub name: &'static str,
    /// The name of the one before it.
    pub previous: &'static str,
    /// From how many bytes on it is full.
    pub max_bytes: u64,
}

impl RotatingFile {
    /// The file to append to.
    pub fn open(&self, dir: &Dir) -> Result<FileHandle, StoreError> {
        if dir.print(self.name)?.is_some_and(|print| print.size > self.max_bytes) {
            dir.rename(self.name, dir, self.previous)?;
        }
        dir.create_append(self.name)
    }

    /// Adds lines.
    pub fn append(&self, dir: &Dir, lines: &[u8]) -> Result<(), StoreError> {
        tail::append_after_torn_line(&self.open(dir)?, lines)
    }

    /// What is kept, oldest first. A file that somebody blew up counts as empty.
    pub fn read(&self, dir: &Dir) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        for name in [self.previous, self.name] {
            let max_bytes = usize::try_from(self.max_bytes).unwrap_or(usize::MAX).saturating_mul(8);
            bytes.extend(dir.open(name)?.and_then(|handle| handle.read_all(max_bytes).ok()).unwrap_or_default());
        }
        Ok(bytes)
    }
}
