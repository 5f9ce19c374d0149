//! The tables of `local/code.db`.
//!
//! Everything in it can be read again from the working tree or from git, so there are no
//! migrations: a database of another version, or one that came with a clone, is removed unopened.

use rusqlite::{Connection, OptionalExtension, params};
use twining_code::{Definition, DefinitionKind, Language, Sketch, TOKEN_RULES};
use twining_model::Place;
use xxhash_rust::xxh3::xxh3_64;

use super::outline::SourceOutline;
use crate::disk::{Dir, FileKind, Fingerprint};
use crate::error::StoreError;
use crate::index::open_cache;

const DB: &str = "code.db";
const BESIDE: [&str; 2] = ["code.db-wal", "code.db-shm"];
const STAMP: &str = "code.stamp";
/// Grows with every change to the tables, or to what a grammar finds.
const VERSION: u32 = 5;
const DAY_MS: i64 = 24 * 3600 * 1000;
/// What nobody asked for in this time is forgotten.
const KEPT_MS: i64 = 30 * DAY_MS;

const TABLES: &str = "
CREATE TABLE checkout(num INTEGER PRIMARY KEY, folder TEXT NOT NULL UNIQUE);
CREATE TABLE tree(
    checkout INTEGER NOT NULL, path TEXT NOT NULL, ino INTEGER NOT NULL, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, blob TEXT, PRIMARY KEY(checkout, path)
) WITHOUT ROWID;
CREATE TABLE blob(
    num INTEGER PRIMARY KEY, id TEXT NOT NULL, language TEXT NOT NULL, coarse INTEGER NOT NULL,
    has_errors INTEGER NOT NULL,
    used INTEGER NOT NULL, UNIQUE(id, language)
);
CREATE INDEX blob_used ON blob(used);
CREATE TABLE definition(
    blob INTEGER NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL,
    nth INTEGER NOT NULL, kind TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    signature INTEGER NOT NULL, body INTEGER NOT NULL, tokens INTEGER NOT NULL, sketch BLOB NOT NULL,
    PRIMARY KEY(blob, position)
) WITHOUT ROWID;
CREATE TABLE moved(
    anchor TEXT NOT NULL, head TEXT NOT NULL, place TEXT, path TEXT, commit_hash TEXT,
    tree TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(anchor, head)
) WITHOUT ROWID;
CREATE INDEX moved_path ON moved(path, anchor) WHERE path IS NOT NULL;
CREATE TABLE assumed(
    record TEXT PRIMARY KEY, inputs INTEGER NOT NULL, head TEXT NOT NULL, lines TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE belongs(
    checkout INTEGER NOT NULL, record TEXT NOT NULL, head TEXT NOT NULL,
    PRIMARY KEY(checkout, record)
) WITHOUT ROWID;
CREATE TABLE sweep(checkout INTEGER PRIMARY KEY, head TEXT NOT NULL, last TEXT);
CREATE TABLE timed_out(anchor TEXT PRIMARY KEY, head TEXT NOT NULL) WITHOUT ROWID;
";

const CHECKOUT: &str = "SELECT num FROM checkout WHERE folder = ?1";
const ADD_CHECKOUT: &str = "INSERT INTO checkout(folder) VALUES(?1)";
const TREE: &str = "SELECT ino, size, mtime, blob FROM tree WHERE checkout = ?1 AND path = ?2";
const SET_TREE: &str = "INSERT OR REPLACE INTO tree(checkout, path, ino, size, mtime, blob) VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
const BLOB: &str = "SELECT num, coarse, has_errors, used FROM blob WHERE id = ?1 AND language = ?2";
const ADD_BLOB: &str = "INSERT OR IGNORE INTO blob(id, language, coarse, has_errors, used)
    VALUES(?1, ?2, ?3, ?4, ?5)";
const USED: &str = "UPDATE blob SET used = ?2 WHERE num = ?1";
const DEFINITIONS: &str = "SELECT name, nth, kind, first, last, signature, body, tokens, sketch \
    FROM definition WHERE blob = ?1 ORDER BY position";
const ADD_DEFINITION: &str = "INSERT OR IGNORE INTO definition\
    (blob, position, name, nth, kind, first, last, signature, body, tokens, sketch) \
    VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const MOVED: &str = "SELECT place, commit_hash, tree FROM moved WHERE anchor = ?1 AND head = ?2";
const LAST_MOVED: &str =
    "SELECT place, commit_hash, tree, head FROM moved WHERE anchor = ?1 ORDER BY at DESC LIMIT 1";
const MOVED_INTO: &str = "SELECT DISTINCT anchor FROM moved WHERE path = ?1 ORDER BY anchor";
const SET_MOVED: &str = "INSERT OR REPLACE INTO moved(anchor, head, place, path, commit_hash, tree, at) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const ASSUMED: &str = "SELECT head, lines FROM assumed WHERE record = ?1 AND inputs = ?2";
const SET_ASSUMED: &str =
    "INSERT OR REPLACE INTO assumed(record, inputs, head, lines) VALUES(?1, ?2, ?3, ?4)";
const FORGET_DEFINITIONS: &str =
    "DELETE FROM definition WHERE blob IN (SELECT num FROM blob WHERE used < ?1)";
const FORGET_BLOBS: &str = "DELETE FROM blob WHERE used < ?1";
const FORGET_MOVED: &str = "DELETE FROM moved WHERE at < ?1";

const BELONGS: &str = "SELECT head FROM belongs WHERE checkout = ?1 AND record = ?2";
const SET_BELONGS: &str =
    "INSERT OR REPLACE INTO belongs(checkout, record, head) VALUES(?1, ?2, ?3)";

const SWEEP: &str = "SELECT last FROM sweep WHERE checkout = ?1 AND head = ?2";
const SET_SWEEP: &str = "INSERT OR REPLACE INTO sweep(checkout, head, last) VALUES(?1, ?2, ?3)";
const TIMED_OUT: &str = "SELECT EXISTS(SELECT 1 FROM timed_out WHERE anchor = ?1 AND head = ?2)";
const SET_TIMED_OUT: &str = "INSERT OR REPLACE INTO timed_out(anchor, head) VALUES(?1, ?2)";

/// The file kind of a file without grammar, in the column for languages.
const NO_LANGUAGE: &str = "";

/// An open database.
pub(super) struct CodeDatabase {
    conn: Connection,
    checkout: i64,
    /// Whether there was none before.
    pub(super) is_new: bool,
}

/// What a search for a definition that is no longer at its place found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedTo {
    /// Where it is now; none if it is nowhere.
    pub place: Option<String>,
    /// The commit in which it left its place, if that is known.
    pub commit: Option<String>,
    /// What was not committed when it was looked for.
    pub tree: String,
}

