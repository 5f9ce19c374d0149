//! The read side: a snapshot of everything, taken at one moment.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, Transaction};
use serde::de::DeserializeOwned;
use twining_model::scope::{CaseFolding, covering_keys};
use twining_model::{Time, limits};

use super::catch_up::sum_of;
use super::decisions::Decisions;
use super::entries::Entries;
use super::graph::ObservedGraph;
use super::tally::{self, RecordCounts};
use crate::error::StoreError;

/// Everything, as of one moment. What is written meanwhile is not seen.
pub struct View<'a> {
    snapshot: Transaction<'a>,
    now: Time,
    folding: CaseFolding,
}

/// The first of many, and how many.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The first ones.
    pub items: Vec<T>,
    /// How many there are in all.
    pub total: u64,
}

/// A line or file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which file, relative to `.twining`.
    pub file: String,
    /// Which line, if it is about one.
    pub line: Option<u64>,
    /// What is wrong with it.
    pub why: String,
}

const UNREADABLE: &str = "SELECT file, line, why FROM unreadable ORDER BY file, at LIMIT ?1";

impl<'a> View<'a> {
    /// Takes the snapshot.
    pub(super) fn begin(conn: &'a Connection, now: Time, folding: CaseFolding) -> Result<Self, StoreError> {
        Ok(Self { snapshot: conn.unchecked_transaction()?, now, folding })
    }

    /// The time it is.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether the volume tells `A` from `a`.
    #[must_use]
    pub fn folding(&self) -> CaseFolding {
        self.folding
    }

    /// The blackboard.
    #[must_use]
    pub fn entries(&self) -> Entries<'_> {
        Entries { conn: &self.snapshot, now: self.now, folding: self.folding }
    }

    /// The decisions.
    #[must_use]
    pub fn decisions(&self) -> Decisions<'_> {
        Decisions { conn: &self.snapshot, now: self.now, folding: self.folding }
    }

    /// The observed graph.
    #[must_use]
    pub fn graph(&self) -> ObservedGraph<'_> {
        ObservedGraph { conn: &self.snapshot }
    }

    /// How much of everything there is.
    pub fn counts(&self) -> Result<RecordCounts, StoreError> {
        tally::read(&self.snapshot, self.now)
    }

    /// Lines and files that could not be read: the first of them, if they are
    /// very many; the tally has the number.
    pub fn unreadable(&self) -> Result<Vec<Unreadable>, StoreError> {
        let mut statement = self.snapshot.prepare_cached(UNREADABLE)?;
        let rows = statement.query_map([row_limit(limits::PAGE)], |row| {
            Ok(Unreadable { file: row.get(0)?, line: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned), why: row.get(2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Reads the record in two columns: its text, and the text's checksum.
pub(super) fn record_at<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> Result<T, StoreError> {
    let ValueRef::Text(raw) = row.get_ref(at)? else { return Err(corrupt("a record that is no text")) };
    let raw = std::str::from_utf8(raw).map_err(|_| corrupt("a record that is not UTF-8"))?;
    // SQLite has no checksums of its own: a flipped bit would be served as somebody's words.
    if sum_of(raw) != row.get::<_, i64>(at + 1)? {
        return Err(corrupt("a record that does not match its checksum"));
    }
    serde_json::from_str(raw).map_err(|_| corrupt("a record that cannot be read any more"))
}

/// Reads the records that a statement finds, as [`record_at`] does.
pub(super) fn records<T: DeserializeOwned>(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<Vec<T>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let (mut rows, mut found) = (statement.query(params)?, Vec::new());
    while let Some(row) = rows.next()? {
        found.push(record_at(row, 0)?);
    }
    Ok(found)
}

/// Reads the records in these rows, by a statement that finds one.
pub(super) fn load<T: DeserializeOwned>(conn: &Connection, sql: &str, rows: &[i64]) -> Result<Vec<T>, StoreError> {
    let one = |row: &i64| records(conn, sql, [row])?.pop().ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into());
    rows.iter().map(one).collect()
}

/// The first column of every row.
pub(super) fn first_column<T: rusqlite::types::FromSql>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<T>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let found = statement.query_map(params, |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(found)
}

/// A limit as SQLite takes it.
pub(super) fn row_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A list of texts as one parameter.
pub(super) fn json_list<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> String {
    let list: Vec<serde_json::Value> = texts.into_iter().map(|text| text.as_ref().into()).collect();
    serde_json::Value::Array(list).to_string()
}

/// The ranges of keys that overlap a scope's: what lies under it, then each key that covers it.
pub(super) fn overlapping(key: &str) -> impl Iterator<Item = (&str, Value)> {
    let covering = covering_keys(key).skip(1).map(|key| (key, Value::Text(key.to_owned())));
    std::iter::once((key, end_of(key))).chain(covering)
}

/// Where the keys under `key` end, which ends in `/` or is empty. No key stands there.
pub(super) fn end_of(key: &str) -> Value {
    match key.strip_suffix('/') {
        // The character after the slash.
        Some(stem) => Value::Text(format!("{stem}0")),
        // A blob comes after every text.
        None => Value::Blob(Vec::new()),
    }
}

/// A column that is text.
pub(super) fn text_at<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, StoreError> {
    row.get_ref(column)?.as_str().map_err(|_| corrupt("a row with a column that is no text"))
}

/// The error SQLite would give, for damage that only we can see.
pub(super) fn corrupt(what: &str) -> StoreError {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(what.to_owned())).into()
}
