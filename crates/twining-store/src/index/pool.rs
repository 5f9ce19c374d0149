//! The connections of one process to the index: each reader has its own, so that
//! reads go together, and one at a time brings the index up to the files.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Index;
use crate::error::StoreError;
use crate::log::files::{DecisionsChanged, Files};

/// More would hold memory and answer no sooner.
const MOST: usize = 8;

/// Connections, opened when they are first needed: a process that reads one thing
/// after the other opens one.
pub struct IndexPool {
    connections: Mutex<Connections>,
    returned: Condvar,
    most: usize,
    /// Shared by those who ask whether the index is current; alone for whoever changes it.
    access: RwLock<()>,
}

#[derive(Default)]
struct Connections {
    idle: Vec<Index>,
    lent: usize,
    /// Which database is read: connections to one that was replaced are closed.
    latest: Option<DatabaseFile>,
}

/// One database file, and the decisions that changed and are not in it yet.
#[derive(Clone)]
pub(super) struct DatabaseFile {
    /// The database's inode; zero if it has no file.
    pub(super) home: u64,
    /// The watch tells of a change once, whichever connection asks.
    pub(super) pending: Arc<Mutex<DecisionsChanged>>,
}

impl DatabaseFile {
    pub(super) fn new(home: u64) -> Self {
        Self { home, pending: Arc::new(Mutex::new(DecisionsChanged::Unknown)) }
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, DecisionsChanged> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pending, &other.pending)
    }
}

/// A place among the connections, given back when dropped.
pub struct PooledIndex<'p> {
    pool: &'p IndexPool,
    index: Option<Index>,
}

impl Default for IndexPool {
    /// None is open yet.
    fn default() -> Self {
        // Two at least: who makes vectors or keeps house must not hold up a question.
        let most = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, MOST);
        Self { connections: Mutex::default(), returned: Condvar::new(), most, access: RwLock::new(()) }
    }
}

impl IndexPool {
    /// Whether a connection was opened already.
    pub fn is_open(&self) -> bool {
        self.connections().latest.is_some()
    }

    /// A connection that nobody uses, or room for a new one; waits while all are lent.
    pub fn take(&self) -> PooledIndex<'_> {
        let full = |connections: &mut Connections| connections.lent == self.most;
        let mut connections = self.returned.wait_while(self.connections(), full).unwrap_or_else(PoisonError::into_inner);
        connections.lent += 1;
        // The last one back has the most in its memory.
        let index = connections.idle.pop();
        PooledIndex { pool: self, index }
    }

    /// Keeps others from changing the index.
    pub fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.access.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps others from changing the index and from asking whether it is current.
    pub fn exclusive(&self) -> RwLockWriteGuard<'_, ()> {
        self.access.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledIndex<'_> {
    /// The connection, if it was opened.
    pub fn get(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// Works on the connection, which is opened if it was not, and makes every other
    /// follow if it leads to another database then. The caller is alone and holds the
    /// index lock.
    pub fn with_open<T>(&mut self, files: &Files, work: impl FnOnce(&mut Index) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let latest = self.pool.connections().latest.clone();
        let is_latest = |index: &Index| latest.as_ref().is_some_and(|latest| index.database.is(latest));
        let mut index = match self.index.take().filter(is_latest) {
            Some(index) => index,
            None => {
                let mut index = Index::open(files)?;
                if let Some(latest) = latest.filter(|latest| latest.home == index.database.home) {
                    index.database = latest;
                }
                index
            }
        };
        let done = work(&mut index);
        let mut connections = self.pool.connections();
        if !connections.latest.as_ref().is_some_and(|latest| latest.is(&index.database)) {
            connections.idle.clear();
            connections.latest = Some(index.database.clone());
        }
        self.index = Some(index);
        done
    }

    /// Closes every connection that nobody uses, and those in use when they come back.
    pub fn close_all(&mut self) {
        self.index = None;
        let mut connections = self.pool.connections();
        connections.idle.clear();
        connections.latest = None;
    }
}

impl Drop for PooledIndex<'_> {
    fn drop(&mut self) {
        let mut connections = self.pool.connections();
        connections.lent -= 1;
        let latest = connections.latest.clone();
        connections.idle.extend(self.index.take().filter(|index| latest.is_some_and(|latest| latest.is(&index.database))));
        drop(connections);
        self.pool.returned.notify_one();
    }
}
