//! The index: the content of the files, in queryable form.
//!
//! It is derived and may be deleted at any time. It is brought up to date before each query,
//! contains nothing the files do not, and is trusted only in the state a Twining process left it.
//! Writers hold `local/index.lock`; readers do not, and see a snapshot, each on its own connection
//! from the [`IndexPool`].

use std::collections::BTreeSet;

use rusqlite::Connection;
use twining_model::Time;
use twining_model::scope::CaseFolding;

use super::catch_up::{self, BoardPlan, CommitPace};
use super::connections::{self, DatabaseFile};
use super::database_files::{self, DatabaseTrust, IndexedFiles};
use super::view::{View, corrupt};
use crate::disk::Fingerprint;
use crate::error::StoreError;
use crate::log::store_files::{Array, DecisionsChanged, StoreFiles};

/// A connection to the index over one project's files.
pub struct Index {
    pub(super) conn: Connection,
    pub(super) database: DatabaseFile,
}

/// Files over this size are better put into a new index in one go.
pub(super) const BULK_BYTES: u64 = 1024 * 1024;

/// How often a new database is made until it is ours alone.
const CREATE_ATTEMPTS: u32 = 5;

impl Index {
    /// Opens the index of these files; an empty one if there is none that can be
    /// believed. The caller holds the index lock.
    pub fn open(files: &StoreFiles) -> Result<Self, StoreError> {
        database_files::remove_rebuild(files)?;
        let opened = match database_files::trust(files)? {
            DatabaseTrust::Full => Self::connect(files),
            DatabaseTrust::Checked => {
                Self::connect(files).and_then(|index| index.integrity_checked(files))
            }
            DatabaseTrust::None => return Self::create(files),
        };
        if opened.as_ref().is_err_and(is_damaged) { Self::create(files) } else { opened }
    }

    /// An index without a file, empty; only to be viewed.
    pub fn in_memory() -> Result<Self, StoreError> {
        let conn = connections::open_in_memory()?;
        connections::create(&conn)?;
        Ok(Self { conn, database: DatabaseFile::new(0) })
    }

    /// Removes the index. The caller holds the index lock.
    pub fn destroy(files: &StoreFiles) -> Result<(), StoreError> {
        database_files::remove_database(files)
    }

    /// Whether the index holds what the files say now. Takes no lock; if another
    /// process caught the index up meanwhile, that counts.
    pub fn is_current(&self, files: &StoreFiles) -> Result<bool, StoreError> {
        self.note_changes(files);
        let is_pending = *self.database.pending() != DecisionsChanged::Nothing;
        if is_pending
            || database_files::inode(files)? != self.database.inode
            || database_files::trust(files)? == DatabaseTrust::None
        {
            return Ok(false);
        }
        match IndexedFiles::load(&self.conn) {
            Ok(known) => matches_files(&known, files),
            // Damaged: the catch-up will find that out again, where it can be dealt with.
            Err(_) => Ok(false),
        }
    }

    /// Whether the index may be asked without a look at every decision file: the
    /// rest is as it is known, and the folder as it was when they were all looked
    /// at. The caller holds the index lock.
    pub fn is_unchanged_since_scan(&self, files: &StoreFiles) -> Result<bool, StoreError> {
        Ok(self.is_trusted(files)?
            && matches_files(&IndexedFiles::load(&self.conn)?, files)?
            && database_files::is_unchanged_since_scan(files, self.database.inode)?)
    }

    /// Brings the index up to date, and returns how many records were read or removed. The caller
    /// holds the index lock.
    pub fn catch_up(&mut self, files: &StoreFiles) -> Result<u64, StoreError> {
        if database_files::inode(files).ok() != Some(self.database.inode)
            || !self.is_trusted(files)?
        {
            *self = Self::open(files)?;
        }
        // Before anything in it is looked at: what comes later shows in its date.
        let folder = files.decisions_fingerprint()?;
        self.note_changes(files);
        let known = IndexedFiles::load(&self.conn)?;
        let changed = self.database.pending().clone();
        if changed == DecisionsChanged::Nothing && matches_files(&known, files)? {
            return Ok(0);
        }
        if changed == DecisionsChanged::Unknown
            && known != IndexedFiles::default()
            && matches_files(&known, files)?
            && catch_up::match_listing(&self.conn, &files.list_decisions()?)?
        {
            *self.database.pending() = DecisionsChanged::Nothing;
            // Failing to record the scan does not invalidate it.
            drop(
                folder.map(|folder| {
                    database_files::write_scan_note(files, self.database.inode, folder)
                }),
            );
            return Ok(0);
        }
        let board = catch_up::plan_board(&self.conn, &known, files)?;
        if board.prefers_rebuild(&known)
            || (known == IndexedFiles::default() && tracked_bytes(files)? > BULK_BYTES)
        {
            return self.rebuild(files);
        }
        self.write(files, board, &changed)
    }

    /// Rebuilds the index from the files. The caller holds the index lock.
    pub fn rebuild(&mut self, files: &StoreFiles) -> Result<u64, StoreError> {
        // Drained before the files are read: later changes are reported again.
        self.note_changes(files);
        database_files::remove_rebuild(files)?;
        let built = build_new(files);
        if built.is_err() {
            // The disk may be full of it.
            drop(database_files::remove_rebuild(files));
        }
        let records = built?;
        database_files::install_rebuilt(files)?;
        *self = Self::connect(files)?;
        database_files::mark_clean(files)?;
        *self.database.pending() = DecisionsChanged::Nothing;
        Ok(records)
    }

