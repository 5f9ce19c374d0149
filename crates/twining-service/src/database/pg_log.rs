//! The log of one repository, as a store sees it.

use std::sync::Arc;

use twining_model::Id;
use twining_store::{Log, LogBase, LogError, LogLine, NewLine};

use super::connection::Database;

/// The log of one repository. Its calls wait: only for threads that may block.
#[derive(Debug)]
pub struct PgLog {}

impl PgLog {
    /// The numbers of lines that the log has under these keys.
    pub fn numbers_of(&self, keys: &[Id]) -> Result<Vec<Option<u64>>, LogError> {
        unimplemented!("{keys:?}")
    }
}

impl Log for PgLog {
    fn append(&self, base: LogBase, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        unimplemented!("{base:?} {lines:?}")
    }

    fn since(&self, after: u64, limit: usize) -> Result<Vec<LogLine>, LogError> {
        unimplemented!("{after} {limit}")
    }
}

impl Database {
    /// The log of a repository. All who ask on this node share one writer.
    #[must_use]
    pub fn log(&self, tenant: &Id, repo: &Id) -> Arc<PgLog> {
        unimplemented!("{tenant} {repo}")
    }
}
