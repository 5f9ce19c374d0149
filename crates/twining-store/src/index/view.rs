//! The read side: a snapshot of everything, taken at one moment.

use std::cell::OnceCell;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Transaction};
use serde::de::DeserializeOwned;
use twining_model::scope::Folding;
use twining_model::{Time, limits};

use super::catch_up::sum_of;
use super::contests::FewInForce;
use super::decisions::Decisions;
use super::entries::Entries;
use super::graph::Graph;
use super::tally::{self, Tally};
use crate::error::StoreError;

/// Everything, as of one moment. What is written meanwhile is not seen.
pub struct View<'a> {
    snapshot: Transaction<'a>,
    now: Time,
    folding: Folding,
    /// Read when it is first asked for.
    pub(super) few_in_force: OnceCell<FewInForce>,
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
    pub(super) fn begin(conn: &'a Connection, now: Time, folding: Folding) -> Result<Self, StoreError> {
        Ok(Self { snapshot: conn.unchecked_transaction()?, now, folding, few_in_force: OnceCell::new() })
    }

    /// The time it is.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether the volume tells `A` from `a`.
    #[must_use]
    pub fn folding(&self) -> Folding {
        self.folding
    }

    /// The blackboard.
    #[must_use]
    pub fn entries(&self) -> Entries<'_> {
        Entries::new(&self.snapshot, self.now, self.folding)
    }

    /// The decisions.
    #[must_use]
    pub fn decisions(&self) -> Decisions<'_> {
        Decisions::new(&self.snapshot, self.now, self.folding)
    }

    /// The observed graph.
    #[must_use]
    pub fn graph(&self) -> Graph<'_> {
        Graph::new(&self.snapshot)
    }

    /// How much of everything there is.
    pub fn tally(&self) -> Result<Tally, StoreError> {
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

/// What lies under a scope's key, as a range of keys; and what covers it.
pub(super) struct Reach {
    /// The key itself, the first of the range.
    pub low: String,
    /// The first key after the range; a blob comes after every text.
    pub high: rusqlite::types::Value,
}

impl Reach {
    /// Everything under `key`, which ends in `/` or is empty.
    pub fn under(key: &str) -> Self {
        let high = match key.strip_suffix('/') {
            // The character after the slash.
            Some(stem) => rusqlite::types::Value::Text(format!("{stem}0")),
            None => rusqlite::types::Value::Blob(Vec::new()),
        };
        Self { low: key.to_owned(), high }
    }
}

/// The error SQLite would give, for damage that only we can see.
pub(super) fn corrupt(what: &str) -> StoreError {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(what.to_owned())).into()
}
