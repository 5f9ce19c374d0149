//! Which entries pass a filter: the newest of them, how many, and how well each
//! fits a search.
//!
//! A page is walked along the index that fits the filter best, newest first, and
//! stops when it is full. Entries dated ahead of the clock come last: otherwise
//! one with a wrong date would stay on top for ever.

use rusqlite::Connection;
use rusqlite::types::Value;
use twining_model::{Scope, Time};

use super::embeddings::agent_key;
use super::view;
use super::view::{CountKind, horizon};
use super::view::{json_list, row_limit};
use super::word_search::{QueryParameters, SearchStatements, WordSearch, quoted};
use crate::error::StoreError;

/// Which entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryFilter {
    /// Of any of these types; none means of all.
    pub types: Vec<String>,
    /// With any of these tags; none means with any or none.
    pub tags: Vec<String>,
    /// In this scope: their own lies under it.
    pub scope: Option<Scope>,
    /// Not before this time.
    pub since: Option<Time>,
    /// Before this time.
    pub before: Option<Time>,
    /// Only those that wait for an answer.
    pub only_open: bool,
    /// By this agent, in any case.
    pub agent: Option<String>,
}

impl EntryFilter {
    /// Whether it keeps anything out.
    #[must_use]
    pub fn is_some(&self) -> bool {
        *self != Self::default()
    }
}

/// Sieve: which rows of `entry r` pass.
macro_rules! filter_sql {
    () => {
        " r.shadowed = 0 AND r.at >= :since AND r.at < :before
        AND (:agent IS NULL OR r.agent = :agent)
        AND (:kinds IS NULL OR r.kind IN (SELECT value FROM json_each(:kinds)))
        AND ((r.scope_key >= :low AND r.scope_key < :high) OR r.scope_key IN (SELECT value FROM json_each(:covering))) "
    };
}

/// The same with what only a walk by tag, or by what is open, has looked at.
macro_rules! full_filter {
    () => {
        concat!(
            " (:tags IS NULL OR EXISTS(
                SELECT 1 FROM tag t WHERE t.tag IN (SELECT value FROM json_each(:tags)) AND t.at = r.at AND t.pos = r.pos))
            AND (:open = 0 OR r.open = 1) AND",
            filter_sql!()
        )
    };
}

/// Along an index, newest first.
macro_rules! scan {
    ($along:literal) => {
        concat!(
            "SELECT r.at, r.pos FROM entry r INDEXED BY ",
            $along,
            " AND",
            filter_sql!(),
            "ORDER BY r.at DESC, r.pos DESC LIMIT :limit OFFSET :offset"
        )
    };
}

/// The same where nothing else is asked: only the index is read, so that a page far down
/// is a matter of milliseconds.
macro_rules! skim {
    ($along:literal) => {
        concat!(
            "SELECT r.at, r.pos FROM entry r INDEXED BY ",
            $along,
            " AND r.shadowed = 0 AND r.at >= :since AND r.at < :before
            ORDER BY r.at DESC, r.pos DESC LIMIT :limit OFFSET :offset"
        )
    };
}

const SKIM: &str = skim!("entry_at WHERE 1");
const SKIM_KIND: &str = skim!("entry_kind WHERE r.kind = :one");
const SKIM_AGENT: &str = skim!("entry_agent WHERE r.agent = :one");
const SCAN: &str = scan!("entry_at WHERE 1");
const SCAN_KIND: &str = scan!("entry_kind WHERE r.kind = :one");
const SCAN_AGENT: &str = scan!("entry_agent WHERE r.agent = :one");
const SCAN_OPEN: &str = scan!("entry_open WHERE r.open = 1");
const SCAN_TAG: &str = "
SELECT at, pos FROM tag WHERE tag = :one AND at >= :since AND at < :before
    AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))
ORDER BY at DESC, pos DESC LIMIT :limit OFFSET :offset";
const SCAN_TAG_FILTERED: &str = concat!(
    "SELECT t.at, t.pos FROM tag t CROSS JOIN entry r ON r.pos = t.pos
    WHERE t.tag = :one AND t.at >= :since AND t.at < :before AND (:open = 0 OR r.open = 1) AND",
    filter_sql!(),
    " ORDER BY t.at DESC, t.pos DESC LIMIT :limit OFFSET :offset"
);
const COLLECT: &str = scan!("entry_scope WHERE r.scope_key BETWEEN :from AND :to");
const COLLECT_OPEN: &str =
    scan!("entry_scope WHERE r.scope_key BETWEEN :from AND :to AND r.kind = :one AND r.open = 1");
