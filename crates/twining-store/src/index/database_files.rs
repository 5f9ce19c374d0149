//! The index's own files, and whether they are as we left them.
//!
//! Nothing in `local/` is believed because it is there: a clone may have
//! brought it. `index.stamp` names this very directory and how the last writer
//! left the database; what does not match it is removed unopened.
//!
//! The database itself is never opened here, only looked at: closing a second
//! handle would drop the locks SQLite holds on it.

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use twining_model::scope::CaseFolding;
use xxhash_rust::xxh3::xxh3_64;

use super::connections;
use super::view::corrupt;
use crate::disk::{Dir, FileKind, Fingerprint};
use crate::error::StoreError;
use crate::log::store_files::StoreFiles;

/// The database.
pub(super) const DB: &str = "index.db";
/// Where a rebuild grows before it takes the database's place.
pub(super) const REBUILT: &str = "index.new";
const WAL: &str = "index.db-wal";
const SHM: &str = "index.db-shm";
const STAMP: &str = "index.stamp";
const SCAN_NOTE: &str = "index.looked";
/// Lines before the content.
const PREAMBLE_LINES: usize = 3;
const NOTE_BYTES: usize = 4096;
/// A folder that changed so shortly before it was looked at may have changed once
/// more without a later date.
const QUIET_NS: i64 = 2_000_000_000;

/// The database state that the last writer recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum DatabaseState {
    /// Left in peace, like this.
    Clean(DatabasePrints),
    /// A writer was at it, and if nobody holds the lock it died there.
    Writing {
        /// Which file it was writing.
        ino: u64,
    },
}

/// The state of the two files that hold the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DatabasePrints {
    db: Fingerprint,
    wal: Fingerprint,
}

/// How far the database on disk may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseTrust {
    /// As one of us left it.
    Full,
    /// One of us was killed while writing: SQLite recovers, and we look twice.
    Checked,
    /// Not ours, of another version, or touched by somebody else.
    None,
}

/// Determines how far to trust the database. During a write, only the holder of the index lock can
/// know.
pub(super) fn trust(files: &StoreFiles) -> Result<DatabaseTrust, StoreError> {
    let Some(prints) = prints(&files.layout.local)? else { return Ok(DatabaseTrust::None) };
    Ok(match read_stamp(files)? {
        Some(DatabaseState::Clean(last_state)) if last_state == prints && prints.db.ino != 0 => {
            DatabaseTrust::Full
        }
        Some(DatabaseState::Writing { ino }) if ino == prints.db.ino && ino != 0 => {
            DatabaseTrust::Checked
        }
        _ => DatabaseTrust::None,
    })
}

/// Says that a writer is at the database.
pub(super) fn mark_writing(files: &StoreFiles, ino: u64) -> Result<(), StoreError> {
    write_stamp(files, DatabaseState::Writing { ino })
}

/// Says how the database was left.
pub(super) fn mark_clean(files: &StoreFiles) -> Result<(), StoreError> {
    let prints = prints(&files.layout.local)?.unwrap_or_default();
    write_stamp(files, DatabaseState::Clean(prints))
}

/// The inode of the database, zero if there is none.
pub(super) fn inode(files: &StoreFiles) -> Result<u64, StoreError> {
    Ok(files.layout.local.stat(DB)?.map_or(0, |(_, print)| print.ino))
}

/// How long SQLite's log is.
pub(super) fn wal_bytes(files: &StoreFiles) -> Result<u64, StoreError> {
    Ok(files.layout.local.stat(WAL)?.map_or(0, |(_, print)| print.size))
}

/// Removes the database and what belongs to it.
pub(super) fn remove_database(files: &StoreFiles) -> Result<(), StoreError> {
    // The stamp first: what is left after a crash in here must not be believed.
    for name in [STAMP, DB, WAL, SHM] {
        remove(&files.layout.local, name)?;
    }
    remove_rebuild(files)
}