    /// Moves what SQLite's log holds into the database, if it is longer than
    /// `most` bytes. It flushes, so no call does this. The caller holds the index lock.
    pub fn truncate_wal(&self, files: &StoreFiles, max_bytes: u64) -> Result<(), StoreError> {
        if database_files::wal_bytes(files)? <= max_bytes || !self.is_trusted(files)? {
            return Ok(());
        }
        database_files::mark_writing(files, self.database.inode)?;
        let truncated = connections::truncate_wal(&self.conn);
        database_files::mark_clean(files)?;
        Ok(truncated?)
    }

    /// How long SQLite's log is. Opens nothing.
    pub fn wal_bytes(files: &StoreFiles) -> Result<u64, StoreError> {
        database_files::wal_bytes(files)
    }

    /// A snapshot to read.
    pub fn view(&self, now: Time, folding: CaseFolding) -> Result<View<'_>, StoreError> {
        View::begin(&self.conn, now, folding)
    }

    fn connect(files: &StoreFiles) -> Result<Self, StoreError> {
        let conn = connections::open_shared(&files.layout.local.path().join(database_files::DB))?;
        Ok(Self { conn, database: DatabaseFile::new(database_files::inode(files)?) })
    }

    fn create(files: &StoreFiles) -> Result<Self, StoreError> {
        let mut index = Self::connect_to_new(files)?;
        // A branch that commits `local/` makes git put an old database back, also between
        // removing and opening.
        for _ in 1..CREATE_ATTEMPTS {
            if connections::is_empty(&index.conn)? {
                break;
            }
            index = Self::connect_to_new(files)?;
        }
        connections::create(&index.conn)?;
        index.conn.execute_batch("COMMIT")?;
        database_files::mark_clean(files)?;
        Ok(index)
    }

    /// A connection to a database that was just made, with a transaction begun.
    fn connect_to_new(files: &StoreFiles) -> Result<Self, StoreError> {
        database_files::remove_database(files)?;
        let index = Self::connect(files)?;
        index.conn.execute_batch("BEGIN IMMEDIATE")?;
        Ok(index)
    }

    fn integrity_checked(self, files: &StoreFiles) -> Result<Self, StoreError> {
        if !connections::is_sound(&self.conn)? {
            return Err(corrupt("the pages of the index are corrupt"));
        }
        database_files::mark_clean(files)?;
        Ok(self)
    }

    fn is_trusted(&self, files: &StoreFiles) -> Result<bool, StoreError> {
        Ok(database_files::trust(files)? == DatabaseTrust::Full)
    }

    fn write(
        &mut self,
        files: &StoreFiles,
        board: BoardPlan,
        changed: &DecisionsChanged,
    ) -> Result<u64, StoreError> {
        database_files::mark_writing(files, self.database.inode)?;
        let ran = catch_up::run(&self.conn, CommitPace::Shared, files, board, changed);
        match &ran {
            Ok(_) => {
                *self.database.pending() = DecisionsChanged::Nothing;
                database_files::mark_clean(files)?;
            }
            Err(error) if error.is_corrupt() => {}
            // Rolled back, so it is as it was. If this fails too, the next one looks twice.
            Err(_) => drop(database_files::mark_clean(files)),
        }
        ran
    }

    fn note_changes(&self, files: &StoreFiles) {
        let mut pending = self.database.pending();
        let known = std::mem::replace(&mut *pending, DecisionsChanged::Nothing);
        *pending = merge_changes(known, files.decisions_changed());
    }
}

pub(super) fn build_new(files: &StoreFiles) -> Result<u64, StoreError> {
    let conn = connections::open_bulk(&files.layout.local.path().join(database_files::REBUILT))?;
    let board = catch_up::plan_board(&conn, &IndexedFiles::default(), files)?;
    let records = catch_up::run(&conn, CommitPace::Bulk, files, board, &DecisionsChanged::Unknown)?;
    connections::close_bulk(conn)?;
    Ok(records)
}

pub(super) fn matches_files(known: &IndexedFiles, files: &StoreFiles) -> Result<bool, StoreError> {
    Ok(known.board.print == files.board_fingerprint()?
        && known.board.epoch == files.lock_state().epoch
        && known.seq == files.lock_state().applied_seq
        && known.arrays == array_prints(files)?
        && known.anchors.print == files.anchors_fingerprint()?)
}

pub(super) fn array_prints(files: &StoreFiles) -> Result<[Option<Fingerprint>; 2], StoreError> {
    Ok([files.array_fingerprint(Array::Entities)?, files.array_fingerprint(Array::Relations)?])
}

pub(super) fn tracked_bytes(files: &StoreFiles) -> Result<u64, StoreError> {
    let lines = [files.board_fingerprint()?, files.anchors_fingerprint()?];
    Ok(files.graph_bytes()? + lines.iter().flatten().map(|print| print.size).sum::<u64>())
}

pub(super) fn merge_changes(one: DecisionsChanged, other: DecisionsChanged) -> DecisionsChanged {
    match (one, other) {
        (DecisionsChanged::Nothing, changed) | (changed, DecisionsChanged::Nothing) => changed,
        (DecisionsChanged::Listed(some), DecisionsChanged::Listed(more)) => {
            let ids: BTreeSet<_> = some.into_iter().chain(more).collect();
            DecisionsChanged::Listed(ids.into_iter().collect())
        }
        _ => DecisionsChanged::Unknown,
    }
}

/// Whether opening failed because of what is in the file, and not of where it is.
pub(super) fn is_damaged(error: &StoreError) -> bool {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseCorrupt, NotADatabase, SystemIoFailure, TypeMismatch,
    };
    match error {
        StoreError::Index(rusqlite::Error::SqliteFailure(failure, _)) => {
            matches!(
                failure.code,
                DatabaseCorrupt | NotADatabase | CannotOpen | SystemIoFailure | TypeMismatch
            )
        }
        StoreError::Index(_) | StoreError::Encode(_) => true,
        _ => false,
    }
}