// In their order for one kind and one place, so walked only as far as they are wanted.
const SCAN_OPEN_AT: &str =
    scan!("entry_scope WHERE r.scope_key = :from AND r.kind = :one AND r.open = 1");

const COUNT: &str =
    "SELECT count(*) FROM entry WHERE shadowed = 0 AND at >= :since AND at < :before";
const COUNT_KIND: &str = "SELECT count(*) FROM entry WHERE shadowed = 0 AND kind = :one AND at >= :since AND at < :before";
const COUNT_OPEN: &str = concat!(
    "SELECT count(*) FROM entry r INDEXED BY entry_open WHERE r.open = 1 AND",
    filter_sql!()
);
const COUNT_AGENT: &str = concat!(
    "SELECT count(*) FROM entry r INDEXED BY entry_agent WHERE r.agent = :agent AND",
    filter_sql!()
);
const COUNT_TAG: &str = "
SELECT count(*) FROM tag WHERE tag = :one AND at >= :since AND at < :before
    AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))";
const COUNT_SCOPE: &str = concat!(
    "SELECT count(*) FROM entry r INDEXED BY entry_scope WHERE r.scope_key BETWEEN :from AND :to AND",
    filter_sql!()
);
const SCOPE_COUNT: &str =
    "SELECT coalesce(sum(n), 0) FROM scope_count WHERE scope_key BETWEEN :from AND :to";
const SCOPE_COUNT_FILTERED: &str = "
SELECT coalesce(sum(CASE WHEN :open THEN open ELSE n END), 0) FROM scope_count
WHERE scope_key BETWEEN :from AND :to AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))";

const SEARCH: SearchStatements = SearchStatements {
    newest_rows: "SELECT rowid FROM entry_text WHERE entry_text MATCH :match ORDER BY rowid DESC LIMIT :limit",
    passing: concat!(
        "SELECT x.rowid FROM entry_text x CROSS JOIN entry r ON r.pos = x.rowid WHERE entry_text MATCH :match AND",
        full_filter!(),
        " ORDER BY x.rowid DESC LIMIT :limit"
    ),
    scored: concat!(
        "SELECT x.rowid, -bm25(entry_text, 2.0, 1.0, 0.5, 0.5, 0.0) FROM entry_text x CROSS JOIN entry r ON r.pos = x.rowid
        WHERE entry_text MATCH :match AND",
        full_filter!()
    ),
    scored_any: "SELECT rowid, -bm25(entry_text, 2.0, 1.0, 0.5, 0.5, 0.0) FROM entry_text WHERE entry_text MATCH :match",
    by_vector_keys: [
        concat!(
            "SELECT r.pos FROM json_each(:names) n CROSS JOIN line l ON l.text_vector = n.value CROSS JOIN entry r ON r.pos = l.pos WHERE",
            full_filter!()
        ),
        concat!(
            "SELECT r.pos FROM json_each(:names) n CROSS JOIN line l INDEXED BY line_summary_vector ON l.summary_vector = n.value
            CROSS JOIN entry r ON r.pos = l.pos WHERE l.summary_vector IS NOT NULL AND",
            full_filter!()
        ),
    ],
    last: "SELECT coalesce(max(pos), 0) FROM entry",
    counts: &[CountKind::Entries],
    // Not in the name of its kind.
    columns: "{summary detail tags paths} : ",
};

/// Up to so many entries of a scope are sorted; above, the newest are walked
/// until enough of them lie in it.
const MAX_COLLECTED: u64 = 20_000;
/// The same for those that are open, which are fewer.
const MAX_COLLECTED_OPEN: u64 = 2_000;

/// A range of keys of scopes.
type KeyRange = (String, Value);

/// A filter, ready to be bound.
pub(super) struct EntryQuery<'s> {
    now: Time,
    filter: &'s EntryFilter,
    /// The filter's agent, as entries are found by it.
    agent: Option<String>,
    parameters: QueryParameters<'s>,
    /// The scope, and those around it.
    ranges: Vec<KeyRange>,
    is_scoped: bool,
}