/// Removes what an unfinished rebuild left.
pub(super) fn remove_rebuild(files: &StoreFiles) -> Result<(), StoreError> {
    for name in [REBUILT, "index.new-journal", "index.new-wal", "index.new-shm"] {
        remove(&files.layout.local, name)?;
    }
    Ok(())
}

/// Puts a finished rebuild in the database's place.
pub(super) fn install_rebuilt(files: &StoreFiles) -> Result<(), StoreError> {
    let local = &files.layout.local;
    // Under another name nobody has it open, so this drops no lock of SQLite's.
    if let Some(handle) = local.open(REBUILT)? {
        handle.sync()?;
    }
    for name in [STAMP, DB, WAL, SHM] {
        remove(local, name)?;
    }
    local.rename(REBUILT, local, DB)
}

fn remove(local: &Dir, name: &str) -> Result<(), StoreError> {
    match local.stat(name)? {
        None => Ok(()),
        // Somebody put a directory where our file belongs.
        Some((FileKind::Dir, _)) => local.remove_tree(name),
        Some(_) => local.remove(name).map(|_| ()),
    }
}

/// Returns `None` if a path is not a regular file.
fn prints(local: &Dir) -> Result<Option<DatabasePrints>, StoreError> {
    let mut found = [Fingerprint::default(); 3];
    for (print, name) in found.iter_mut().zip([DB, WAL, SHM]) {
        match local.stat(name)? {
            Some((FileKind::File, now)) => *print = now,
            Some(_) => return Ok(None),
            None => {}
        }
    }
    let [db, wal, _] = found;
    // Opening makes an empty one, which says nothing.
    Ok(Some(DatabasePrints { db, wal: if wal.size == 0 { Fingerprint::default() } else { wal } }))
}

fn read_stamp(files: &StoreFiles) -> Result<Option<DatabaseState>, StoreError> {
    let Some((_, text)) = read_note(files, STAMP)? else { return Ok(None) };
    let state = text.lines().nth(PREAMBLE_LINES).unwrap_or_default();
    let is_ours = text.starts_with(&with_checksum(files, state)?);
    Ok(serde_json::from_str(state).ok().filter(|_| is_ours))
}

fn write_stamp(files: &StoreFiles, state: DatabaseState) -> Result<(), StoreError> {
    write_note(files, STAMP, &with_checksum(files, &serde_json::to_string(&state)?)?)
}

/// A line about the database, so that it counts for this version and directory alone.
fn with_checksum(files: &StoreFiles, line: &str) -> Result<String, StoreError> {
    let names = match files.folding {
        CaseFolding::Exact => "exact",
        CaseFolding::IgnoreCase => "ignore-case",
    };
    let text = format!(
        "twining index {}\nlocal {}\nnames {names}\n{line}\n",
        connections::VERSION,
        files.layout.local.identity()?
    );
    Ok(format!("{text}sum {:016x}\n", xxh3_64(text.as_bytes())))
}

