//! Reading the blackboard.

use rusqlite::{Connection, OptionalExtension, params};
use twining_model::scope::CaseFolding;
use twining_model::{Entry, EntryType, Scope, Time, limits};

use super::embeddings;
use super::embeddings::{RecordHeader, RowId, VectorKeys};
use super::entry_filter::{EntryFilter, EntryQuery};
use super::view;
use super::view::CountKind;
use super::view::{Page, first_column, load, overlapping, records, row_limit};
use super::word_search::Term;
use crate::error::StoreError;

/// The blackboard, as of one moment.
pub struct Entries<'v> {
    pub(super) conn: &'v Connection,
    pub(super) now: Time,
    pub(super) folding: CaseFolding,
}

const GET: &str = "SELECT l.raw, l.sum FROM entry e JOIN line l ON l.pos = e.pos WHERE e.id = ?1 AND e.shadowed = 0";
const AT_POS: &str = "SELECT raw, sum FROM line WHERE pos = ?1";
const CARD: &str = "SELECT text_vector, summary_vector, agent FROM line WHERE pos = ?1";
const SENSES: &str =
    "SELECT pos, text_vector, summary_vector FROM line WHERE pos > ?1 ORDER BY pos LIMIT ?2";
const IS_OPEN: &str = "SELECT open FROM entry WHERE id = ?1 AND shadowed = 0";
const CLOSERS: &str =
    "SELECT pos FROM relates WHERE target = ?1 AND closes = 1 ORDER BY at DESC, pos DESC LIMIT ?2";
const RELATING: &str =
    "SELECT pos FROM relates WHERE target = ?1 ORDER BY at DESC, pos DESC LIMIT ?2";
const COUNT_RELATING: &str = "SELECT count(*) FROM relates WHERE target = ?1";
const ARCHIVABLE: &str = "
SELECT pos FROM entry e
WHERE e.shadowed = 0 AND e.at < ?1 AND e.open = 0 AND e.kind <> 'decision'
    AND NOT (e.kind = 'finding' AND EXISTS(SELECT 1 FROM tag WHERE tag = 'archive' AND at = e.at AND pos = e.pos))
ORDER BY e.pos";
const IS_RETAINED: &str = "SELECT EXISTS(SELECT 1 FROM entry WHERE id = ?1 AND shadowed = 0 AND at >= ?2 AND kind IN ('need', 'question', 'warning'))";