impl<'s> EntryQuery<'s> {
    /// A filter on the entries in these places; the filter's own scope is not looked at.
    pub(super) fn new<'k>(
        conn: &'s Connection,
        now: Time,
        filter: &'s EntryFilter,
        ranges: impl Iterator<Item = (&'k str, Value)>,
    ) -> Self {
        let ranges: Vec<KeyRange> = ranges.map(|(from, to)| (from.to_owned(), to)).collect();
        let list = |texts: &[String]| {
            if texts.is_empty() { Value::Null } else { Value::Text(json_list(texts)) }
        };
        let agent = filter.agent.as_deref().map(agent_key);
        let values = vec![
            (":since", Value::Integer(filter.since.map_or(i64::MIN, Time::as_ms))),
            (":before", Value::Integer(filter.before.map_or(i64::MAX, Time::as_ms))),
            (":kinds", list(&filter.types)),
            (":tags", list(&filter.tags)),
            (":open", Value::Integer(i64::from(filter.only_open))),
            (":agent", agent.clone().map_or(Value::Null, Value::Text)),
            (":low", Value::Text(ranges[0].0.clone())),
            (":high", ranges[0].1.clone()),
            (":covering", Value::Text(json_list(ranges[1..].iter().map(|(key, _)| key)))),
        ];
        let is_scoped = !ranges[0].0.is_empty();
        Self { now, filter, agent, parameters: QueryParameters { conn, values }, ranges, is_scoped }
    }

    /// The newest that pass after the first `offset` of them, newest first.
    pub(super) fn newest(&self, offset: usize, limit: usize) -> Result<Vec<i64>, StoreError> {
        let (since, before) = self.window();
        let ahead = horizon(self.now).saturating_add(1);
        let mut found = self.scan(since, before.min(ahead), offset, limit)?;
        if found.len() < limit {
            let left = limit - found.len();
            let skipped =
                if offset == 0 { 0 } else { offset.saturating_sub(self.count_until(ahead)?) };
            found.extend(self.scan(since.max(ahead), before, skipped, left)?);
        }
        Ok(found.into_iter().map(|(_, pos)| pos).collect())
    }

    /// How many pass that are dated before a time.
    fn count_until(&self, ahead: i64) -> Result<usize, StoreError> {
        let (since, before) = self.window();
        let later = self.scan(since.max(ahead), before, 0, usize::MAX)?.len();
        Ok(usize::try_from(self.total()?).unwrap_or(usize::MAX).saturating_sub(later))
    }

    fn window(&self) -> (i64, i64) {
        (
            self.filter.since.map_or(i64::MIN, Time::as_ms),
            self.filter.before.map_or(i64::MAX, Time::as_ms),
        )
    }

