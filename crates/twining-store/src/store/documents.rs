//! Files that are read whole and without the index: what plans are made on, and what hooks ask.

use twining_model::TextFile;

use super::open::Store;
use crate::disk::Dir;
use crate::error::StoreError;

/// The files as they are now, read without the lock.
#[derive(Clone, Copy, Debug)]
pub struct Documents<'s>(pub(super) &'s Store);

impl Store {
    /// The files that are read whole and without the index.
    #[must_use]
    pub fn documents(&self) -> Documents<'_> {
        Documents(self)
    }
}

/// Reads a text. A file that cannot be used is no reason to stop: the reason is told.
pub(super) fn read_text(dir: &Dir, name: &str, most: usize) -> Result<TextFile, StoreError> {
    match dir.read(name, most) {
        Ok(Some(bytes)) => Ok(String::from_utf8(bytes).map_or_else(|_| TextFile::Unusable("it is not UTF-8".to_owned()), TextFile::Text)),
        Ok(None) => Ok(TextFile::Missing),
        Err(error @ (StoreError::Unsafe { .. } | StoreError::Damaged { .. })) => Ok(TextFile::Unusable(error.to_string())),
        Err(error) => Err(error),
    }
}
