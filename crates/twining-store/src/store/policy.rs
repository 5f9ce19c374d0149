//! The policy file: read whole within its limit, and changed whole under the lock.
//! What it says is not this crate's business.

use twining_model::{PolicyFile, limits};

use super::documents::Documents;
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
    pub fn policy(&self) -> Result<PolicyFile, StoreError> {
        let top = match self.0.reading_room() {
            Ok(Some(room)) => room.layout.top.clone(),
            Ok(None) => return Ok(PolicyFile::Missing),
            // What is wrong elsewhere in the folder is told by whoever needs it; rules hold all the same.
            Err(error @ StoreError::Unsafe { .. }) => match Dir::project(&self.0.place().project, None)?.open_dir(FOLDER) {
                Ok(Some(top)) => top,
                _ => return Err(error),
            },
            Err(error) => return Err(error),
        };
        let handle = match top.open(POLICY) {
            Ok(Some(handle)) => handle,
            Ok(None) => return Ok(PolicyFile::Missing),
            Err(error @ StoreError::Unsafe { .. }) => return Ok(PolicyFile::Unusable(error.to_string())),
            Err(error) => return Err(error),
        };
        match handle.read_all(limits::POLICY_BYTES) {
            Ok(bytes) => Ok(String::from_utf8(bytes).map_or_else(|_| PolicyFile::Unusable("it is not UTF-8".to_owned()), PolicyFile::Text)),
            Err(StoreError::Damaged { what }) => Ok(PolicyFile::Unusable(what)),
            Err(error) => Err(error),
        }
    }
}
