//! The read side: a snapshot of everything, taken at one moment.

use std::collections::HashMap;

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, Transaction, params};
use serde::de::DeserializeOwned;
use twining_model::scope::{CaseFolding, covering_keys};
use twining_model::{DecisionStatus, Time, limits};

use super::anchors::Anchors;
use super::catch_up::sum_of;
use super::decisions::Decisions;
use super::entries::Entries;
use super::observed_graph::ObservedGraph;
use crate::error::StoreError;

/// Everything, as of one moment. What is written meanwhile is not seen.
pub struct View<'a> {
    pub(super) snapshot: Transaction<'a>,
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
    pub(super) fn begin(
        conn: &'a Connection,
        now: Time,
        folding: CaseFolding,
    ) -> Result<Self, StoreError> {
        Ok(Self { snapshot: conn.unchecked_transaction()?, now, folding })
    }

    /// The time it is.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether the volume distinguishes `A` from `a`.
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

    /// The anchors.
    #[must_use]
    pub fn anchors(&self) -> Anchors<'_> {
        Anchors { conn: &self.snapshot, folding: self.folding }
    }

    /// How much of everything there is.
    pub fn counts(&self) -> Result<RecordCounts, StoreError> {
        read(&self.snapshot, self.now)
    }

    /// Lines and files that could not be read: the first of them, if they are
    /// very many; the counter has the number.
    pub fn unreadable(&self) -> Result<Vec<Unreadable>, StoreError> {
        let mut statement = self.snapshot.prepare_cached(UNREADABLE)?;
        let rows = statement.query_map([row_limit(limits::PAGE)], |row| {
            Ok(Unreadable {
                file: row.get(0)?,
                line: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned),
                why: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Reads the record in two columns: its text, and the text's checksum.
pub(super) fn record_at<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> Result<T, StoreError> {
    let ValueRef::Text(raw) = row.get_ref(at)? else {
        return Err(corrupt("a record that is not text"));
    };
    let raw = std::str::from_utf8(raw).map_err(|_| corrupt("a record that is not UTF-8"))?;
    // SQLite has no checksums of its own: a flipped bit would be served as somebody's words.
    if sum_of(raw) != row.get::<_, i64>(at + 1)? {
        return Err(corrupt("a record that does not match its checksum"));
    }
    serde_json::from_str(raw).map_err(|_| corrupt("a record that cannot be parsed"))
}

/// Reads the records that a statement finds, as [`record_at`] does.
pub(super) fn records<T: DeserializeOwned>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<T>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let (mut rows, mut found) = (statement.query(params)?, Vec::new());
    while let Some(row) = rows.next()? {
        found.push(record_at(row, 0)?);
    }
    Ok(found)
}

/// Reads the records in these rows, by a statement that finds one.
pub(super) fn load<T: DeserializeOwned>(
    conn: &Connection,
    sql: &str,
    rows: &[i64],
) -> Result<Vec<T>, StoreError> {
    let one = |row: &i64| {
        records(conn, sql, [row])?.pop().ok_or_else(|| rusqlite::Error::QueryReturnedNoRows.into())
    };
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

/// The end of the keys under `key`, which ends in `/` or is empty. No key equals it.
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
    row.get_ref(column)?.as_str().map_err(|_| corrupt("a row with a column that is not text"))
}

/// The error SQLite would give, for damage that only we can see.
pub(super) fn corrupt(what: &str) -> StoreError {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(code, Some(what.to_owned())).into()
}

/// How much of everything there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Entries on the board, each id once.
    pub entries: u64,
    /// Decisions in force.
    pub active: u64,
    /// Decisions in force until someone looks.
    pub provisional: u64,
    /// Decisions replaced by later ones.
    pub superseded: u64,
    /// Decisions rejected by a person.
    pub overridden: u64,
    /// Entities.
    pub entities: u64,
    /// Relations.
    pub relations: u64,
    /// Entities without any relation.
    pub disconnected: u64,
    /// Relations with an end that is missing.
    pub dangling: u64,
    /// Needs nobody has answered.
    pub open_needs: u64,
    /// Questions nobody has answered.
    pub open_questions: u64,
    /// Warnings nobody has dismissed.
    pub open_warnings: u64,
    /// Lines and files that could not be read.
    pub unreadable: u64,
    /// Overrides no person has confirmed yet.
    pub unconfirmed_overrides: u64,
    /// Entries dated ahead of the clock.
    pub future_dated: u64,
    /// When the last entry or decision was written or changed.
    pub last_activity: Option<Time>,
}

/// What is counted. The table knows it by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountKind {
    Entries,
    Shadowed,
    OpenNeeds,
    OpenQuestions,
    OpenWarnings,
    Active,
    Provisional,
    Superseded,
    Overridden,
    Unconfirmed,
    Entities,
    Disconnected,
    Relations,
    Dangling,
    Unreadable,
    /// The checksums of all decisions, added up: it changes when one of them does.
    DecisionSums,
}

impl CountKind {
    /// The count of decisions of this status.
    pub(super) fn of(status: DecisionStatus) -> Self {
        match status {
            DecisionStatus::Active => Self::Active,
            DecisionStatus::Provisional => Self::Provisional,
            DecisionStatus::Superseded => Self::Superseded,
            DecisionStatus::Overridden => Self::Overridden,
        }
    }

    /// The count of open entries of this kind, if such entries can be open.
    pub(super) fn open(kind: &str) -> Option<Self> {
        match kind {
            "need" => Some(Self::OpenNeeds),
            "question" => Some(Self::OpenQuestions),
            "warning" => Some(Self::OpenWarnings),
            _ => None,
        }
    }
}

/// How many counts there are.
const COUNTS: usize = CountKind::DecisionSums as usize + 1;

/// What a transaction changed about the counts so far.
#[derive(Debug, Default)]
pub(super) struct CountDeltas {
    counts: [i64; COUNTS],
    scope_count: HashMap<(String, String), (i64, i64)>,
}

const ADD: &str = "INSERT INTO counter(count, n) VALUES(?1, ?2) ON CONFLICT(count) DO UPDATE SET n = n + excluded.n";
const ADD_CENSUS: &str = "
INSERT INTO scope_count(scope_key, kind, n, open) VALUES(?1, ?2, ?3, ?4)
ON CONFLICT(scope_key, kind) DO UPDATE SET n = n + excluded.n, open = open + excluded.open";
const DROP_EMPTY: &str = "DELETE FROM scope_count WHERE scope_key = ?1 AND kind = ?2 AND n = 0";

impl CountDeltas {
    /// Counts.
    pub(super) fn add(&mut self, count: CountKind, n: i64) {
        self.counts[count as usize] += n;
    }

    /// Counts live entries of one kind and scope, and the open ones among them.
    pub(super) fn add_entries(&mut self, scope_key: &str, kind: &str, n: i64, open: i64) {
        self.add(CountKind::Entries, n);
        if let Some(count) = CountKind::open(kind) {
            self.add(count, open);
        }
        let slot = self.scope_count.entry((scope_key.to_owned(), kind.to_owned())).or_default();
        *slot = (slot.0 + n, slot.1 + open);
    }

    /// Writes what has gathered.
    pub(super) fn flush(&mut self, conn: &Connection) -> Result<(), rusqlite::Error> {
        let mut add = conn.prepare_cached(ADD)?;
        for (count, n) in (0_i64..).zip(std::mem::replace(&mut self.counts, [0; COUNTS])) {
            if n != 0 {
                add.execute(params![count, n])?;
            }
        }
        let mut add = conn.prepare_cached(ADD_CENSUS)?;
        let mut drop_empty = conn.prepare_cached(DROP_EMPTY)?;
        for ((scope_key, kind), (n, open)) in self.scope_count.drain() {
            if (n, open) != (0, 0) {
                add.execute(params![scope_key, kind, n, open])?;
                if n < 0 {
                    drop_empty.execute(params![scope_key, kind])?;
                }
            }
        }
        Ok(())
    }
}

const READ: &str = "SELECT count, n FROM counter";
const AHEAD: &str = "SELECT count(*) FROM entry WHERE shadowed = 0 AND at > ?1";
const LAST_ENTRY: &str = "SELECT max(at) FROM entry WHERE shadowed = 0 AND at <= ?1";
const LAST_DECISION: &str = "SELECT max(touched) FROM decision WHERE status = ?1 AND touched <= ?2";

/// Everything after this is dated ahead.
pub(super) fn horizon(now: Time) -> i64 {
    now.as_ms().saturating_add(limits::CLOCK_SKEW_MS)
}

/// Some counts together.
pub(super) fn sum(conn: &Connection, wanted: &[CountKind]) -> Result<u64, rusqlite::Error> {
    all(conn).map(|counts| wanted.iter().map(|count| counts[*count as usize]).sum())
}

/// The counts, as of now.
pub(super) fn read(conn: &Connection, now: Time) -> Result<RecordCounts, StoreError> {
    let counts = all(conn)?;
    let of = |count: CountKind| counts[count as usize];
    let horizon = horizon(now);
    let ahead: i64 = conn.prepare_cached(AHEAD)?.query_row([horizon], |row| row.get(0))?;
    let mut last: Option<i64> =
        conn.prepare_cached(LAST_ENTRY)?.query_row([horizon], |row| row.get(0))?;
    let mut last_decision = conn.prepare_cached(LAST_DECISION)?;
    for status in [
        DecisionStatus::Active,
        DecisionStatus::Provisional,
        DecisionStatus::Superseded,
        DecisionStatus::Overridden,
    ] {
        last =
            last.max(last_decision.query_row(params![status.as_str(), horizon], |row| row.get(0))?);
    }
    Ok(RecordCounts {
        entries: of(CountKind::Entries),
        active: of(CountKind::Active),
        provisional: of(CountKind::Provisional),
        superseded: of(CountKind::Superseded),
        overridden: of(CountKind::Overridden),
        entities: of(CountKind::Entities),
        relations: of(CountKind::Relations),
        disconnected: of(CountKind::Disconnected),
        dangling: of(CountKind::Dangling),
        open_needs: of(CountKind::OpenNeeds),
        open_questions: of(CountKind::OpenQuestions),
        open_warnings: of(CountKind::OpenWarnings),
        unreadable: of(CountKind::Unreadable),
        unconfirmed_overrides: of(CountKind::Unconfirmed),
        future_dated: ahead.cast_unsigned(),
        last_activity: last.map(Time::from_ms),
    })
}

fn all(conn: &Connection) -> Result<[u64; COUNTS], rusqlite::Error> {
    let mut counts = [0; COUNTS];
    let mut read = conn.prepare_cached(READ)?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(count) = counts.get_mut(usize::from(row.get::<_, u8>(0)?)) {
            *count = u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        }
    }
    Ok(counts)
}
