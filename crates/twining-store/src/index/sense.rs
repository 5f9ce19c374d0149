//! What a record means: the texts that get a vector, and the names of those
//! vectors.

use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use twining_model::{Decision, Entry, limits};

use super::catch_up::clip;
use super::view::row_limit;
use crate::error::StoreError;
use crate::index::vectors::meaning_of;

/// A row of the index, good for one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub(super) i64);

/// Under which names the vectors of a record are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sense {
    /// The whole text.
    pub meaning: u64,
    /// The summary, where that is not the whole.
    pub gist: Option<u64>,
}

/// What is known of a record without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The names of its vectors.
    pub sense: Sense,
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
    let kept: Vec<&str> = texts.into_iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
    kept.join(" ")
}

impl Sense {
    /// Of a record with this summary and this whole text.
    #[must_use]
    pub fn of(summary: &str, text: &str) -> Self {
        let meaning = meaning_of(text);
        let gist = meaning_of(summary.trim());
        Self { meaning, gist: (gist != meaning).then_some(gist) }
    }

    /// Both names.
    pub fn names(self) -> impl Iterator<Item = u64> {
        std::iter::once(self.meaning).chain(self.gist)
    }

    pub(super) fn columns(self) -> (i64, Option<i64>) {
        (self.meaning.cast_signed(), self.gist.map(u64::cast_signed))
    }

    pub(super) fn at(row: &SqlRow<'_>, first: usize) -> Result<Self, rusqlite::Error> {
        let gist: Option<i64> = row.get(first + 1)?;
        Ok(Self { meaning: row.get::<_, i64>(first)?.cast_unsigned(), gist: gist.map(i64::cast_unsigned) })
    }
}

/// How an author is compared with the words of a question.
pub(super) fn agent_key(agent: &str) -> String {
    clip(agent, limits::NAME_BYTES).to_lowercase()
}

/// Reads a card: `meaning, gist, agent` of one row, if it is there.
pub(super) fn card(conn: &Connection, sql: &str, row: Row) -> Result<Option<Card>, StoreError> {
    let read = |row: &SqlRow<'_>| Ok(Card { sense: Sense::at(row, 0)?, agent: row.get(2)? });
    Ok(conn.prepare_cached(sql)?.query_row([row.0], read).optional()?)
}

/// The names of the vectors of the rows after `after`, at most so many rows.
pub(super) fn senses_after(conn: &Connection, sql: &str, after: Row, most: usize) -> Result<Vec<(Row, Sense)>, StoreError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params![after.0, row_limit(most)], |row| Ok((Row(row.get(0)?), Sense::at(row, 1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
