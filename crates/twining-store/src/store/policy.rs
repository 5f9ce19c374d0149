//! The policy file: read whole within its limit, and changed whole under the lock.
//! What it says is not this crate's business.

use twining_model::{TextFile, limits};

use super::documents::{Documents, read_text};
use crate::disk::Dir;
use crate::disk::layout::{FOLDER, POLICY};
use crate::error::StoreError;

/// The project's policy, from its folder.
#[must_use]
pub fn policy_path() -> String {
    format!("{FOLDER}/{POLICY}")
}

impl Documents<'_> {
    /// Reads the project's policy. A file that cannot be used is no reason to
    /// stop: defaults stand in for it, and the reason is told.
    pub fn policy(&self) -> Result<TextFile, StoreError> {
        let top = match self.0.reading_room() {
            Ok(Some(room)) => room.layout.top.clone(),
            Ok(None) => return Ok(TextFile::Missing),
            // What is wrong elsewhere in the folder is told by whoever needs it; rules hold all the same.
            Err(error @ StoreError::Unsafe { .. }) => match Dir::project(&self.0.place().project, None)?.open_dir(FOLDER) {
                Ok(Some(top)) => top,
                _ => return Err(error),
            },
            Err(error) => return Err(error),
        };
        read_text(&top, POLICY, limits::POLICY_BYTES)
    }
}
