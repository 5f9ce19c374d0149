//! Files that are read whole and without the index: what plans are made on, and what hooks ask.

use super::open::Store;

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
