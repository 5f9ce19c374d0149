//! The connections of one process to the index: each reader has its own, so that
//! reads go together, and one at a time brings the index up to the files.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::Index;
use crate::error::StoreError;
use crate::log::files::{DecisionsChanged, StoreFiles};

/// More would hold memory and answer no sooner.
const MAX_CONNECTIONS: usize = 8;

/// Connections, opened when they are first needed: a process that reads one thing
/// after the other opens one.
pub struct IndexPool {
    state: Mutex<PoolState>,
    returned: Condvar,
    max_open: usize,
    /// Shared by those who ask whether the index is current; alone for whoever changes it.
    access: RwLock<()>,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<Index>,
    in_use: usize,
    /// Which database is read: connections to one that was replaced are closed.
    latest: Option<DatabaseFile>,
}

/// One database file, and the decisions that changed and are not in it yet.
#[derive(Clone)]
pub(super) struct DatabaseFile {
    /// The database's inode; zero if it has no file.
    pub(super) inode: u64,
    /// The watch tells of a change once, whichever connection asks.
    pub(super) pending: Arc<Mutex<DecisionsChanged>>,
}

impl DatabaseFile {
    pub(super) fn new(inode: u64) -> Self {
        Self { inode, pending: Arc::new(Mutex::new(DecisionsChanged::Unknown)) }
    }

    pub(super) fn pending(&self) -> MutexGuard<'_, DecisionsChanged> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_same(&self, other: &Self) -> bool {
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
        let max_open = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, MAX_CONNECTIONS);
        Self { state: Mutex::default(), returned: Condvar::new(), max_open, access: RwLock::new(()) }
    }
}

impl IndexPool {
    /// Whether a connection was opened already.
    pub fn is_open(&self) -> bool {
        self.state().latest.is_some()
    }

    /// A connection that nobody uses, or room for a new one; waits while all are lent.
    pub fn take(&self) -> PooledIndex<'_> {
        let full = |state: &mut PoolState| state.in_use == self.max_open;
        let mut state = self.returned.wait_while(self.state(), full).unwrap_or_else(PoisonError::into_inner);
        state.in_use += 1;
        // The last one back has the most in its memory.
        let index = state.idle.pop();
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

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub fn with_open<T>(&mut self, files: &StoreFiles, work: impl FnOnce(&mut Index) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let latest = self.pool.state().latest.clone();
        let is_latest = |index: &Index| latest.as_ref().is_some_and(|latest| index.database.is_same(latest));
        let mut index = match self.index.take().filter(is_latest) {
            Some(index) => index,
            None => {
                let mut index = Index::open(files)?;
                if let Some(latest) = latest.filter(|latest| latest.inode == index.database.inode) {
                    index.database = latest;
                }
                index
            }
        };
        let done = work(&mut index);
        let mut state = self.pool.state();
        if !state.latest.as_ref().is_some_and(|latest| latest.is_same(&index.database)) {
            state.idle.clear();
            state.latest = Some(index.database.clone());
        }
        self.index = Some(index);
        done
    }

    /// Closes every connection that nobody uses, and those in use when they come back.
    pub fn close_all(&mut self) {
        self.index = None;
        let mut state = self.pool.state();
        state.idle.clear();
        state.latest = None;
    }
}

impl Drop for PooledIndex<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.in_use -= 1;
        let latest = state.latest.clone();
        state.idle.extend(self.index.take().filter(|index| latest.is_some_and(|latest| latest.is_same(&index.database))));
        drop(state);
        self.pool.returned.notify_one();
    }
}
