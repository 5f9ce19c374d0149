//! The index's own files, and whether they are as we left them.
//!
//! Nothing in `local/` is believed because it is there: a clone may have
//! brought it. `index.stamp` names this very directory and how the last writer
//! left the database; what does not match it is removed unopened.
//!
//! The database itself is never opened here, only looked at: closing a second
//! handle would drop the locks SQLite holds on it.

use twining_model::scope::Folding;
use xxhash_rust::xxh3::xxh3_64;

use super::schema;
use crate::disk::{Dir, Fingerprint, Kind};
use crate::error::StoreError;
use crate::log::files::Files;

/// The database.
pub(super) const DB: &str = "index.db";
/// Where a rebuild grows before it takes the database's place.
pub(super) const NEW: &str = "index.new";
const WAL: &str = "index.db-wal";
const SHM: &str = "index.db-shm";
const STAMP: &str = "index.stamp";
const STAMP_BYTES: usize = 4096;

/// What the last writer said of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Left in peace, like this.
    Clean(Prints),
    /// A writer was at it, and if nobody holds the lock it died there.
    Writing {
        /// Which file it was writing.
        ino: u64,
    },
}

/// The state of the two files that hold the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prints {
    db: Fingerprint,
    wal: Fingerprint,
}

/// How far the database on disk may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// As one of us left it.
    Full,
    /// One of us was killed while writing: SQLite recovers, and we look twice.
    Checked,
    /// Not ours, of another version, or touched by somebody else.
    None,
}

/// How far to believe what stands there. The caller holds the index lock.
pub(super) fn trust(files: &Files, folding: Folding) -> Result<Trust, StoreError> {
    let local = files.local();
    for name in [DB, WAL, SHM] {
        if local.stat(name)?.is_some_and(|(kind, _)| kind != Kind::File) {
            return Ok(Trust::None);
        }
    }
    let prints = prints(local)?;
    Ok(match read_stamp(files, folding)? {
        Some(State::Clean(left)) if left == prints && prints.db.ino != 0 => Trust::Full,
        Some(State::Writing { ino }) if ino == prints.db.ino && ino != 0 => Trust::Checked,
        _ => Trust::None,
    })
}

/// Whether nobody but us touched the database, as far as a reader without the
/// lock can tell: while somebody writes, it cannot.
pub(super) fn seems_untouched(files: &Files, folding: Folding, ino: u64) -> Result<bool, StoreError> {
    let prints = prints(files.local())?;
    Ok(match read_stamp(files, folding)? {
        Some(State::Clean(left)) => left == prints && prints.db.ino == ino,
        Some(State::Writing { ino: writing }) => writing == ino && prints.db.ino == ino,
        None => false,
    })
}

/// Says that a writer is at the database.
pub(super) fn mark_writing(files: &Files, folding: Folding, ino: u64) -> Result<(), StoreError> {
    write_stamp(files, folding, State::Writing { ino })
}

/// Says how the database was left.
pub(super) fn mark_clean(files: &Files, folding: Folding) -> Result<(), StoreError> {
    let prints = prints(files.local())?;
    write_stamp(files, folding, State::Clean(prints))
}

/// The inode of the database, zero if there is none.
pub(super) fn inode(files: &Files) -> Result<u64, StoreError> {
    Ok(files.local().stat(DB)?.map_or(0, |(_, print)| print.ino))
}

/// How long SQLite's log is.
pub(super) fn log_bytes(files: &Files) -> Result<u64, StoreError> {
    Ok(files.local().stat(WAL)?.map_or(0, |(_, print)| print.size))
}

/// Removes the database and what belongs to it.
pub(super) fn clear(files: &Files) -> Result<(), StoreError> {
    // The stamp first: what is left after a crash in here must not be believed.
    for name in [STAMP, DB, WAL, SHM] {
        remove(files.local(), name)?;
    }
    clear_new(files)
}

/// Removes what an unfinished rebuild left.
pub(super) fn clear_new(files: &Files) -> Result<(), StoreError> {
    for name in [NEW, "index.new-journal", "index.new-wal", "index.new-shm"] {
        remove(files.local(), name)?;
    }
    Ok(())
}

