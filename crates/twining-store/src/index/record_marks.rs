//! How far the records go, so that what came since can be named.

use rusqlite::params;

use super::view::{View, first_column, row_limit};
use crate::error::StoreError;

/// How far the records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordMarks {
    /// Where the last entry begins on the board.
    entry: i64,
    /// When the last decision file was written.
    decision: i64,
}

const LAST_ENTRY: &str = "SELECT coalesce(max(pos), -1) FROM entry";
const LAST_DECISION: &str = "SELECT coalesce(max(mtime), -1) FROM decision_file";
const ENTRIES: &str = "SELECT id FROM entry WHERE pos > ?1 ORDER BY pos DESC LIMIT ?2";
const DECISIONS: &str =
    "SELECT id FROM decision_file WHERE mtime > ?1 ORDER BY mtime DESC LIMIT ?2";

impl View<'_> {
    /// How far the records go now.
    pub fn marks(&self) -> Result<RecordMarks, StoreError> {
        let one = |sql: &str| self.snapshot.prepare_cached(sql)?.query_row([], |row| row.get(0));
        Ok(RecordMarks { entry: one(LAST_ENTRY)?, decision: one(LAST_DECISION)? })
    }

    /// The newest entries beyond a mark; none if the board became shorter since.
    pub fn entries_after(
        &self,
        marks: RecordMarks,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        first_column(&self.snapshot, ENTRIES, params![marks.entry, row_limit(limit)])
    }

    /// Decisions whose files were written since a mark, the last one first.
    pub fn decisions_after(
        &self,
        marks: RecordMarks,
        limit: usize,
    ) -> Result<Vec<String>, StoreError> {
        first_column(&self.snapshot, DECISIONS, params![marks.decision, row_limit(limit)])
    }
}