    /// The newest in a window, by time and then by their place on the board.
    fn scan(
        &self,
        since: i64,
        before: i64,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<(i64, i64)>, StoreError> {
        let mut found = Vec::new();
        if since >= before || limit == 0 {
            return Ok(found);
        }
        let scans = self.scans()?;
        // Several are put in order here, so that none of them can skip by itself.
        let wanted = offset.saturating_add(limit);
        let (skipped, taken) = if scans.len() == 1 { (offset, limit) } else { (0, wanted) };
        let merged_offset = offset - skipped;
        for (sql, one, (from, to)) in scans {
            let window: [(&str, &dyn rusqlite::ToSql); 7] = [
                (":since", &since),
                (":before", &before),
                (":limit", &row_limit(taken)),
                (":offset", &row_limit(skipped)),
                (":one", &one),
                (":from", from),
                (":to", to),
            ];
            found.extend(self.parameters.rows(sql, &window, |row| Ok((row.get(0)?, row.get(1)?)))?);
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        Ok(found.into_iter().skip(merged_offset).take(limit).collect())
    }

    /// The statements that together give all that pass, each with its word and its range.
    fn scans(&self) -> Result<Vec<(&'static str, &str, &KeyRange)>, StoreError> {
        let (filter, scope, covering) = (self.filter, &self.ranges[0], &self.ranges[1..]);
        Ok(if !filter.tags.is_empty() {
            let is_plain = !self.is_scoped && !filter.only_open && self.agent.is_none();
            let sql = if is_plain { SCAN_TAG } else { SCAN_TAG_FILTERED };
            distinct(&filter.tags).map(|tag| (sql, tag, scope)).collect()
        } else if filter.only_open {
            match filter.types.as_slice() {
                [kind]
                    if self.is_scoped
                        && self.count_in(SCOPE_COUNT, &self.ranges[..1])? <= MAX_COLLECTED_OPEN =>
                {
                    let covering =
                        covering.iter().map(|range| (SCAN_OPEN_AT, kind.as_str(), range));
                    std::iter::once((COLLECT_OPEN, kind.as_str(), scope)).chain(covering).collect()
                }
                _ => vec![(SCAN_OPEN, "", scope)],
            }
        } else if let Some(agent) = &self.agent {
            let is_plain = !self.is_scoped && filter.types.is_empty();
            vec![(if is_plain { SKIM_AGENT } else { SCAN_AGENT }, agent.as_str(), scope)]
        } else if self.is_scoped && self.count_in(SCOPE_COUNT, &self.ranges)? <= MAX_COLLECTED {
            self.ranges.iter().map(|range| (COLLECT, "", range)).collect()
        } else if filter.types.is_empty() {
            vec![(if self.is_scoped { SCAN } else { SKIM }, "", scope)]
        } else {
            let sql = if self.is_scoped { SCAN_KIND } else { SKIM_KIND };
            distinct(&filter.types).map(|kind| (sql, kind, scope)).collect()
        })
    }

    /// How many pass.
    pub(super) fn total(&self) -> Result<u64, StoreError> {
        let (filter, scope) = (self.filter, &self.ranges[0]);
        let (since, before) = self.window();
        match filter.tags.as_slice() {
            [] => {}
            [tag] if !self.is_scoped && !filter.only_open && self.agent.is_none() => {
                return self.count(COUNT_TAG, tag, scope);
            }
            // An entry may have several of them.
            _ => return Ok(self.scan(since, before, 0, usize::MAX)?.len() as u64),
        }
        if self.agent.is_some() {
            let sql = if filter.only_open { COUNT_OPEN } else { COUNT_AGENT };
            return self.count(sql, "", scope);
        }
        match (self.is_scoped, filter.since.is_some() || filter.before.is_some()) {
            (true, false) => self.count_in(SCOPE_COUNT_FILTERED, &self.ranges),
            (false, false) if filter.only_open => self.open(),
            (_, true) if filter.only_open => self.count(COUNT_OPEN, "", scope),
            (true, true) => self.count_in(COUNT_SCOPE, &self.ranges),
            (false, _) if !filter.types.is_empty() => {
                distinct(&filter.types).map(|kind| self.count(COUNT_KIND, kind, scope)).sum()
            }
            (false, true) => self.count(COUNT, "", scope),
            (false, false) => self.word_search().total(),
        }
    }

    /// How many are open, of the kinds asked for.
    fn open(&self) -> Result<u64, StoreError> {
        let kinds = if self.filter.types.is_empty() {
            vec!["need", "question", "warning"]
        } else {
            distinct(&self.filter.types).collect()
        };
        Ok(view::sum(
            self.parameters.conn,
            &kinds.into_iter().filter_map(CountKind::open).collect::<Vec<_>>(),
        )?)
    }

    fn count_in(&self, sql: &str, ranges: &[KeyRange]) -> Result<u64, StoreError> {
        ranges.iter().map(|range| self.count(sql, "", range)).sum()
    }

    fn count(&self, sql: &str, one: &str, (from, to): &KeyRange) -> Result<u64, StoreError> {
        let counted =
            self.parameters.rows(sql, &[(":one", &one), (":from", from), (":to", to)], |row| {
                row.get::<_, i64>(0)
            })?;
        Ok(counted.into_iter().sum::<i64>().cast_unsigned())
    }

    /// Where to search.
    pub(super) fn word_search(&self) -> WordSearch<'_> {
        let types = &self.filter.types;
        // A kind without letters is no word that the full-text index knows.
        let are_words =
            types.iter().all(|kind| kind.bytes().any(|byte| byte.is_ascii_alphanumeric()));
        let kinds: Vec<String> = distinct(types).map(quoted).collect();
        let narrowing = if types.is_empty() || !are_words {
            String::new()
        } else {
            format!(" AND kind : ({})", kinds.join(" OR "))
        };
        let is_filtered =
            self.is_scoped || EntryFilter { scope: None, ..self.filter.clone() }.is_some();
        WordSearch { parameters: &self.parameters, statements: &SEARCH, is_filtered, narrowing }
    }
}

fn distinct(words: &[String]) -> impl Iterator<Item = &str> {
    words
        .iter()
        .enumerate()
        .filter(|(i, word)| !words[..*i].contains(word))
        .map(|(_, word)| word.as_str())
}