/// Puts a finished rebuild in the database's place.
pub(super) fn put_new(files: &Files) -> Result<(), StoreError> {
    let local = files.local();
    // Under another name nobody has it open, so this drops no lock of SQLite's.
    if let Some(handle) = local.open(NEW)? {
        handle.sync()?;
    }
    for name in [STAMP, DB, WAL, SHM] {
        remove(local, name)?;
    }
    local.rename(NEW, local, DB)
}

/// Whether the volume takes `A` and `a` for one name; asked as the layout asks it.
pub(super) fn folding(files: &Files) -> Folding {
    match files.local().stat(".GITIGNORE") {
        Ok(Some((Kind::File, _))) => Folding::IgnoreCase,
        _ => Folding::Exact,
    }
}

pub(super) fn remove(local: &Dir, name: &str) -> Result<(), StoreError> {
    match local.stat(name)? {
        None => Ok(()),
        // Somebody put a directory where our file belongs.
        Some((Kind::Dir, _)) => local.remove_tree(name),
        Some(_) => local.remove(name).map(|_| ()),
    }
}

fn prints(local: &Dir) -> Result<Prints, StoreError> {
    let of = |name| -> Result<Fingerprint, StoreError> { Ok(local.stat(name)?.map(|(_, print)| print).unwrap_or_default()) };
    let wal = of(WAL)?;
    // Opening makes an empty one, which says nothing.
    Ok(Prints { db: of(DB)?, wal: if wal.size == 0 { Fingerprint::default() } else { wal } })
}

fn read_stamp(files: &Files, folding: Folding) -> Result<Option<State>, StoreError> {
    let handle = match files.local().open(STAMP) {
        Ok(Some(handle)) => handle,
        Ok(None) | Err(StoreError::Unsafe { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = [0; STAMP_BYTES];
    let read = handle.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes[..read]);
    let Some((head, rest)) = text.split_once("state ") else { return Ok(None) };
    let mut lines = rest.lines();
    let (Some(state), Some(sum)) = (lines.next(), lines.next()) else { return Ok(None) };
    let ours = head == preamble(files, folding)? && sum == checksum(head, state);
    Ok(ours.then(|| parse_state(state)).flatten())
}

fn write_stamp(files: &Files, folding: Folding, state: State) -> Result<(), StoreError> {
    let local = files.local();
    if local.stat(STAMP)?.is_some_and(|(kind, _)| kind != Kind::File) {
        remove(local, STAMP)?;
    }
    let head = preamble(files, folding)?;
    let state = print_state(state);
    let sum = checksum(&head, &state);
    // In place, not by renaming: ext4 flushes on a rename over a file, which would
    // cost more than the catch-up. A torn stamp does not match and costs a rebuild.
    local.make_random(STAMP)?.write_at(format!("{head}state {state}\n{sum}\n").as_bytes(), 0)
}

pub(super) fn preamble(files: &Files, folding: Folding) -> Result<String, StoreError> {
    let names = match folding {
        Folding::Exact => "exact",
        Folding::IgnoreCase => "ignore-case",
    };
    Ok(format!("twining index {}\nlocal {}\nnames {names}\n", schema::VERSION, files.local_stamp()?))
}

pub(super) fn checksum(head: &str, state: &str) -> String {
    format!("sum {:016x}", xxh3_64(format!("{head}{state}").as_bytes()))
}

fn print_state(state: State) -> String {
    match state {
        State::Clean(Prints { db, wal }) => {
            format!("clean {} {} {} {} {} {}", db.ino.cast_signed(), db.size, db.mtime_ns, wal.ino.cast_signed(), wal.size, wal.mtime_ns)
        }
        State::Writing { ino } => format!("writing {}", ino.cast_signed()),
    }
}

fn parse_state(text: &str) -> Option<State> {
    let mut words = text.split(' ');
    let word = words.next()?;
    let numbers: Vec<i64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let print = |n: &[i64]| Fingerprint { ino: n[0].cast_unsigned(), size: n[1].cast_unsigned(), mtime_ns: n[2] };
    match (word, numbers.as_slice()) {
        ("clean", n @ [_, _, _, _, _, _]) => Some(State::Clean(Prints { db: print(&n[..3]), wal: print(&n[3..]) })),
        ("writing", [ino]) => Some(State::Writing { ino: ino.cast_unsigned() }),
        _ => None,
    }
}
