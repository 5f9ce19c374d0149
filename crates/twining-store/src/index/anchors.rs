//! Reading anchors.
//!
//! Of the lines for one record and place the newest counts, by its time and then its id, whatever
//! their order in the file: a merge may have put them there in any. One that was released is none,
//! and one that keeps a finding says nothing of the code.

use rusqlite::{Connection, params};
use twining_model::scope::CaseFolding;
use twining_model::{Anchor, AnchoredRecord, Place, Scope};

use super::view::{first_column, record_at, records, row_limit};
use crate::error::StoreError;

/// The anchors, as of one moment.
pub struct Anchors<'v> {
    pub(super) conn: &'v Connection,
    pub(super) folding: CaseFolding,
}

/// Lines that count.
macro_rules! in_force {
    ($columns:literal, $which:literal, $order:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM anchor a WHERE ",
            $which,
            " AND a.event NOT IN ('released', 'kept') AND NOT EXISTS(SELECT 1 FROM anchor b
                WHERE b.record = a.record AND b.place = a.place AND b.event <> 'kept'
                AND (b.at, b.id, b.pos) > (a.at, a.id, a.pos)) ",
            $order
        )
    };
}

const OF_RECORD: &str = in_force!("a.raw, a.sum", "a.record = ?1", "ORDER BY a.place");
const IN_FILE: &str = in_force!("a.raw, a.sum", "a.path_key = ?1", "ORDER BY a.place, a.record");
const AT_PLACE: &str = in_force!("a.raw, a.sum", "a.place = ?1", "ORDER BY a.id DESC LIMIT ?2");
const BY_ID: &str = in_force!("a.raw, a.sum", "a.id = ?1", "");
const NAMED: &str =
    in_force!("a.raw, a.sum", "a.last_name = ?1", "ORDER BY a.place, a.record LIMIT ?2");
const PATHS: &str = in_force!("DISTINCT a.path", "1", "ORDER BY a.path");
const COUNT: &str = in_force!("count(*)", "1", "");
const COUNT_RECORDS: &str = in_force!("count(DISTINCT a.record)", "1", "");
const PAGE: &str = in_force!(
    "a.raw, a.sum",
    "(a.place, a.record) > (?1, ?2)",
    "ORDER BY a.place, a.record LIMIT ?3"
);
const KEPT: &str = "SELECT raw, sum FROM anchor WHERE event = 'kept' ORDER BY at, id, pos";
/// Records without a line about their code whose scope or files are just this one. What announces a
/// decision speaks of no code of its own.
const UNBOUND: &str = "
    SELECT 'decision:' || d.id FROM decision d WHERE d.num IN (
        SELECT num FROM affected_file WHERE file_key = ?1
        UNION SELECT num FROM decision WHERE scope_key = ?1)
    AND d.status IN ('active', 'provisional') AND NOT EXISTS(
        SELECT 1 FROM anchor a WHERE a.record = 'decision:' || d.id AND a.event <> 'kept')
    UNION ALL
    SELECT 'entry:' || e.id FROM entry e WHERE e.shadowed = 0 AND e.scope_key = ?1
    AND e.kind <> 'decision' AND NOT EXISTS(
        SELECT 1 FROM anchor a WHERE a.record = 'entry:' || e.id AND a.event <> 'kept')
    LIMIT ?2";
const LET_GO: &str = "SELECT raw, sum FROM anchor a WHERE a.path_key = ?1 AND a.event = 'released'
    AND NOT EXISTS(SELECT 1 FROM anchor b WHERE b.record = a.record AND b.place = a.place
    AND b.event <> 'kept' AND (b.at, b.id, b.pos) > (a.at, a.id, a.pos))";
const HISTORY: &str = "SELECT raw, sum FROM anchor WHERE record = ?1 ORDER BY at, id, pos";

impl Anchors<'_> {
    /// The anchor with this id, if it counts.
    pub fn get(&self, id: &str) -> Result<Option<Anchor>, StoreError> {
        Ok(records(self.conn, BY_ID, [id])?.pop())
    }

    /// The anchors of a record, by place.
    pub fn of(&self, record: &AnchoredRecord) -> Result<Vec<Anchor>, StoreError> {
        records(self.conn, OF_RECORD, [record.to_string()])
    }

    /// The anchors in a file, by place: those of its definitions, and those of all of it.
    pub fn in_file(&self, path: &str) -> Result<Vec<Anchor>, StoreError> {
        records(self.conn, IN_FILE, [Scope::read(path).key(self.folding)])
    }

    /// The anchors at a place, the newest first, at most so many.
    pub fn at_place(&self, place: &Place, limit: usize) -> Result<Vec<Anchor>, StoreError> {
        records(self.conn, AT_PLACE, params![place.to_string(), row_limit(limit)])
    }

    /// The anchors of definitions whose last name is this, at most so many.
    pub fn named(&self, last_name: &str, limit: usize) -> Result<Vec<Anchor>, StoreError> {
        records(self.conn, NAMED, params![last_name, row_limit(limit)])
    }

    /// Every line about a record, the oldest first: also older ones, and what was released.
    pub fn history(&self, record: &AnchoredRecord) -> Result<Vec<Anchor>, StoreError> {
        records(self.conn, HISTORY, [record.to_string()])
    }

    /// The lines that let places in a file go to which nothing was bound again.
    pub fn let_go(&self, path: &str) -> Result<Vec<Anchor>, StoreError> {
        records(self.conn, LET_GO, [Scope::read(path).key(self.folding)])
    }

    /// Decisions in force and entries that name a file and were never bound to code, at most so
    /// many.
    pub fn unbound(&self, path: &str, limit: usize) -> Result<Vec<AnchoredRecord>, StoreError> {
        let key = Scope::read(path).key(self.folding);
        let names: Vec<String> = first_column(self.conn, UNBOUND, params![key, row_limit(limit)])?;
        Ok(names.into_iter().map(AnchoredRecord::from).collect())
    }

    /// Lines of findings that somebody keeps, the oldest first. They bind nothing.
    pub fn kept(&self) -> Result<Vec<Anchor>, StoreError> {
        records(self.conn, KEPT, [])
    }

    /// The files that have anchors, in order.
    pub fn paths(&self) -> Result<Vec<String>, StoreError> {
        first_column(self.conn, PATHS, [])
    }

    /// How many anchors there are.
    pub fn count(&self) -> Result<u64, StoreError> {
        let count: i64 = self.conn.prepare_cached(COUNT)?.query_row([], |row| row.get(0))?;
        Ok(count.cast_unsigned())
    }

    /// How many records have anchors.
    pub fn count_records(&self) -> Result<u64, StoreError> {
        let count: i64 =
            self.conn.prepare_cached(COUNT_RECORDS)?.query_row([], |row| row.get(0))?;
        Ok(count.cast_unsigned())
    }

    /// Anchors by place and record, those after one, at most so many.
    pub fn page(&self, after: Option<&Anchor>, limit: usize) -> Result<Vec<Anchor>, StoreError> {
        let (place, record) = after
            .map_or_else(Default::default, |after| (after.at.to_string(), after.of.to_string()));
        let mut statement = self.conn.prepare_cached(PAGE)?;
        let mut rows = statement.query(params![place, record, row_limit(limit)])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(record_at(row, 0)?);
        }
        Ok(found)
    }
}
