//! Reading the blackboard.

use rusqlite::{Connection, OptionalExtension, params};
use twining_model::scope::CaseFolding;
use twining_model::{Entry, EntryType, Scope, Time, limits};

use super::embeddings;
use super::embeddings::{RecordHeader, RowId, VectorKeys};
use super::entry_filter::{EntryFilter, EntryQuery};
use super::view;
use super::view::CountKind;
use super::view::{Page, end_of, first_column, load, overlapping, records, row_limit};
use super::word_search::Term;
use crate::error::StoreError;

/// The blackboard, as of one moment.
pub struct Entries<'v> {
    pub(super) conn: &'v Connection,
    pub(super) now: Time,
    pub(super) folding: CaseFolding,
}

const GET: &str = "SELECT l.raw, l.sum FROM entry e JOIN line l ON l.pos = e.pos WHERE e.id = ?1 AND e.shadowed = 0";
const BEGINNING: &str =
    "SELECT DISTINCT id FROM entry WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
const IDS: &str =
    "SELECT id, pos FROM entry INDEXED BY entry_at WHERE shadowed = 0 ORDER BY at DESC, pos DESC";
const AT_POS: &str = "SELECT raw, sum FROM line WHERE pos = ?1";
const CARD: &str = "SELECT l.text_vector, l.summary_vector, e.agent FROM line l JOIN entry e ON e.pos = l.pos WHERE l.pos = ?1";
const SENSES: &str =
    "SELECT pos, text_vector, summary_vector FROM line WHERE pos > ?1 ORDER BY pos LIMIT ?2";
const IS_OPEN: &str = "SELECT open FROM entry WHERE id = ?1 AND shadowed = 0";
const OPEN_BEFORE: &str = "
SELECT pos FROM entry INDEXED BY entry_open
WHERE open = 1 AND kind = ?1 AND at < ?2 AND scope_key >= ?3 AND scope_key < ?4
ORDER BY at, pos LIMIT ?5 OFFSET ?6";
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
        self.newest_after(filter, 0, limit)
    }

    /// The same after the first `offset` of them.
    pub fn newest_after(
        &self,
        filter: &EntryFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Page<Entry>, StoreError> {
        let query = self.query(filter);
        let total = query.total()?;
        Ok(Page { items: self.load(&query.newest(offset, limit)?)?, total })
    }

    /// The newest that speak of this scope: theirs covers it or lies under it.
    /// The filter's own scope is not looked at.
    pub fn about_scope(
        &self,
        scope: &Scope,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Page<Entry>, StoreError> {
        self.about_scope_after(scope, filter, 0, limit)
    }

    /// The same after the first `offset` of them.
    pub fn about_scope_after(
        &self,
        scope: &Scope,
        filter: &EntryFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Page<Entry>, StoreError> {
        let query = self.query_about(scope, filter);
        Ok(Page { items: self.load(&query.newest(offset, limit)?)?, total: query.total()? })
    }

    /// The id and row of every one, newest first.
    pub fn ids_and_rows(&self) -> Result<Vec<(String, RowId)>, StoreError> {
        let mut statement = self.conn.prepare_cached(IDS)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, RowId(row.get(1)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the newest of them as rows, for callers that may not want all.
    pub fn rows_about(
        &self,
        scope: &Scope,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<RowId>, StoreError> {
        Ok(self.query_about(scope, filter).newest(0, limit)?.into_iter().map(RowId).collect())
    }

    /// How many speak of this scope.
    pub fn count_about(&self, scope: &Scope, filter: &EntryFilter) -> Result<u64, StoreError> {
        self.query_about(scope, filter).total()
    }

    /// The entry with this id.
    pub fn get(&self, id: &str) -> Result<Option<Entry>, StoreError> {
        Ok(records(self.conn, GET, [id])?.pop())
    }

    /// The first `limit` ids of entries that begin so.
    pub fn with_id_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        // Nothing in an id of ours sorts after this.
        let high = format!("{prefix}~");
        first_column(self.conn, BEGINNING, params![prefix, high, row_limit(limit)])
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

    /// Open ones of a type that were posted before that time, the longest waiting first, without
    /// the first `offset`.
    pub fn open_before(
        &self,
        kind: EntryType,
        scope: &Scope,
        before: Time,
        (offset, limit): (usize, usize),
    ) -> Result<Vec<Entry>, StoreError> {
        let key = scope.key(self.folding);
        let (from, to) = (key.as_str(), end_of(&key));
        let page =
            params![kind.as_str(), before.as_ms(), from, to, row_limit(limit), row_limit(offset)];
        self.load(&first_column(self.conn, OPEN_BEFORE, page)?)
    }

    /// How many of these there are.
    pub fn count_open_before(
        &self,
        kind: EntryType,
        scope: &Scope,
        before: Time,
    ) -> Result<u64, StoreError> {
        let open = EntryFilter {
            types: vec![kind.as_str().to_owned()],
            scope: Some(scope.clone()),
            only_open: true,
            ..EntryFilter::default()
        };
        // Few are as young as that, on a board of any age.
        let young = EntryFilter { since: Some(before), ..open.clone() };
        Ok(self.query(&open).total()?.saturating_sub(self.query(&young).total()?))
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

    fn load(&self, positions: &[i64]) -> Result<Vec<Entry>, StoreError> {
        load(self.conn, AT_POS, positions)
    }
}
