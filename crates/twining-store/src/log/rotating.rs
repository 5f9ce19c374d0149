//! Files of lines of which the newest are kept: one that is full takes the place of
//! the one before it.

use crate::disk::{Dir, Handle};
use crate::error::StoreError;
use crate::format::tail;

/// A file and the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Rotating {
    /// The file's name.
    pub name: &'static str,
    /// The name of the one before it.
    pub older: &'static str,
    /// From how many bytes on it is full.
    pub most: u64,
}

impl Rotating {
    /// The file to append to.
    pub fn open(&self, dir: &Dir) -> Result<Handle, StoreError> {
        if dir.print(self.name)?.is_some_and(|print| print.size > self.most) {
            dir.rename(self.name, dir, self.older)?;
        }
        dir.make_append(self.name)
    }

    /// Adds lines.
    pub fn append(&self, dir: &Dir, lines: &[u8]) -> Result<(), StoreError> {
        tail::append_after(&self.open(dir)?, lines)
    }

    /// What is kept, oldest first. A file that somebody blew up counts as empty.
    pub fn read(&self, dir: &Dir) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        for name in [self.older, self.name] {
            let most = usize::try_from(self.most).unwrap_or(usize::MAX).saturating_mul(8);
            bytes.extend(dir.open(name)?.and_then(|handle| handle.read_all(most).ok()).unwrap_or_default());
        }
        Ok(bytes)
    }
}
