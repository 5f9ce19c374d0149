//! Documents of a repository that are not in its log, because they expire or belong to git:
//! claims, presence. Each is replaced as a whole, by whoever knew its last version.

use twining_model::Id;

use super::connection::Database;
use crate::error::ServiceError;

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocRow {
    /// Counts its replacements, from one.
    pub version: u64,
    /// Who replaced it last.
    pub by: String,
    /// All of it.
    pub body: String,
}

impl Database {
    /// A document, if there is one.
    pub async fn read_doc(
        &self,
        tenant: &Id,
        repo: &Id,
        name: &str,
    ) -> Result<Option<DocRow>, ServiceError> {
        unimplemented!("{tenant} {repo} {name}")
    }

    /// Replaces a document whose version is this one, zero if there is none yet. The new
    /// version, or none if somebody else was quicker.
    pub async fn replace_doc(
        &self,
        tenant: &Id,
        repo: &Id,
        name: &str,
        doc: &DocRow,
    ) -> Result<Option<u64>, ServiceError> {
        unimplemented!("{tenant} {repo} {name} {doc:?}")
    }
}
