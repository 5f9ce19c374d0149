//! The repositories that are open on this node: each a folder that follows its log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use twining_model::Id;
use twining_store::{Log, NewLine, Store, StoreError};

use crate::database::Database;
use crate::error::ServiceError;
use crate::principal::RemoteCaller;

/// Opens a memory in a folder of a node; the program that serves has one.
pub trait MemoryOpener: Send + Sync + 'static {
    /// Opens the memory in this folder, whose store is to use this log.
    fn open(&self, folder: &Path, log: Arc<dyn Log>) -> Result<Arc<dyn Memory>, ServiceError>;
}

/// The open memory of one repository.
pub trait Memory: Send + Sync + 'static {
    /// Its store.
    fn store(&self) -> &Store;

    /// Runs a tool. Waits: only for threads that may block.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &RemoteCaller,
    ) -> CallToolResult;

    /// Takes in lines that a clone planned on an old view, and returns their numbers.
    fn admit(&self, lines: Vec<NewLine>, caller: &RemoteCaller) -> Result<Vec<u64>, StoreError>;
}

/// The repositories that are open on this node.
pub struct OpenRepositories {}

impl OpenRepositories {
    /// Keeps at most `limit` repositories open, in folders below `data`.
    #[must_use]
    pub fn new(
        database: Database,
        opener: Arc<dyn MemoryOpener>,
        data: PathBuf,
        limit: usize,
    ) -> Self {
        let _ = (database, opener, data, limit);
        Self {}
    }

    /// An open repository, opened if need be. Waits: only for threads that may block.
    pub fn get(&self, tenant: &Id, repo: &Id) -> Result<Arc<OpenRepository>, ServiceError> {
        unimplemented!("{tenant} {repo}")
    }

    /// How many are open.
    #[must_use]
    pub fn count(&self) -> usize {
        unimplemented!()
    }
}

/// A repository that is open on this node.
pub struct OpenRepository {
    /// Its memory.
    pub memory: Arc<dyn Memory>,
}

impl OpenRepository {
    /// Follows the log to its end, so that a read sees whatever was acknowledged before. Waits:
    /// only for threads that may block.
    pub fn catch_up(&self) -> Result<(), ServiceError> {
        unimplemented!()
    }
}
