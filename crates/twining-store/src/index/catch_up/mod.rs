//! Bringing the database up to the files, and no further.
//!
//! What comes out depends on the files alone, not on the way there: an index
//! kept through a hundred edits equals one built from the last of them.

mod board;
mod decisions;
mod entries;
mod graph;

use rusqlite::{Connection, OptionalExtension, Row, params};
use twining_model::scope::CaseFolding;
use twining_model::{limits, text};
use xxhash_rust::xxh3::xxh3_64;

use super::known::IndexedFiles;
use super::tally::{CountDeltas, CountKind};
use crate::error::StoreError;
use crate::log::files::{DecisionsChanged, StoreFiles};

pub(super) use board::{BoardPlan, plan as plan_board};
pub(super) use decisions::{domain_key, file_state, match_listing};
#[cfg(test)]
pub(super) use entries::EntryKeys as DerivedEntry;
pub(super) use graph::name_key;

/// How a transaction is paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitPace {
    /// Others read meanwhile: commit now and then, so that no transaction grows
    /// without bound.
    Shared,
    /// Nobody knows the file yet: one transaction.
    Bulk,
}

/// One bringing-up-to-date: a transaction, and what it has learnt so far.
pub(super) struct IndexUpdate<'c> {
    conn: &'c Connection,
    folding: CaseFolding,
    pace: CommitPace,
    known: IndexedFiles,
    deltas: CountDeltas,
    rows: u64,
    finished: bool,
}

const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";
const ROWS_AT_ONCE: u64 = 20_000;

const REPORT_UNREADABLE: &str = "INSERT INTO unreadable(file, at, line, why) VALUES(?1, ?2, ?3, ?4)";
const CLEAR_REPORTS: &str = "DELETE FROM unreadable WHERE file = ?1 AND at >= ?2";
const WHY_CHARS: usize = 200;

/// Does everything there is to do; returns how many records were read.
pub(super) fn run(
    conn: &Connection,
    folding: CaseFolding,
    pace: CommitPace,
    files: &StoreFiles,
    board: BoardPlan,
    changed: &DecisionsChanged,
) -> Result<u64, StoreError> {
    let mut update = IndexUpdate::begin(conn, folding, pace)?;
    update.board(board)?;
    update.decisions(files, changed)?;
    update.graph(files)?;
    update.finish()
}

impl<'c> IndexUpdate<'c> {
    fn begin(conn: &'c Connection, folding: CaseFolding, pace: CommitPace) -> Result<Self, StoreError> {
        conn.execute_batch(BEGIN)?;
        let known = IndexedFiles::load(conn);
        let mut update =
            Self { conn, folding, pace, known: IndexedFiles::default(), deltas: CountDeltas::default(), rows: 0, finished: false };
        update.known = known?;
        Ok(update)
    }

    /// Counts a record, and commits if many have come together. What is known
    /// must be true of the rows whenever this is called.
    fn commit_periodically(&mut self) -> Result<(), StoreError> {
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_AT_ONCE) {
            self.write()?;
            if self.pace == CommitPace::Shared {
                self.conn.execute_batch(COMMIT)?;
                self.conn.execute_batch(BEGIN)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<u64, StoreError> {
        self.write()?;
        self.conn.execute_batch(COMMIT)?;
        self.finished = true;
        Ok(self.rows)
    }

    fn write(&mut self) -> Result<(), StoreError> {
        self.deltas.flush(self.conn)?;
        self.known.save(self.conn)?;
        Ok(())
    }

    /// The row that a statement finds by an id, if there is one.
    fn find<T>(&self, sql: &str, id: &str) -> Result<Option<T>, StoreError>
    where
        T: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
    {
        Ok(self.conn.prepare_cached(sql)?.query_row([id], |row| T::try_from(row)).optional()?)
    }

    fn is_true(&self, sql: &str, id: &str) -> Result<bool, StoreError> {
        Ok(self.conn.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
    }

    /// Reports what could not be read.
    fn report_unreadable(&mut self, file: &str, at: u64, line: Option<u64>, why: &str) -> Result<(), StoreError> {
        let why = text::excerpt(why, WHY_CHARS);
        self.conn.prepare_cached(REPORT_UNREADABLE)?.execute(params![file, at.cast_signed(), line.map(u64::cast_signed), why])?;
        self.deltas.add(CountKind::Unreadable, 1);
        Ok(())
    }

    /// Takes back what was reported of a file, from one place on.
    fn clear_reports(&mut self, file: &str, from: u64) -> Result<(), StoreError> {
        let removed = self.conn.prepare_cached(CLEAR_REPORTS)?.execute(params![file, from.cast_signed()])?;
        self.deltas.add(CountKind::Unreadable, -i64::try_from(removed).unwrap_or(0));
        Ok(())
    }
}

impl Drop for IndexUpdate<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // What went wrong is on its way to the caller; a failed rollback adds nothing to it.
            drop(self.conn.execute_batch(ROLLBACK));
        }
    }
}

/// The checksum of a stored text.
pub(super) fn sum_of(raw: &str) -> i64 {
    xxh3_64(raw.as_bytes()).cast_signed()
}

/// The texts of a list as keys, sorted, each once.
fn keys(texts: &[String]) -> Vec<&str> {
    let mut keys: Vec<&str> = texts.iter().take(limits::LIST).map(|text| clip(text, limits::ELEMENT_BYTES)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A text as a key: at most `most` bytes, cut between characters. Files may hold
/// anything, and an index page should not.
pub(super) fn clip(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes { text } else { &text[..text.floor_char_boundary(max_bytes)] }
}