/// A small file beside the database, and when it was written.
fn read_note(files: &StoreFiles, name: &str) -> Result<Option<(i64, String)>, StoreError> {
    let handle = match files.layout.local.open(name) {
        Ok(Some(handle)) => handle,
        Ok(None) | Err(StoreError::Unsafe { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; NOTE_BYTES];
    let read = handle.read_at(&mut bytes, 0)?;
    Ok(Some((handle.fingerprint()?.mtime_ns, String::from_utf8_lossy(&bytes[..read]).into_owned())))
}

/// Writes it in place, not by renaming: ext4 flushes on a rename over a file, which would
/// cost more than the catch-up. A torn one does not match; the worst it costs is a rebuild.
fn write_note(files: &StoreFiles, name: &str, text: &str) -> Result<(), StoreError> {
    let local = &files.layout.local;
    if local.stat(name)?.is_some_and(|(kind, _)| kind != FileKind::File) {
        remove(local, name)?;
    }
    local.create_random_access(name)?.write_at(text.as_bytes(), 0)
}

// Records when all decision files were last scanned, so that the next process need not: it lives
// for one query, and ten thousand files take longer to check than the query takes to answer.
//
// Adding, removing or replacing a file changes its folder: we do that, git does, and so do most
// editors. Writing into a file does not. So a process that relies on this checks the files of the
// decisions it returns; others may have been edited in place by hand, until the next full scan.

/// Whether the folder of decisions is as it was when all in it was found to be in this database.
pub(super) fn is_unchanged_since_scan(files: &StoreFiles, db: u64) -> Result<bool, StoreError> {
    let Some(folder) = files.decisions_fingerprint()? else { return Ok(false) };
    let Some((at, text)) = read_note(files, SCAN_NOTE)? else { return Ok(false) };
    Ok(at.saturating_sub(folder.mtime_ns) > QUIET_NS
        && text.starts_with(&scan_note(files, db, folder)?))
}

/// Says that all in the folder, which was like this before it was looked at, is in
/// this database. The caller holds the index lock.
pub(super) fn write_scan_note(
    files: &StoreFiles,
    db: u64,
    folder: Fingerprint,
) -> Result<(), StoreError> {
    write_note(files, SCAN_NOTE, &scan_note(files, db, folder)?)
}

fn scan_note(files: &StoreFiles, db: u64, folder: Fingerprint) -> Result<String, StoreError> {
    with_checksum(files, &serde_json::to_string(&(db, folder))?)
}

/// How much of the files is in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexedFiles {
    /// The blackboard.
    pub board: BoardPosition,
    /// `entities.json` and `relations.json`.
    pub arrays: [Option<Fingerprint>; 2],
    /// The last journal line.
    pub seq: u64,
    /// The anchors.
    pub anchors: AnchorsPosition,
}

/// How much of the anchors is in the database: every line that ends at or before `offset`, and one
/// after it if that is whole but for its newline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AnchorsPosition {
    /// The file, as it was when it was last read.
    pub print: Option<Fingerprint>,
    /// Up to here lines are complete.
    pub offset: u64,
    /// How many lines that is.
    pub line: u64,
    /// Hash of the bytes before `offset`.
    pub before: u64,
}

/// How much of the blackboard is in the database: every line that ends at or
/// before `offset`, and one after it if that is whole but for its newline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BoardPosition {
    /// The file, as it was when it was last read.
    pub print: Option<Fingerprint>,
    /// The writers' count of changes from outside.
    pub epoch: u64,
    /// Up to here lines are complete.
    pub offset: u64,
    /// How many lines that is.
    pub line: u64,
    /// The segment that `offset` closes so far; it has a line, unless the board has none.
    pub segment: Segment,
}

/// A stretch of whole lines, by its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    /// Where its first line starts.
    pub start: u64,
    /// How many lines come before it.
    pub line: u64,
    /// The hashes of its lines, mixed in order.
    pub hash: u64,
}

impl Segment {
    /// Takes one more line in.
    pub(super) fn take(&mut self, line_hash: u64) {
        self.hash = (self.hash.rotate_left(23) ^ line_hash).wrapping_mul(0x9E37_79B1_85EB_CA87);
    }
}

const LOAD: &str = "SELECT state FROM known WHERE one = 1";
const SAVE: &str = "INSERT OR REPLACE INTO known(one, state) VALUES(1, ?1)";

impl IndexedFiles {
    /// Reads it.
    pub(super) fn load(conn: &Connection) -> Result<Self, StoreError> {
        let state: Option<String> =
            conn.prepare_cached(LOAD)?.query_row([], |row| row.get(0)).optional()?;
        let Some(state) = state else { return Ok(Self::default()) };
        serde_json::from_str(&state).map_err(|_| corrupt("an unreadable state of the files"))
    }

    /// Writes it.
    pub(super) fn save(&self, conn: &Connection) -> Result<(), StoreError> {
        conn.prepare_cached(SAVE)?.execute([serde_json::to_string(self)?])?;
        Ok(())
    }
}
