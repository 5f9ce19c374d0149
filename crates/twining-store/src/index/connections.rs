//! The tables, and how a connection to them is made.
//!
//! Everything here is derived from the files, so there are no migrations: a
//! database of another version is thrown away.

use std::path::Path;
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::database::Index;
use crate::error::StoreError;
use crate::log::store_files::{DecisionsChanged, StoreFiles};

/// Grows with every change to the tables or to what is put into them.
pub(super) const VERSION: u32 = 11;

/// Tables, and those indexes that writing needs.
///
/// `entry` is thin and `line` holds the text, so that filters walk rows of sixty bytes. `meaning`
/// and `summary_vector` name the vectors of the whole text and of its summary, where they differ. The tables
/// that entries are searched by (`tag`, `relates`, `entry_text`, `scope_count`) hold only live ones.
const TABLES: &str = "
CREATE TABLE known(one INTEGER PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE segment(start INTEGER PRIMARY KEY, line INTEGER NOT NULL, hash INTEGER NOT NULL);
CREATE TABLE counter(count INTEGER PRIMARY KEY, n INTEGER NOT NULL);
CREATE TABLE unreadable(file TEXT NOT NULL, at INTEGER NOT NULL, line INTEGER, why TEXT NOT NULL, PRIMARY KEY(file, at)) WITHOUT ROWID;

CREATE TABLE entry(
    pos INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, scope_key TEXT NOT NULL,
    open INTEGER NOT NULL, shadowed INTEGER NOT NULL, agent TEXT NOT NULL
);
CREATE INDEX entry_id ON entry(id);
CREATE TABLE line(
    pos INTEGER PRIMARY KEY, text_vector INTEGER NOT NULL, summary_vector INTEGER, raw TEXT NOT NULL, sum INTEGER NOT NULL
);
CREATE TABLE tag(
    tag TEXT NOT NULL, at INTEGER NOT NULL, pos INTEGER NOT NULL, kind TEXT NOT NULL,
    PRIMARY KEY(tag, at, pos)
) WITHOUT ROWID;
CREATE TABLE relates(
    target TEXT NOT NULL, at INTEGER NOT NULL, pos INTEGER NOT NULL, closes INTEGER NOT NULL,
    PRIMARY KEY(target, at, pos)
) WITHOUT ROWID;
CREATE TABLE scope_count(
    scope_key TEXT NOT NULL, kind TEXT NOT NULL, n INTEGER NOT NULL, open INTEGER NOT NULL,
    PRIMARY KEY(scope_key, kind)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE entry_text USING fts5(
    summary, detail, tags, paths, kind,
    content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
);

CREATE TABLE decision_file(id TEXT PRIMARY KEY, ino INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE decision(
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, touched INTEGER NOT NULL,
    status TEXT NOT NULL, confidence TEXT NOT NULL, scope_key TEXT NOT NULL, domain_key TEXT NOT NULL,
    unconfirmed INTEGER NOT NULL, clashed INTEGER NOT NULL, promoted INTEGER, compatible TEXT NOT NULL, supersedes TEXT, scope TEXT NOT NULL, summary TEXT NOT NULL
);
CREATE TABLE decision_line(
    num INTEGER PRIMARY KEY, text_vector INTEGER NOT NULL, summary_vector INTEGER, agent TEXT NOT NULL, raw TEXT NOT NULL, sum INTEGER NOT NULL
);
CREATE TABLE affected_file(file_key TEXT NOT NULL, num INTEGER NOT NULL, PRIMARY KEY(file_key, num)) WITHOUT ROWID;
CREATE TABLE affected_symbol(symbol TEXT NOT NULL, num INTEGER NOT NULL, PRIMARY KEY(symbol, num)) WITHOUT ROWID;
CREATE TABLE dependency(target TEXT NOT NULL, num INTEGER NOT NULL, PRIMARY KEY(target, num)) WITHOUT ROWID;
CREATE TABLE decision_commit(folded TEXT NOT NULL, num INTEGER NOT NULL, hash TEXT NOT NULL, PRIMARY KEY(folded, num)) WITHOUT ROWID;
CREATE INDEX affected_file_of ON affected_file(num, file_key);
CREATE INDEX affected_symbol_of ON affected_symbol(num);
CREATE INDEX dependency_of ON dependency(num);
CREATE INDEX decision_commit_of ON decision_commit(num);
CREATE VIRTUAL TABLE decision_text USING fts5(
    summary, reasons, others, paths,
    content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
);

CREATE TABLE entity(
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, name_key TEXT NOT NULL, kind TEXT NOT NULL,
    alone INTEGER NOT NULL, raw TEXT NOT NULL, sum INTEGER NOT NULL
);
CREATE VIRTUAL TABLE entity_text USING fts5(name, content='', contentless_delete=1, tokenize='trigram');
CREATE VIRTUAL TABLE entity_note USING fts5(properties, content='', contentless_delete=1, tokenize='trigram');
CREATE TABLE relation(
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL,
    dangling INTEGER NOT NULL, raw TEXT NOT NULL, sum INTEGER NOT NULL
);
CREATE INDEX relation_out ON relation(source, kind, target);
CREATE INDEX relation_in ON relation(target, kind, source);

CREATE TABLE anchor(
    pos INTEGER PRIMARY KEY, id TEXT NOT NULL, record TEXT NOT NULL, place TEXT NOT NULL, path TEXT NOT NULL, path_key TEXT NOT NULL,
    last_name TEXT, at INTEGER NOT NULL, event TEXT NOT NULL, raw TEXT NOT NULL, sum INTEGER NOT NULL
);
";

/// Indexes that only readers need; a rebuild makes them last, when sorting all
/// rows at once is cheaper than finding a place for each.
const INDEXES: &str = "
CREATE INDEX entry_at ON entry(at) WHERE shadowed = 0;
CREATE INDEX entry_kind ON entry(kind, at) WHERE shadowed = 0;
CREATE INDEX entry_agent ON entry(agent, at) WHERE shadowed = 0;
CREATE INDEX entry_scope ON entry(scope_key, kind, at) WHERE shadowed = 0;
CREATE INDEX entry_open ON entry(at, kind, scope_key) WHERE open = 1;
CREATE INDEX line_text_vector ON line(text_vector);
CREATE INDEX line_summary_vector ON line(summary_vector) WHERE summary_vector IS NOT NULL;
CREATE INDEX decision_text_vector ON decision_line(text_vector);
CREATE INDEX decision_summary_vector ON decision_line(summary_vector) WHERE summary_vector IS NOT NULL;
CREATE INDEX decision_at ON decision(at, id);
CREATE INDEX decision_facets ON decision(domain_key, status, scope_key, confidence);
CREATE INDEX decision_scope ON decision(scope_key, status, confidence, at, id);
CREATE INDEX decision_standing ON decision(status, confidence, at, id, scope_key);
CREATE INDEX decision_touched ON decision(status, touched);
CREATE INDEX decision_promoted ON decision(promoted) WHERE promoted IS NOT NULL;
CREATE INDEX decision_unconfirmed ON decision(touched, id) WHERE unconfirmed = 1;
CREATE INDEX decision_supersedes ON decision(supersedes, id) WHERE supersedes IS NOT NULL;
CREATE INDEX entity_name ON entity(name, kind, id);
CREATE INDEX entity_name_key ON entity(name_key, id, kind);
CREATE INDEX entity_alone ON entity(id) WHERE alone = 1;
CREATE INDEX relation_dangling ON relation(id) WHERE dangling = 1;
CREATE INDEX anchor_id ON anchor(id);
CREATE INDEX anchor_record ON anchor(record, place, at, id, event, path);
CREATE INDEX anchor_path ON anchor(path_key, place, record);
CREATE INDEX anchor_place ON anchor(place, record);
CREATE INDEX anchor_last_name ON anchor(last_name) WHERE last_name IS NOT NULL;
";

/// Safe against a killed process and a power cut; memory within bounds.
const SETTINGS: &str = "
PRAGMA trusted_schema = OFF;
PRAGMA mmap_size = 0;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -8192;
PRAGMA synchronous = NORMAL;
PRAGMA wal_autocheckpoint = 0;
PRAGMA journal_size_limit = 33554432;
";

/// A cache has no writer that keeps house: SQLite empties its log itself, and nothing is flushed.
const CACHE_SETTINGS: &str = "
PRAGMA cache_size = -2048;
PRAGMA synchronous = OFF;
PRAGMA wal_autocheckpoint = 1000;
";

/// For a file that no other process knows yet: after a crash, it is discarded.
const BULK_SETTINGS: &str = "
PRAGMA trusted_schema = OFF;
PRAGMA mmap_size = 0;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -65536;
PRAGMA synchronous = OFF;
PRAGMA journal_mode = OFF;
PRAGMA locking_mode = EXCLUSIVE;
";

/// How the full-text indexes grow while all is built in one go: in large pieces,
/// merged in few levels and then once more. The levels matter: the result lies
/// above them, and merges of small pieces in later catch-ups do not reach it.
const GROW_IN_BULK: &str = "
INSERT INTO entry_text(entry_text, rank) VALUES('hashsize', 16777216), ('automerge', 0), ('crisismerge', 8);
INSERT INTO decision_text(decision_text, rank) VALUES('hashsize', 16777216), ('automerge', 0), ('crisismerge', 8);
INSERT INTO entity_text(entity_text, rank) VALUES('hashsize', 16777216), ('automerge', 0), ('crisismerge', 8);
INSERT INTO entity_note(entity_note, rank) VALUES('hashsize', 16777216), ('automerge', 0), ('crisismerge', 8);
";
// Left in pieces, each small catch-up would be charged for merging some of them.
const MERGE: &str = "
INSERT INTO entry_text(entry_text) VALUES('optimize');
INSERT INTO decision_text(decision_text) VALUES('optimize');
INSERT INTO entity_text(entity_text) VALUES('optimize');
INSERT INTO entity_note(entity_note) VALUES('optimize');
";
/// How they grow afterwards: sixteen segments of one size are merged into one. SQLite's default
/// also merges some large segments now and then, which delays the current writer by milliseconds;
/// more segments hardly slow a search.
const GROW: &str = "
INSERT INTO entry_text(entry_text, rank) VALUES('hashsize', 1048576), ('automerge', 0), ('crisismerge', 16);
INSERT INTO decision_text(decision_text, rank) VALUES('hashsize', 1048576), ('automerge', 0), ('crisismerge', 16);
INSERT INTO entity_text(entity_text, rank) VALUES('hashsize', 1048576), ('automerge', 0), ('crisismerge', 16);
INSERT INTO entity_note(entity_note, rank) VALUES('hashsize', 1048576), ('automerge', 0), ('crisismerge', 16);
";

const WAL: &str = "PRAGMA journal_mode = WAL";
// Includes the full-text indexes' own check.
const CHECK: &str = "PRAGMA integrity_check(1)";
const COUNT_TABLES: &str = "SELECT count(*) FROM sqlite_schema";
const TRUNCATE_WAL: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
const STATEMENTS: usize = 160;
/// Writers queue at our own lock; only a reader that meets a recovery waits here.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Opens the database that readers and writers share.
pub(super) fn open_shared(path: &Path) -> Result<Connection, rusqlite::Error> {
    let conn = connect(path)?;
    harden(&conn)?;
    conn.busy_timeout(TIMEOUT)?;
    conn.execute_batch(SETTINGS)?;
    // Answers with the mode it got: where there is no shared memory, SQLite stays with a journal, which is as safe.
    conn.query_row(WAL, [], |_| Ok(()))?;
    Ok(conn)
}

/// Opens another cache beside the index, which processes share without our locks.
pub(crate) fn open_cache(path: &Path) -> Result<Connection, rusqlite::Error> {
    let conn = open_shared(path)?;
    conn.execute_batch(CACHE_SETTINGS)?;
    Ok(conn)
}

/// Empties the log into the database. A reader in the way leaves some of it for
/// the next time, which is no failure.
pub(super) fn truncate_wal(conn: &Connection) -> Result<(), rusqlite::Error> {
    conn.query_row(TRUNCATE_WAL, [], |_| Ok(()))
}

/// Whether the pages are sound. Reads all of them.
pub(super) fn is_sound(conn: &Connection) -> Result<bool, rusqlite::Error> {
    conn.query_row(CHECK, [], |row| Ok(row.get_ref(0)?.as_str()? == "ok"))
}

/// Opens a file to fill from nothing, with tables but without the readers' indexes.
pub(super) fn open_bulk(path: &Path) -> Result<Connection, rusqlite::Error> {
    let conn = connect(path)?;
    conn.execute_batch(BULK_SETTINGS)?;
    conn.execute_batch(TABLES)?;
    conn.execute_batch(GROW_IN_BULK)?;
    Ok(conn)
}

/// Makes a filled file one like any other, and lets go of it.
pub(super) fn close_bulk(conn: Connection) -> Result<(), rusqlite::Error> {
    for sql in [MERGE, INDEXES, GROW] {
        conn.execute_batch(sql)?;
    }
    conn.close().map_err(|(_, error)| error)
}

/// A database without a file, and without tables.
pub(super) fn open_in_memory() -> Result<Connection, rusqlite::Error> {
    let conn = Connection::open_in_memory()?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    harden(&conn)?;
    Ok(conn)
}

/// Whether there is nothing in the database.
pub(super) fn is_empty(conn: &Connection) -> Result<bool, rusqlite::Error> {
    conn.query_row(COUNT_TABLES, [], |row| Ok(row.get::<_, u32>(0)? == 0))
}

/// Makes an empty database usable.
pub(super) fn create(conn: &Connection) -> Result<(), rusqlite::Error> {
    for sql in [TABLES, INDEXES, GROW] {
        conn.execute_batch(sql)?;
    }
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(conn)
}

/// Whatever the file says, it can make SQLite do nothing but hold rows.
fn harden(conn: &Connection) -> Result<(), rusqlite::Error> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    // A query plan must not depend on bound values: with partial indexes, SQLite would re-prepare
    // most plans for every id looked up.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A reader that closes must not write: only the holder of the index lock
    // does, and says afterwards how it left the files.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(())
}

/// More would hold memory and answer no sooner.
const MAX_CONNECTIONS: usize = 8;

/// Connections, opened when they are first needed: a process that reads one thing
/// after the other opens one.
pub(crate) struct IndexPool {
    state: Mutex<PoolState>,
    returned: Condvar,
    max_open: usize,
    /// Shared by those who check whether the index is current; exclusive for writers.
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
    /// The watch reports a change once, whichever connection asks.
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
pub(crate) struct PooledIndex<'p> {
    pool: &'p IndexPool,
    index: Option<Index>,
}

impl Default for IndexPool {
    /// None is open yet.
    fn default() -> Self {
        // Two at least: who makes vectors or keeps house must not hold up a question.
        let max_open =
            std::thread::available_parallelism().map_or(2, usize::from).clamp(2, MAX_CONNECTIONS);
        Self {
            state: Mutex::default(),
            returned: Condvar::new(),
            max_open,
            access: RwLock::new(()),
        }
    }
}

impl IndexPool {
    /// Whether a connection was opened already.
    pub(crate) fn is_open(&self) -> bool {
        self.state().latest.is_some()
    }

    /// A connection that nobody uses, or room for a new one; waits while all are lent.
    pub(crate) fn take(&self) -> PooledIndex<'_> {
        let full = |state: &mut PoolState| state.in_use == self.max_open;
        let mut state =
            self.returned.wait_while(self.state(), full).unwrap_or_else(PoisonError::into_inner);
        state.in_use += 1;
        // The last one back has the most in its memory.
        let index = state.idle.pop();
        PooledIndex { pool: self, index }
    }

    /// Keeps others from changing the index.
    pub(crate) fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.access.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps others from changing the index and from asking whether it is current.
    pub(crate) fn exclusive(&self) -> RwLockWriteGuard<'_, ()> {
        self.access.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledIndex<'_> {
    /// The connection, if it was opened.
    pub(crate) fn get(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// Works on the connection, which is opened if it was not, and makes every other
    /// follow if it leads to another database then. The caller is alone and holds the
    /// index lock.
    pub(crate) fn with_open<T>(
        &mut self,
        files: &StoreFiles,
        work: impl FnOnce(&mut Index) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let latest = self.pool.state().latest.clone();
        let is_latest =
            |index: &Index| latest.as_ref().is_some_and(|latest| index.database.is_same(latest));
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
    pub(crate) fn close_all(&mut self) {
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
        state.idle.extend(
            self.index
                .take()
                .filter(|index| latest.is_some_and(|latest| latest.is_same(&index.database))),
        );
        drop(state);
        self.pool.returned.notify_one();
    }
}