impl Entries<'_> {
    /// The newest that pass the filter, newest first.
    pub fn newest(&self, filter: &EntryFilter, limit: usize) -> Result<Page<Entry>, StoreError> {
        self.page(&self.query(filter), limit)
    }

    /// The newest that speak of this scope: theirs covers it or lies under it.
    /// The filter's own scope is not looked at.
    pub fn about_scope(
        &self,
        scope: &Scope,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Page<Entry>, StoreError> {
        self.page(&self.query_about(scope, filter), limit)
    }

    /// Returns the newest of them as rows, for callers that may not want all.
    pub fn rows_about(
        &self,
        scope: &Scope,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<RowId>, StoreError> {
        Ok(self.query_about(scope, filter).newest(limit)?.into_iter().map(RowId).collect())
    }

    /// How many speak of this scope.
    pub fn count_about(&self, scope: &Scope, filter: &EntryFilter) -> Result<u64, StoreError> {
        self.query_about(scope, filter).total()
    }

    /// The entry with this id.
    pub fn get(&self, id: &str) -> Result<Option<Entry>, StoreError> {
        Ok(records(self.conn, GET, [id])?.pop())
    }

    /// Returns those that contain one of the words, best first, with their BM25.
    pub fn by_words(
        &self,
        terms: &[Term],
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<(RowId, f64)>, StoreError> {
        self.query(filter).word_search().rank(terms, limit)
    }

    /// Those that pass the filter and whose text, or whose summary, has one of these names.
    pub fn by_vector_keys(
        &self,
        names: &[u64],
        filter: &EntryFilter,
    ) -> Result<Vec<RowId>, StoreError> {
        self.query(filter).word_search().by_vector_keys(names)
    }

    /// What is known of one without reading it, if there is something in this row.
    pub fn header(&self, row: RowId) -> Result<Option<RecordHeader>, StoreError> {
        embeddings::header(self.conn, CARD, row)
    }

    /// The one in this row.
    pub fn at_row(&self, row: RowId) -> Result<Entry, StoreError> {
        Ok(self.load(&[row.0])?.remove(0))
    }

    /// The names of the vectors of the rows after `after`, of all before the first if none.
    pub fn vector_keys_after(
        &self,
        after: Option<RowId>,
        limit: usize,
    ) -> Result<Vec<(RowId, VectorKeys)>, StoreError> {
        embeddings::vector_keys_after(self.conn, SENSES, after.unwrap_or(RowId(-1)), limit)
    }

    /// Whether this one waits for an answer.
    pub fn is_open(&self, id: &str) -> Result<bool, StoreError> {
        Ok(self
            .conn
            .prepare_cached(IS_OPEN)?
            .query_row([id], |row| row.get(0))
            .optional()?
            .unwrap_or(false))
    }

    /// Those that close this one, newest first.
    pub fn closers(&self, id: &str) -> Result<Vec<Entry>, StoreError> {
        self.load(&first_column(self.conn, CLOSERS, params![id, row_limit(limits::PAGE)])?)
    }

    /// Those that name this one in `relates_to`, newest first.
    pub fn relating_to(&self, id: &str, limit: usize) -> Result<Page<Entry>, StoreError> {
        let total: i64 =
            self.conn.prepare_cached(COUNT_RELATING)?.query_row([id], |row| row.get(0))?;
        let items =
            self.load(&first_column(self.conn, RELATING, params![id, row_limit(limit)])?)?;
        Ok(Page { items, total: total.cast_unsigned() })
    }

    /// Those that may leave the board: older than `before` and settled. Never a
    /// decision, whatever is asked; never what is open, nor what closes an entry
    /// that stays; never what the archiver itself wrote.
    pub fn archivable(
        &self,
        before: Time,
        _keep_decisions: bool,
    ) -> Result<Vec<Entry>, StoreError> {
        let archivable_entries =
            self.load(&first_column(self.conn, ARCHIVABLE, [before.as_ms()])?)?;
        let leaves = |entry: Entry| {
            self.closes_retained_entry(&entry, before)
                .map(|retained| (!retained).then_some(entry))
                .transpose()
        };
        archivable_entries.into_iter().filter_map(leaves).collect()
    }

    fn closes_retained_entry(&self, entry: &Entry, before: Time) -> Result<bool, StoreError> {
        if entry.kind().is_some_and(EntryType::closes) {
            let mut retained = self.conn.prepare_cached(IS_RETAINED)?;
            for id in &entry.relates_to {
                if retained.query_row(params![id, before.as_ms()], |row| row.get(0))? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// How many lines repeat the id of a later one.
    pub fn duplicate_ids(&self) -> Result<u64, StoreError> {
        Ok(view::sum(self.conn, &[CountKind::Shadowed])?)
    }

    fn query<'f>(&'f self, filter: &'f EntryFilter) -> EntryQuery<'f> {
        let key = filter.scope.as_ref().map(|scope| scope.key(self.folding)).unwrap_or_default();
        EntryQuery::new(self.conn, self.now, filter, overlapping(&key).take(1))
    }

    fn query_about<'f>(&'f self, scope: &Scope, filter: &'f EntryFilter) -> EntryQuery<'f> {
        EntryQuery::new(self.conn, self.now, filter, overlapping(&scope.key(self.folding)))
    }

    fn page(&self, query: &EntryQuery<'_>, limit: usize) -> Result<Page<Entry>, StoreError> {
        Ok(Page { items: self.load(&query.newest(limit)?)?, total: query.total()? })
    }

    fn load(&self, positions: &[i64]) -> Result<Vec<Entry>, StoreError> {
        load(self.conn, AT_POS, positions)
    }
}
