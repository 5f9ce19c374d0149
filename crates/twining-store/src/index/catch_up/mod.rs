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

use super::known::Known;
use super::tally::{Count, Deltas};
use crate::error::StoreError;
use crate::log::files::{DecisionsChanged, Files};

pub(super) use board::{BoardPlan, plan as plan_board};
pub(super) use decisions::{are_as_listed, domain_key, paper};
#[cfg(test)]
pub(super) use entries::Derived as DerivedEntry;
pub(super) use graph::name_key;

/// How a transaction is paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Others read meanwhile: commit now and then, so that no transaction grows
    /// without bound.
    Shared,
    /// Nobody knows the file yet: one transaction.
    Bulk,
}

/// One bringing-up-to-date: a transaction, and what it has learnt so far.
pub(super) struct Session<'c> {
    conn: &'c Connection,
    folding: CaseFolding,
    pace: Pace,
    known: Known,
    deltas: Deltas,
    rows: u64,
    finished: bool,
}

const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";
const ROWS_AT_ONCE: u64 = 20_000;

const COMPLAIN: &str = "INSERT INTO unreadable(file, at, line, why) VALUES(?1, ?2, ?3, ?4)";
const WITHDRAW_FROM: &str = "DELETE FROM unreadable WHERE file = ?1 AND at >= ?2";
const WHY_CHARS: usize = 200;

/// Does everything there is to do; returns how many records were read.
pub(super) fn run(
    conn: &Connection,
    folding: CaseFolding,
    pace: Pace,
    files: &Files,
    board: BoardPlan,
    changed: &DecisionsChanged,
) -> Result<u64, StoreError> {
    let mut session = Session::begin(conn, folding, pace)?;
    session.board(board)?;
    session.decisions(files, changed)?;
    session.graph(files)?;
    session.finish()
}

impl<'c> Session<'c> {
    fn begin(conn: &'c Connection, folding: CaseFolding, pace: Pace) -> Result<Self, StoreError> {
        conn.execute_batch(BEGIN)?;
        let known = Known::load(conn);
        let mut session = Self { conn, folding, pace, known: Known::default(), deltas: Deltas::default(), rows: 0, finished: false };
        session.known = known?;
        Ok(session)
    }

    /// Counts a record, and commits if many have come together. What is known
    /// must be true of the rows whenever this is called.
    fn breathe(&mut self) -> Result<(), StoreError> {
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_AT_ONCE) {
            self.write()?;
            if self.pace == Pace::Shared {
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
    fn complain(&mut self, file: &str, at: u64, line: Option<u64>, why: &str) -> Result<(), StoreError> {
        let why = text::excerpt(why, WHY_CHARS);
        self.conn.prepare_cached(COMPLAIN)?.execute(params![file, at.cast_signed(), line.map(u64::cast_signed), why])?;
        self.deltas.add(Count::Unreadable, 1);
        Ok(())
    }

    /// Takes back what was reported of a file, from one place on.
    fn withdraw(&mut self, file: &str, from: u64) -> Result<(), StoreError> {
        let gone = self.conn.prepare_cached(WITHDRAW_FROM)?.execute(params![file, from.cast_signed()])?;
        self.deltas.add(Count::Unreadable, -i64::try_from(gone).unwrap_or(0));
        Ok(())
    }
}

impl Drop for Session<'_> {
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
pub(super) fn clip(text: &str, most: usize) -> &str {
    if text.len() <= most { text } else { &text[..text.floor_char_boundary(most)] }
}
