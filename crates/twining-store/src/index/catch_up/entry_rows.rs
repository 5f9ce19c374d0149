//! Entries as rows: the board is a stack of lines, pushed and popped at its end.
//!
//! Of several lines with one id the last is live and the others are shadowed. An entry that asks is
//! open unless a live one closes it, at any position.

use rusqlite::params;
use twining_model::scope::CaseFolding;
use twining_model::{Entry, EntryType, Id, Scope, Time, limits};

use super::board_sync::{IndexUpdate, clip, keys, sum_of};
use crate::error::StoreError;
use crate::index::embeddings::{VectorKeys, agent_key, entry_text};
use crate::index::view::CountKind;
use crate::index::word_search::with_identifier_parts;

/// What an entry is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::index) struct EntryKeys<'e> {
    pub id: &'e str,
    pub at: i64,
    pub kind: &'e str,
    pub scope_key: String,
    pub tags: Vec<&'e str>,
    pub relates: Vec<&'e str>,
    pub asks: bool,
    pub closes: bool,
    pub vector_keys: VectorKeys,
}

impl<'e> EntryKeys<'e> {
    /// Finds out.
    pub(crate) fn of(entry: &'e Entry, folding: CaseFolding) -> Self {
        Self {
            id: &entry.id,
            at: time_of(&entry.timestamp, &entry.id),
            kind: clip(&entry.entry_type, limits::NAME_BYTES),
            scope_key: scope_key(&entry.scope, folding),
            tags: keys(&entry.tags),
            relates: keys(&entry.relates_to),
            asks: entry.kind().is_some_and(EntryType::asks),
            closes: entry.kind().is_some_and(EntryType::closes),
            vector_keys: VectorKeys::of(&entry.summary, &entry_text(entry)),
        }
    }
}

/// When a record was made: as it says, else as its id says, else long ago.
pub(super) fn time_of(timestamp: &str, id: &str) -> i64 {
    Time::read(timestamp).or_else(|| Id::read(id).map(|id| id.time())).map_or(0, Time::as_ms)
}

/// Returns the key of a scope as written in a file.
pub(super) fn scope_key(scope: &str, folding: CaseFolding) -> String {
    let key = Scope::read(clip(scope, limits::ELEMENT_BYTES)).key(folding);
    // Lower case can be longer than what it came from.
    clip(&key, 2 * limits::ELEMENT_BYTES).to_owned()
}

/// Refuses an id that cannot name a record.
pub(super) fn check_id(id: &str) -> Result<(), String> {
    if id.is_empty() {
        return Err("the field `id` is empty".to_owned());
    }
    if id.len() > limits::NAME_BYTES {
        return Err("the field `id` is too long".to_owned());
    }
    Ok(())
}

const LIVE: &str = "SELECT pos FROM entry WHERE id = ?1 AND shadowed = 0";
const INSERT: &str = "INSERT INTO entry(pos, id, at, kind, scope_key, open, shadowed, agent) VALUES(?1, ?2, ?3, ?4, ?5, ?6, 0, ?7)";
const INSERT_LINE: &str =
    "INSERT INTO line(pos, text_vector, summary_vector, raw, sum) VALUES(?1, ?2, ?3, ?4, ?5)";
const INSERT_TAG: &str = "INSERT INTO tag(tag, at, pos, kind) VALUES(?1, ?2, ?3, ?4)";
const INSERT_RELATES: &str = "INSERT INTO relates(target, at, pos, closes) VALUES(?1, ?2, ?3, ?4)";
const INSERT_TEXT: &str = "INSERT INTO entry_text(rowid, summary, detail, tags, paths, kind) VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
const DELETE: &str = "DELETE FROM entry WHERE pos = ?1";
const DELETE_LINE: &str = "DELETE FROM line WHERE pos = ?1";
const DELETE_TAG: &str = "DELETE FROM tag WHERE tag = ?1 AND at = ?2 AND pos = ?3 AND kind = ?4";
const DELETE_RELATES: &str =
    "DELETE FROM relates WHERE target = ?1 AND at = ?2 AND pos = ?3 AND closes = ?4";
const DELETE_TEXT: &str = "DELETE FROM entry_text WHERE rowid = ?1";
const LINE: &str =
    "SELECT l.raw, e.open FROM line l JOIN entry e ON e.pos = l.pos WHERE l.pos = ?1";
const LAST_FROM: &str = "SELECT max(pos) FROM entry WHERE pos >= ?1";
const LAST_OF: &str = "SELECT max(pos) FROM entry WHERE id = ?1";
const SHADOW: &str = "UPDATE entry SET shadowed = 1, open = 0 WHERE pos = ?1";
const UNSHADOW: &str = "UPDATE entry SET shadowed = 0, open = ?2 WHERE pos = ?1";
const IS_CLOSED: &str = "SELECT EXISTS(SELECT 1 FROM relates WHERE target = ?1 AND closes = 1)";
const OPEN_ENTRY: &str =
    "SELECT pos, kind, scope_key, open FROM entry WHERE id = ?1 AND shadowed = 0";
const SET_OPEN: &str = "UPDATE entry SET open = ?2 WHERE pos = ?1";

