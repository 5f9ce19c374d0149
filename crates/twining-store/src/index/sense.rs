//! What a record means: the texts that get a vector, and the names of those
//! vectors.

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use twining_model::{Decision, Entry, limits};

use super::catch_up::clip;
use super::view::row_limit;
use crate::error::StoreError;
use crate::index::vectors::vector_key;

/// A row of the index, good for one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub(super) i64);

/// Under which names the vectors of a record are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorKeys {
    /// The whole text.
    pub text_key: u64,
    /// The summary, where that is not the whole.
    pub summary_key: Option<u64>,
}

/// What is known of a record without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The names of its vectors.
    pub vector_keys: VectorKeys,
    /// Its author, in lower case.
    pub agent: String,
}

/// The text of an entry that gets a vector.
#[must_use]
pub fn entry_text(entry: &Entry) -> String {
    join([&entry.summary, &entry.detail])
}

/// The text of a decision that gets a vector.
#[must_use]
pub fn decision_text(decision: &Decision) -> String {
    join([&decision.summary, &decision.rationale, &decision.context])
}

fn join<const N: usize>(texts: [&String; N]) -> String {
    let parts: Vec<&str> = texts.into_iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    parts.join(" ")
}

impl VectorKeys {
    /// Of a record with this summary and this whole text.
    #[must_use]
    pub fn of(summary: &str, text: &str) -> Self {
        let text_key = vector_key(text);
        let summary_key = vector_key(summary.trim());
        Self { text_key, summary_key: (summary_key != text_key).then_some(summary_key) }
    }

    /// Both names.
    pub fn names(self) -> impl Iterator<Item = u64> {
        std::iter::once(self.text_key).chain(self.summary_key)
    }

    pub(super) fn columns(self) -> (i64, Option<i64>) {
        (self.text_key.cast_signed(), self.summary_key.map(u64::cast_signed))
    }

    pub(super) fn at(row: &SqlRow<'_>, first: usize) -> Result<Self, rusqlite::Error> {
        let summary_key: Option<i64> = row.get(first + 1)?;
        Ok(Self { text_key: row.get::<_, i64>(first)?.cast_unsigned(), summary_key: summary_key.map(i64::cast_unsigned) })
    }
}

/// How an author is compared with the words of a question.
pub(super) fn agent_key(agent: &str) -> String {
    clip(agent, limits::NAME_BYTES).to_lowercase()
}

/// Reads a card: `meaning, gist, agent` of one row, if it is there.
pub(super) fn header(conn: &Connection, sql: &str, row: RowId) -> Result<Option<RecordHeader>, StoreError> {
    let read = |row: &SqlRow<'_>| Ok(RecordHeader { vector_keys: VectorKeys::at(row, 0)?, agent: row.get(2)? });
    Ok(conn.prepare_cached(sql)?.query_row([row.0], read).optional()?)
}

/// The names of the vectors of the rows after `after`, at most so many rows.
pub(super) fn vector_keys_after(conn: &Connection, sql: &str, after: RowId, limit: usize) -> Result<Vec<(RowId, VectorKeys)>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params![after.0, row_limit(limit)], |row| Ok((RowId(row.get(0)?), VectorKeys::at(row, 1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
