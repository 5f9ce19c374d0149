//! Which entries pass a filter: the newest of them, how many, and how well each
//! fits a search.
//!
//! A page is walked along the index that fits the filter best, newest first, and
//! stops when it is full. Entries dated ahead of the clock come last: otherwise
//! one with a wrong date would stay on top for ever.

use rusqlite::Connection;
use rusqlite::types::Value;
use twining_model::{Scope, Time};

use super::search::{Parameters, SearchStatements, Shelf, quoted};
use super::tally::{self, Count, horizon};
use super::view::{json_list, row_limit};
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
}

impl EntryFilter {
    /// Whether it keeps anything out.
    #[must_use]
    pub fn is_some(&self) -> bool {
        *self != Self::default()
    }
}

/// Sieve: which rows of `entry r` pass.
macro_rules! sieve {
    () => {
        " r.shadowed = 0 AND r.at >= :since AND r.at < :before
        AND (:kinds IS NULL OR r.kind IN (SELECT value FROM json_each(:kinds)))
        AND ((r.scope_key >= :low AND r.scope_key < :high) OR r.scope_key IN (SELECT value FROM json_each(:covering))) "
    };
}

/// The same with what only a walk by tag, or by what is open, has looked at.
macro_rules! whole_sieve {
    () => {
        concat!(
            " (:tags IS NULL OR EXISTS(
                SELECT 1 FROM tag t WHERE t.tag IN (SELECT value FROM json_each(:tags)) AND t.at = r.at AND t.pos = r.pos))
            AND (:open = 0 OR r.open = 1) AND",
            sieve!()
        )
    };
}

/// Along an index, newest first.
macro_rules! walk {
    ($along:literal) => {
        concat!("SELECT r.at, r.pos FROM entry r INDEXED BY ", $along, " AND", sieve!(), "ORDER BY r.at DESC, r.pos DESC LIMIT :limit")
    };
}

const WALK: &str = walk!("entry_at WHERE 1");
const WALK_KIND: &str = walk!("entry_kind WHERE r.kind = :one");
const WALK_OPEN: &str = walk!("entry_open WHERE r.open = 1");
const WALK_TAG: &str = "
SELECT at, pos FROM tag WHERE tag = :one AND at >= :since AND at < :before
    AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))
ORDER BY at DESC, pos DESC LIMIT :limit";
const WALK_TAG_SIEVED: &str = concat!(
    "SELECT t.at, t.pos FROM tag t CROSS JOIN entry r ON r.pos = t.pos
    WHERE t.tag = :one AND t.at >= :since AND t.at < :before AND (:open = 0 OR r.open = 1) AND",
    sieve!(),
    " ORDER BY t.at DESC, t.pos DESC LIMIT :limit"
);
const GATHER: &str = walk!("entry_scope WHERE r.scope_key BETWEEN :from AND :to");
const GATHER_OPEN: &str = walk!("entry_scope WHERE r.scope_key BETWEEN :from AND :to AND r.kind = :one AND r.open = 1");
// In their order for one kind and one place, so walked only as far as they are wanted.
const WALK_OPEN_AT: &str = walk!("entry_scope WHERE r.scope_key = :from AND r.kind = :one AND r.open = 1");

const COUNT: &str = "SELECT count(*) FROM entry WHERE shadowed = 0 AND at >= :since AND at < :before";
const COUNT_KIND: &str = "SELECT count(*) FROM entry WHERE shadowed = 0 AND kind = :one AND at >= :since AND at < :before";
const COUNT_OPEN: &str = concat!("SELECT count(*) FROM entry r INDEXED BY entry_open WHERE r.open = 1 AND", sieve!());
const COUNT_TAG: &str = "
SELECT count(*) FROM tag WHERE tag = :one AND at >= :since AND at < :before
    AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))";
const COUNT_SCOPE: &str =
    concat!("SELECT count(*) FROM entry r INDEXED BY entry_scope WHERE r.scope_key BETWEEN :from AND :to AND", sieve!());
const CENSUS: &str = "SELECT coalesce(sum(n), 0) FROM census WHERE scope_key BETWEEN :from AND :to";
const CENSUS_SIEVED: &str = "
SELECT coalesce(sum(CASE WHEN :open THEN open ELSE n END), 0) FROM census
WHERE scope_key BETWEEN :from AND :to AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))";