impl IndexUpdate<'_> {
    /// Adds a line at the end of the board.
    pub(super) fn push(&mut self, pos: u64, raw: &str, entry: &Entry) -> Result<(), StoreError> {
        let row = EntryKeys::of(entry, self.folding);
        if let Some((older,)) = self.find::<(i64,)>(LIVE, row.id)? {
            self.hide(older)?;
            self.conn.prepare_cached(SHADOW)?.execute([older])?;
            self.deltas.add(CountKind::Shadowed, 1);
        }
        let pos = pos.cast_signed();
        let open = row.asks && !self.is_true(IS_CLOSED, row.id)?;
        self.conn.prepare_cached(INSERT)?.execute(params![
            pos,
            row.id,
            row.at,
            row.kind,
            row.scope_key,
            open,
            agent_key(&entry.agent_id)
        ])?;
        let (text_key, summary_key) = row.vector_keys.columns();
        self.conn.prepare_cached(INSERT_LINE)?.execute(params![
            pos,
            text_key,
            summary_key,
            raw,
            sum_of(raw)
        ])?;
        self.show(pos, entry, &row, open)
    }

    /// Takes lines off the end of the board until none from `cut` on is left.
    pub(super) fn pop_from(&mut self, cut: u64) -> Result<(), StoreError> {
        loop {
            let last: Option<i64> = self
                .conn
                .prepare_cached(LAST_FROM)?
                .query_row([cut.cast_signed()], |row| row.get(0))?;
            let Some(pos) = last else { return Ok(()) };
            self.pop(pos)?;
            self.rows += 1;
        }
    }

    /// Removes the last line, which is live: a shadowing line comes after the shadowed one.
    fn pop(&mut self, pos: i64) -> Result<(), StoreError> {
        let id = self.hide(pos)?;
        self.conn.prepare_cached(DELETE)?.execute([pos])?;
        self.conn.prepare_cached(DELETE_LINE)?.execute([pos])?;
        let older: Option<i64> =
            self.conn.prepare_cached(LAST_OF)?.query_row([&id], |row| row.get(0))?;
        let Some(older) = older else { return Ok(()) };
        let (raw, _) = self.line(older)?;
        let entry: Entry = serde_json::from_str(&raw)?;
        let row = EntryKeys::of(&entry, self.folding);
        let open = row.asks && !self.is_true(IS_CLOSED, row.id)?;
        self.conn.prepare_cached(UNSHADOW)?.execute(params![older, open])?;
        self.deltas.add(CountKind::Shadowed, -1);
        self.show(older, &entry, &row, open)
    }

    /// Makes an entry one that is found and counted, and closes what it closes.
    fn show(
        &mut self,
        pos: i64,
        entry: &Entry,
        row: &EntryKeys<'_>,
        open: bool,
    ) -> Result<(), StoreError> {
        self.each_link([INSERT_TAG, INSERT_RELATES], pos, row)?;
        let tags = row.tags.join(" ");
        // A detail that begins by repeating the summary would count it twice.
        let body = if entry.summary.is_empty() {
            entry.detail.clone()
        } else {
            entry.detail.replacen(&entry.summary, " ", 1)
        };
        self.conn.prepare_cached(INSERT_TEXT)?.execute(params![
            pos,
            with_identifier_parts(&entry.summary),
            with_identifier_parts(&body),
            with_identifier_parts(&tags),
            with_identifier_parts(&entry.scope),
            row.kind
        ])?;
        self.deltas.add_entries(&row.scope_key, row.kind, 1, i64::from(open));
        if row.closes {
            for target in &row.relates {
                self.set_open(target, false)?;
            }
        }
        Ok(())
    }

    /// The opposite; its row stays. Returns the entry's id.
    fn hide(&mut self, pos: i64) -> Result<String, StoreError> {
        let (raw, open) = self.line(pos)?;
        let entry: Entry = serde_json::from_str(&raw)?;
        let row = EntryKeys::of(&entry, self.folding);
        self.each_link([DELETE_TAG, DELETE_RELATES], pos, &row)?;
        self.conn.prepare_cached(DELETE_TEXT)?.execute([pos])?;
        self.deltas.add_entries(&row.scope_key, row.kind, -1, -i64::from(open));
        if row.closes {
            for target in &row.relates {
                let open = !self.is_true(IS_CLOSED, target)?;
                self.set_open(target, open)?;
            }
        }
        Ok(row.id.to_owned())
    }

    /// Runs a statement for each tag, and one for each entry it relates to.
    fn each_link(
        &self,
        [of_tag, of_relation]: [&str; 2],
        pos: i64,
        row: &EntryKeys<'_>,
    ) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(of_tag)?;
        for tag in &row.tags {
            statement.execute(params![tag, row.at, pos, row.kind])?;
        }
        let mut statement = self.conn.prepare_cached(of_relation)?;
        for target in &row.relates {
            statement.execute(params![target, row.at, pos, row.closes])?;
        }
        Ok(())
    }

    fn set_open(&mut self, id: &str, open: bool) -> Result<(), StoreError> {
        let open_entry: Option<(i64, String, String, bool)> = self.find(OPEN_ENTRY, id)?;
        let Some((pos, kind, scope_key, was)) = open_entry else { return Ok(()) };
        if was == open || !EntryType::read(&kind).is_some_and(EntryType::asks) {
            return Ok(());
        }
        self.deltas.add_entries(&scope_key, &kind, 0, if open { 1 } else { -1 });
        self.conn.prepare_cached(SET_OPEN)?.execute(params![pos, open])?;
        Ok(())
    }

    fn line(&self, pos: i64) -> Result<(String, bool), StoreError> {
        Ok(self
            .conn
            .prepare_cached(LINE)?
            .query_row([pos], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }
}