/// The anchors of a record from before there were any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedLines {
    /// The commit that was checked out when they were looked up.
    pub head: String,
    /// As JSON.
    pub lines: String,
}

/// How far all that is not at its place was looked for at a HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepProgress {
    /// Up to the anchor with this key, in the order of keys.
    UpTo(String),
    /// Up to the last.
    Done,
}

impl CodeDatabase {
    /// Opens the database in `local`, or a new one if there is none that can be believed.
    pub(super) fn open(local: &Dir, folder: &str) -> Result<Self, StoreError> {
        if !is_ours(local)? {
            remove(local)?;
        }
        match Self::connect(local, folder) {
            Err(_) => {
                remove(local)?;
                Self::connect(local, folder)
            }
            opened => opened,
        }
    }

    /// A database without a file, where there is no memory to keep it in.
    pub(super) fn in_memory(folder: &str) -> Result<Self, StoreError> {
        let conn = Connection::open_in_memory()?;
        conn.execute_batch(TABLES)?;
        Self::for_checkout(conn, folder)
    }

    fn connect(local: &Dir, folder: &str) -> Result<Self, StoreError> {
        let is_new = local.stat(DB)?.is_none();
        let conn = open_cache(&local.path().join(DB))?;
        if is_new {
            conn.execute_batch("BEGIN IMMEDIATE")?;
            let is_empty = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
                Ok(row.get::<_, i64>(0)? == 0)
            })?;
            if is_empty {
                conn.execute_batch(TABLES)?;
            }
            conn.execute_batch("COMMIT")?;
            write_stamp(local)?;
        }
        Ok(Self { is_new, ..Self::for_checkout(conn, folder)? })
    }

    fn for_checkout(conn: Connection, folder: &str) -> Result<Self, StoreError> {
        let known = |conn: &Connection| {
            conn.query_row(CHECKOUT, [folder], |row| row.get::<_, i64>(0)).optional()
        };
        let checkout = match known(&conn)? {
            Some(num) => num,
            None => {
                conn.execute(ADD_CHECKOUT, [folder])?;
                conn.last_insert_rowid()
            }
        };
        Ok(Self { conn, checkout, is_new: false })
    }

    /// What is known of a file: its state when it was looked at, and its blob if it was read.
    pub(super) fn file(
        &self,
        path: &str,
    ) -> Result<Option<(Fingerprint, Option<String>)>, StoreError> {
        let read = |row: &rusqlite::Row<'_>| {
            let fingerprint = Fingerprint {
                ino: row.get::<_, i64>(0)?.cast_unsigned(),
                size: row.get::<_, i64>(1)?.cast_unsigned(),
                mtime_ns: row.get(2)?,
            };
            Ok((fingerprint, row.get(3)?))
        };
        let mut statement = self.conn.prepare_cached(TREE)?;
        Ok(statement.query_row(params![self.checkout, path], read).optional()?)
    }

    /// Notes what is at a path.
    pub(super) fn set_file(
        &self,
        path: &str,
        fingerprint: Fingerprint,
        blob: Option<&str>,
    ) -> Result<(), StoreError> {
        self.conn.prepare_cached(SET_TREE)?.execute(params![
            self.checkout,
            path,
            fingerprint.ino.cast_signed(),
            fingerprint.size.cast_signed(),
            fingerprint.mtime_ns,
            blob
        ])?;
        Ok(())
    }

    /// The definitions of a blob, if it was read before.
    pub(super) fn source(
        &self,
        blob: &str,
        language: Option<Language>,
        now_ms: i64,
    ) -> Result<Option<SourceOutline>, StoreError> {
        let word = language.map_or(NO_LANGUAGE, Language::name);
        let known: Option<(i64, bool, bool, i64)> = self
            .conn
            .prepare_cached(BLOB)?
            .query_row(params![blob, word], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .optional()?;
        let Some((num, coarse, has_errors, used)) = known else { return Ok(None) };
        if now_ms - used > DAY_MS {
            self.conn.prepare_cached(USED)?.execute(params![num, now_ms])?;
        }
        let mut statement = self.conn.prepare_cached(DEFINITIONS)?;
        let rows = statement.query_map([num], read_definition)?;
        let mut rows = rows.collect::<Result<Vec<_>, _>>()?.into_iter();
        // The whole file comes first.
        let Some(whole) = rows.next() else { return Ok(None) };
        Ok(Some(SourceOutline { language, coarse, has_errors, whole, definitions: rows.collect() }))
    }

    /// Keeps the definitions of a blob.
    pub(super) fn add_source(
        &self,
        blob: &str,
        source: &SourceOutline,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let word = source.language.map_or(NO_LANGUAGE, Language::name);
        let added = self.conn.prepare_cached(ADD_BLOB)?.execute(params![
            blob,
            word,
            source.coarse,
            source.has_errors,
            now_ms
        ])?;
        if added == 0 {
            return Ok(());
        }
        let num = self.conn.last_insert_rowid();
        let mut statement = self.conn.prepare_cached(ADD_DEFINITION)?;
        let all = std::iter::once(&source.whole).chain(&source.definitions);
        for (position, definition) in all.enumerate() {
            statement.execute(params![
                num,
                i64::try_from(position).unwrap_or(i64::MAX),
                definition.name,
                definition.nth,
                definition.kind.name(),
                definition.first_line,
                definition.last_line,
                definition.signature.cast_signed(),
                definition.body.cast_signed(),
                definition.tokens,
                &definition.sketch.0[..],
            ])?;
        }
        Ok(())
    }

    /// What a search for an anchor's definition found at this HEAD, if one was made.
    pub(super) fn moved(&self, anchor: &str, head: &str) -> Result<Option<MovedTo>, StoreError> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(MovedTo { place: row.get(0)?, commit: row.get(1)?, tree: row.get(2)? })
        };
        let mut statement = self.conn.prepare_cached(MOVED)?;
        Ok(statement.query_row([anchor, head], read).optional()?)
    }

    /// What the last search found, and at which HEAD.
    pub(super) fn last_moved(&self, anchor: &str) -> Result<Option<(String, MovedTo)>, StoreError> {
        let read = |row: &rusqlite::Row<'_>| {
            let moved = MovedTo { place: row.get(0)?, commit: row.get(1)?, tree: row.get(2)? };
            Ok((row.get(3)?, moved))
        };
        let mut statement = self.conn.prepare_cached(LAST_MOVED)?;
        Ok(statement.query_row([anchor], read).optional()?)
    }

    /// The anchors whose definitions were found in a file, at any HEAD.
    pub(super) fn moved_into(&self, path: &str) -> Result<Vec<String>, StoreError> {
        let mut statement = self.conn.prepare_cached(MOVED_INTO)?;
        let rows = statement.query_map([path], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    pub(super) fn set_moved(
        &self,
        anchor: &str,
        head: &str,
        moved: &MovedTo,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let place = moved.place.as_ref().and_then(|place| place.parse::<Place>().ok());
        let path = place.as_ref().map(Place::path);
        self.conn.prepare_cached(SET_MOVED)?.execute(params![
            anchor,
            head,
            moved.place,
            path,
            moved.commit,
            moved.tree,
            now_ms
        ])?;
        Ok(())
    }

    /// The anchors that a record from before was given, and at which HEAD.
    pub(super) fn assumed(
        &self,
        record: &str,
        inputs: &str,
    ) -> Result<Option<AssumedLines>, StoreError> {
        let read =
            |row: &rusqlite::Row<'_>| Ok(AssumedLines { head: row.get(0)?, lines: row.get(1)? });
        let mut statement = self.conn.prepare_cached(ASSUMED)?;
        Ok(statement.query_row(params![record, digest(inputs)], read).optional()?)
    }

    pub(super) fn set_assumed(
        &self,
        record: &str,
        inputs: &str,
        assumed: &AssumedLines,
    ) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(SET_ASSUMED)?;
        statement.execute(params![record, digest(inputs), assumed.head, assumed.lines])?;
        Ok(())
    }

    /// Forgets what nobody asked for in thirty days: versions of files that no checkout has, and
    /// what was found at a HEAD of long ago.
    pub(super) fn forget_unused(&self, now_ms: i64) -> Result<(), StoreError> {
        for forget in [FORGET_DEFINITIONS, FORGET_BLOBS, FORGET_MOVED] {
            self.conn.execute(forget, [now_ms - KEPT_MS])?;
        }
        Ok(())
    }

    /// The HEAD that a record, or a line about its code, is known to belong to.
    pub(super) fn belongs_to(&self, record: &str) -> Result<Option<String>, StoreError> {
        let mut statement = self.conn.prepare_cached(BELONGS)?;
        Ok(statement.query_row(params![self.checkout, record], |row| row.get(0)).optional()?)
    }

    pub(super) fn set_belongs(&self, records: &[String], head: &str) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(SET_BELONGS)?;
        for record in records {
            statement.execute(params![self.checkout, record, head])?;
        }
        Ok(())
    }

    /// How far the sweep at this HEAD has got, if there was one.
    pub(super) fn sweep(&self, head: &str) -> Result<Option<SweepProgress>, StoreError> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(row.get::<_, Option<String>>(0)?.map_or(SweepProgress::Done, SweepProgress::UpTo))
        };
        let mut statement = self.conn.prepare_cached(SWEEP)?;
        Ok(statement.query_row(params![self.checkout, head], read).optional()?)
    }

    pub(super) fn set_sweep(&self, head: &str, progress: &SweepProgress) -> Result<(), StoreError> {
        let last = match progress {
            SweepProgress::UpTo(key) => Some(key),
            SweepProgress::Done => None,
        };
        self.conn.prepare_cached(SET_SWEEP)?.execute(params![self.checkout, head, last])?;
        Ok(())
    }

    /// Whether a search for an anchor's definition at this HEAD took all the time there is for one.
    pub(super) fn has_timed_out(&self, anchor: &str, head: &str) -> Result<bool, StoreError> {
        let mut statement = self.conn.prepare_cached(TIMED_OUT)?;
        Ok(statement.query_row([anchor, head], |row| row.get(0))?)
    }

    pub(super) fn set_timed_out(&self, anchor: &str, head: &str) -> Result<(), StoreError> {
        self.conn.prepare_cached(SET_TIMED_OUT)?.execute([anchor, head])?;
        Ok(())
    }

    /// Does several writes at once.
    pub(super) fn together<T>(
        &self,
        write: impl FnOnce(&Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.conn.execute_batch("BEGIN IMMEDIATE")?;
        let written = write(self);
        self.conn.execute_batch(if written.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        written
    }
}

/// A kind that only a newer version knows is a plain type.
fn kind_of(word: &str) -> DefinitionKind {
    DefinitionKind::from_name(word).unwrap_or(DefinitionKind::Type)
}

fn read_definition(row: &rusqlite::Row<'_>) -> Result<Definition, rusqlite::Error> {
    Ok(Definition {
        name: row.get(0)?,
        nth: row.get(1)?,
        kind: kind_of(&row.get::<_, String>(2)?),
        first_line: row.get(3)?,
        last_line: row.get(4)?,
        signature: row.get::<_, i64>(5)?.cast_unsigned(),
        body: row.get::<_, i64>(6)?.cast_unsigned(),
        tokens: row.get(7)?,
        sketch: Sketch(row.get(8)?),
    })
}

/// Whether the database was made here, by this version.
fn is_ours(local: &Dir) -> Result<bool, StoreError> {
    if local.stat(DB)?.is_none() {
        return Ok(true);
    }
    let stamp = match local.read(STAMP, 4096) {
        Ok(stamp) => stamp,
        Err(StoreError::Unsafe { .. } | StoreError::Damaged { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(stamp.is_some_and(|text| text == stamp_of(local).unwrap_or_default().as_bytes()))
}

fn write_stamp(local: &Dir) -> Result<(), StoreError> {
    let text = stamp_of(local)?;
    let file = local.create_random_access(STAMP)?;
    file.set_len(0)?;
    file.write_at(text.as_bytes(), 0)
}

/// Names this folder, this file and this version.
fn stamp_of(local: &Dir) -> Result<String, StoreError> {
    let ino = local.stat(DB)?.map_or(0, |(_, fingerprint)| fingerprint.ino);
    let text = format!(
        "twining code {VERSION} rules {TOKEN_RULES}\nlocal {}\nfile {ino}\n",
        local.identity()?
    );
    Ok(format!("{text}sum {:016x}\n", xxh3_64(text.as_bytes())))
}

fn remove(local: &Dir) -> Result<(), StoreError> {
    for name in [STAMP, DB].into_iter().chain(BESIDE) {
        match local.stat(name)? {
            None => {}
            Some((FileKind::Dir, _)) => local.remove_tree(name)?,
            Some(_) => drop(local.remove(name)?),
        }
    }
    Ok(())
}

fn digest(text: &str) -> i64 {
    xxh3_64(text.as_bytes()).cast_signed()
}

#[cfg(test)]
mod tests {
    use twining_code::read_source;

    use super::*;

    #[test]
    fn versions_that_nobody_asked_for_in_thirty_days_are_forgotten() {
        let database = CodeDatabase::in_memory("here").expect("opens");
        let source = SourceOutline::from(read_source("a.rs", b"fn a() {}\n"));
        let known = |blob: &str, now: i64| {
            database.source(blob, source.language, now).expect("reads").is_some()
        };
        database.add_source("old", &source, 0).expect("writes");
        database.add_source("used", &source, 0).expect("writes");
        assert!(known("used", 2 * DAY_MS));
        database.forget_unused(29 * DAY_MS).expect("forgets");
        assert_eq!([known("old", 0), known("used", 0)], [true, true]);
        database.forget_unused(31 * DAY_MS).expect("forgets");
        assert_eq!([known("old", 0), known("used", 0)], [false, true]);
        let left: i64 = database
            .conn
            .query_row("SELECT count(DISTINCT blob) FROM definition", [], |row| row.get(0))
            .expect("counts");
        assert_eq!(left, 1);
    }
    #[test]
    fn what_moved_into_a_file_is_found_by_its_path_and_by_no_search_of_all_that_moved() {
        let database = CodeDatabase::in_memory("here").expect("opens");
        let moved = |anchor: &str, place: Option<&str>| {
            let place = place.map(str::to_owned);
            let moved = MovedTo { place, commit: None, tree: String::new() };
            database.set_moved(anchor, "head", &moved, 0).expect("writes");
        };
        moved("a", Some("src/c%23.rs#tax"));
        moved("b", Some("src/c%23.rs"));
        moved("c", Some("src/c%23.rs.bak"));
        moved("d", None);
        assert_eq!(database.moved_into("src/c#.rs").expect("reads"), ["a", "b"]);
        let plan: String = database
            .conn
            .query_row(&["EXPLAIN QUERY PLAN ", MOVED_INTO].concat(), [""], |row| row.get(3))
            .expect("is planned");
        assert!(plan.contains("moved_path"), "{plan}");
    }
}