const SEARCH: SearchStatements = SearchStatements {
    spread: "SELECT rowid FROM entry_text WHERE entry_text MATCH :match ORDER BY rowid DESC LIMIT :limit",
    passing: concat!(
        "SELECT x.rowid FROM entry_text x CROSS JOIN entry r ON r.pos = x.rowid WHERE entry_text MATCH :match AND",
        whole_sieve!(),
        " ORDER BY x.rowid DESC LIMIT :limit"
    ),
    scored: concat!(
        "SELECT x.rowid, -bm25(entry_text, 2.0, 1.0, 0.5, 0.5, 0.0) FROM entry_text x CROSS JOIN entry r ON r.pos = x.rowid
        WHERE entry_text MATCH :match AND",
        whole_sieve!()
    ),
    scored_any: "SELECT rowid, -bm25(entry_text, 2.0, 1.0, 0.5, 0.5, 0.0) FROM entry_text WHERE entry_text MATCH :match",
    with_names: [
        concat!(
            "SELECT r.pos FROM json_each(:names) n CROSS JOIN line l ON l.meaning = n.value CROSS JOIN entry r ON r.pos = l.pos WHERE",
            whole_sieve!()
        ),
        concat!(
            "SELECT r.pos FROM json_each(:names) n CROSS JOIN line l INDEXED BY line_gist ON l.gist = n.value
            CROSS JOIN entry r ON r.pos = l.pos WHERE l.gist IS NOT NULL AND",
            whole_sieve!()
        ),
    ],
    last: "SELECT coalesce(max(pos), 0) FROM entry",
    counts: &[Count::Entries],
    // Not in the name of its kind.
    columns: "{summary detail tags paths} : ",
};

/// Up to so many entries of a scope are sorted; above, the newest are walked
/// until enough of them lie in it.
const GATHERED: u64 = 20_000;
/// The same for those that are open, which are fewer.
const GATHERED_OPEN: u64 = 2_000;

/// A range of keys of scopes.
type Place = (String, Value);

/// A filter, ready to be bound.
pub(super) struct Sieve<'s> {
    now: Time,
    filter: &'s EntryFilter,
    parameters: Parameters<'s>,
    /// The scope, and those around it.
    places: Vec<Place>,
    is_scoped: bool,
}

impl<'s> Sieve<'s> {
    /// A filter on the entries in these places; the filter's own scope is not looked at.
    pub fn new<'k>(conn: &'s Connection, now: Time, filter: &'s EntryFilter, places: impl Iterator<Item = (&'k str, Value)>) -> Self {
        let places: Vec<Place> = places.map(|(from, to)| (from.to_owned(), to)).collect();
        let list = |texts: &[String]| if texts.is_empty() { Value::Null } else { Value::Text(json_list(texts)) };
        let values = vec![
            (":since", Value::Integer(filter.since.map_or(i64::MIN, Time::as_ms))),
            (":before", Value::Integer(filter.before.map_or(i64::MAX, Time::as_ms))),
            (":kinds", list(&filter.types)),
            (":tags", list(&filter.tags)),
            (":open", Value::Integer(i64::from(filter.only_open))),
            (":low", Value::Text(places[0].0.clone())),
            (":high", places[0].1.clone()),
            (":covering", Value::Text(json_list(places[1..].iter().map(|(key, _)| key)))),
        ];
        let is_scoped = !places[0].0.is_empty();
        Self { now, filter, parameters: Parameters { conn, values }, places, is_scoped }
    }

    /// The newest that pass, newest first.
    pub fn newest(&self, limit: usize) -> Result<Vec<i64>, StoreError> {
        let (since, before) = self.window();
        let ahead = horizon(self.now).saturating_add(1);
        let mut found = self.walk(since, before.min(ahead), limit)?;
        if found.len() < limit {
            found.extend(self.walk(since.max(ahead), before, limit - found.len())?);
        }
        Ok(found.into_iter().map(|(_, pos)| pos).collect())
    }

    fn window(&self) -> (i64, i64) {
        (self.filter.since.map_or(i64::MIN, Time::as_ms), self.filter.before.map_or(i64::MAX, Time::as_ms))
    }

    /// The newest in a window, by time and then by their place on the board.
    fn walk(&self, since: i64, before: i64, limit: usize) -> Result<Vec<(i64, i64)>, StoreError> {
        let mut found = Vec::new();
        if since >= before || limit == 0 {
            return Ok(found);
        }
        let (filter, scope, around) = (self.filter, &self.places[0], &self.places[1..]);
        let walks: Vec<(&str, &str, &Place)> = if !filter.tags.is_empty() {
            let sql = if self.is_scoped || filter.only_open { WALK_TAG_SIEVED } else { WALK_TAG };
            each_once(&filter.tags).map(|tag| (sql, tag, scope)).collect()
        } else if filter.only_open {
            match filter.types.as_slice() {
                [kind] if self.is_scoped && self.count_in(CENSUS, &self.places[..1])? <= GATHERED_OPEN => {
                    let around = around.iter().map(|place| (WALK_OPEN_AT, kind.as_str(), place));
                    std::iter::once((GATHER_OPEN, kind.as_str(), scope)).chain(around).collect()
                }
                _ => vec![(WALK_OPEN, "", scope)],
            }
        } else if self.is_scoped && self.count_in(CENSUS, &self.places)? <= GATHERED {
            self.places.iter().map(|place| (GATHER, "", place)).collect()
        } else if filter.types.is_empty() {
            vec![(WALK, "", scope)]
        } else {
            each_once(&filter.types).map(|kind| (WALK_KIND, kind, scope)).collect()
        };
        for (sql, one, (from, to)) in walks {
            let window: [(&str, &dyn rusqlite::ToSql); 6] =
                [(":since", &since), (":before", &before), (":limit", &row_limit(limit)), (":one", &one), (":from", from), (":to", to)];
            found.extend(self.parameters.rows(sql, &window, |row| Ok((row.get(0)?, row.get(1)?)))?);
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        found.truncate(limit);
        Ok(found)
    }

    /// How many pass.
    pub fn total(&self) -> Result<u64, StoreError> {
        let (filter, scope) = (self.filter, &self.places[0]);
        let (since, before) = self.window();
        match filter.tags.as_slice() {
            [] => {}
            [tag] if !self.is_scoped && !filter.only_open => return self.count(COUNT_TAG, tag, scope),
            // An entry may have several of them.
            _ => return Ok(self.walk(since, before, usize::MAX)?.len() as u64),
        }
        match (self.is_scoped, filter.since.is_some() || filter.before.is_some()) {
            (true, false) => self.count_in(CENSUS_SIEVED, &self.places),
            (false, false) if filter.only_open => self.open(),
            (_, true) if filter.only_open => self.count(COUNT_OPEN, "", scope),
            (true, true) => self.count_in(COUNT_SCOPE, &self.places),
            (false, _) if !filter.types.is_empty() => each_once(&filter.types).map(|kind| self.count(COUNT_KIND, kind, scope)).sum(),
            (false, true) => self.count(COUNT, "", scope),
            (false, false) => self.shelf().total(),
        }
    }

    /// How many are open, of the kinds asked for.
    fn open(&self) -> Result<u64, StoreError> {
        let kinds =
            if self.filter.types.is_empty() { vec!["need", "question", "warning"] } else { each_once(&self.filter.types).collect() };
        Ok(tally::sum(self.parameters.conn, &kinds.into_iter().filter_map(Count::open).collect::<Vec<_>>())?)
    }

    fn count_in(&self, sql: &str, places: &[Place]) -> Result<u64, StoreError> {
        places.iter().map(|place| self.count(sql, "", place)).sum()
    }

    fn count(&self, sql: &str, one: &str, (from, to): &Place) -> Result<u64, StoreError> {
        let counted = self.parameters.rows(sql, &[(":one", &one), (":from", from), (":to", to)], |row| row.get::<_, i64>(0))?;
        Ok(counted.into_iter().sum::<i64>().cast_unsigned())
    }

    /// Where to search.
    pub fn shelf(&self) -> Shelf<'_> {
        let types = &self.filter.types;
        // A kind without letters is no word that the full-text index knows.
        let are_words = types.iter().all(|kind| kind.bytes().any(|byte| byte.is_ascii_alphanumeric()));
        let kinds: Vec<String> = each_once(types).map(quoted).collect();
        let narrowing = if types.is_empty() || !are_words { String::new() } else { format!(" AND kind : ({})", kinds.join(" OR ")) };
        let is_filtered = self.is_scoped || EntryFilter { scope: None, ..self.filter.clone() }.is_some();
        Shelf { parameters: &self.parameters, statements: &SEARCH, is_filtered, narrowing }
    }
}

fn each_once(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().enumerate().filter(|(i, word)| !words[..*i].contains(word)).map(|(_, word)| word.as_str())
}
