//! Which entries pass a filter: the newest of them, how many, and how well each
//! fits a search.
//!
//! A page is walked along the index that fits the filter best, newest first, and
//! stops when it is full. Entries dated ahead of the clock come last: otherwise
//! one with a wrong date would stay on top for ever.

use rusqlite::types::Value;
use rusqlite::{Connection, Statement, named_params, params};
use twining_model::scope::covering_keys;
use twining_model::{Scope, Time};

use super::search::{COMMON, ENOUGH, Shelf, quoted};
use super::sense::name_list;
use super::tally::{self, Count, horizon};
use super::view::{Reach, first_column, json_list, row_limit};
use crate::error::StoreError;

/// Which entries.
#[derive(Clone, Debug, Default)]
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
        let Self { types, tags, scope, since, before, only_open } = self;
        !types.is_empty() || !tags.is_empty() || scope.is_some() || since.is_some() || before.is_some() || *only_open
    }
}

/// Sieve: which rows of `entry e` pass.
macro_rules! sieve {
    () => {
        " e.shadowed = 0 AND e.at >= :since AND e.at < :before
        AND (:kinds IS NULL OR e.kind IN (SELECT value FROM json_each(:kinds)))
        AND ((e.scope_key >= :low AND e.scope_key < :high) OR e.scope_key IN (SELECT value FROM json_each(:covering))) "
    };
}

macro_rules! newest_first {
    () => {
        " ORDER BY e.at DESC, e.pos DESC LIMIT :limit"
    };
}

const WALK: &str = concat!("SELECT e.at, e.pos FROM entry e INDEXED BY entry_at WHERE", sieve!(), newest_first!());
const WALK_KIND: &str = concat!("SELECT e.at, e.pos FROM entry e INDEXED BY entry_kind WHERE e.kind = :one AND", sieve!(), newest_first!());
const WALK_OPEN: &str = concat!("SELECT e.at, e.pos FROM entry e INDEXED BY entry_open WHERE e.open = 1 AND", sieve!(), newest_first!());
const WALK_TAG: &str = "
SELECT at, pos FROM tag WHERE tag = :one AND at >= :since AND at < :before
    AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))
ORDER BY at DESC, pos DESC LIMIT :limit";
const WALK_TAG_SIEVED: &str = concat!(
    "SELECT t.at, t.pos FROM tag t CROSS JOIN entry e ON e.pos = t.pos
    WHERE t.tag = :one AND t.at >= :since AND t.at < :before AND (:open = 0 OR e.open = 1) AND",
    sieve!(),
    " ORDER BY t.at DESC, t.pos DESC LIMIT :limit"
);
const GATHER_UNDER: &str = concat!(
    "SELECT e.at, e.pos FROM entry e INDEXED BY entry_scope WHERE e.scope_key >= :low AND e.scope_key < :high AND",
    sieve!(),
    newest_first!()
);
const GATHER_AT: &str =
    concat!("SELECT e.at, e.pos FROM entry e INDEXED BY entry_scope WHERE e.scope_key = :one AND", sieve!(), newest_first!());
// In their order for one kind and one place, so walked only as far as they are wanted.
const OPEN_UNDER: &str = concat!(
    "SELECT e.at, e.pos FROM entry e INDEXED BY entry_scope
    WHERE e.scope_key >= :low AND e.scope_key < :high AND e.kind = :one AND e.open = 1 AND",
    sieve!(),
    newest_first!()
);
const OPEN_AT: &str = concat!(
    "SELECT e.at, e.pos FROM entry e INDEXED BY entry_scope WHERE e.scope_key = :place AND e.kind = :one AND e.open = 1 AND",
    sieve!(),
    newest_first!()
);

const COUNT: &str = "SELECT count(*) FROM entry WHERE shadowed = 0 AND at >= :since AND at < :before";
const COUNT_KIND: &str = "SELECT count(*) FROM entry WHERE shadowed = 0 AND kind = :one AND at >= :since AND at < :before";
const COUNT_OPEN: &str = concat!("SELECT count(*) FROM entry e INDEXED BY entry_open WHERE e.open = 1 AND", sieve!());
const COUNT_TAG: &str = "
SELECT count(*) FROM tag WHERE tag = :one AND at >= :since AND at < :before
    AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))";
const TAGGED: &str = "
SELECT pos FROM tag WHERE tag = :one AND at >= :since AND at < :before
    AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))";
const TAGGED_SIEVED: &str = concat!(
    "SELECT t.pos FROM tag t CROSS JOIN entry e ON e.pos = t.pos
    WHERE t.tag = :one AND t.at >= :since AND t.at < :before AND (:open = 0 OR e.open = 1) AND",
    sieve!()
);
const COUNT_UNDER: &str =
    concat!("SELECT count(*) FROM entry e INDEXED BY entry_scope WHERE e.scope_key >= :low AND e.scope_key < :high AND", sieve!());
const COUNT_AT: &str = concat!("SELECT count(*) FROM entry e INDEXED BY entry_scope WHERE e.scope_key = :one AND", sieve!());

const CENSUS: &str = "
SELECT coalesce(sum(CASE WHEN :open THEN open ELSE n END), 0) FROM census
WHERE scope_key >= :low AND scope_key < :high AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))";
const CENSUS_AT: &str = "
SELECT coalesce(sum(CASE WHEN :open THEN open ELSE n END), 0) FROM census
WHERE scope_key = :one AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))";

const PASSING: &str = concat!(
    "SELECT x.rowid FROM entry_text x CROSS JOIN entry e ON e.pos = x.rowid
    WHERE entry_text MATCH :match AND (:tags IS NULL OR EXISTS(
        SELECT 1 FROM tag t WHERE t.tag IN (SELECT value FROM json_each(:tags)) AND t.at = e.at AND t.pos = e.pos))
    AND (:open = 0 OR e.open = 1) AND",
    sieve!(),
    " ORDER BY x.rowid DESC LIMIT :limit"
);
const SCORED: &str = concat!(
    "SELECT x.rowid, -bm25(entry_text, 2.0, 1.0, 0.5, 0.5, 0.0) FROM entry_text x CROSS JOIN entry e ON e.pos = x.rowid
    WHERE entry_text MATCH :match AND (:tags IS NULL OR EXISTS(
        SELECT 1 FROM tag t WHERE t.tag IN (SELECT value FROM json_each(:tags)) AND t.at = e.at AND t.pos = e.pos))
    AND (:open = 0 OR e.open = 1) AND",
    sieve!()
);
const SPREAD: &str = "SELECT rowid FROM entry_text WHERE entry_text MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
const SCORED_ANY: &str = "SELECT rowid, -bm25(entry_text, 2.0, 1.0, 0.5, 0.5, 0.0) FROM entry_text WHERE entry_text MATCH :match";
const OF_MEANING: &str = concat!(
    "SELECT e.pos FROM json_each(:names) n CROSS JOIN line l ON l.meaning = n.value CROSS JOIN entry e ON e.pos = l.pos
    WHERE (:tags IS NULL OR EXISTS(
        SELECT 1 FROM tag t WHERE t.tag IN (SELECT value FROM json_each(:tags)) AND t.at = e.at AND t.pos = e.pos))
    AND (:open = 0 OR e.open = 1) AND",
    sieve!()
);
const OF_GIST: &str = concat!(
    "SELECT e.pos FROM json_each(:names) n CROSS JOIN line l INDEXED BY line_gist ON l.gist = n.value
        CROSS JOIN entry e ON e.pos = l.pos
    WHERE l.gist IS NOT NULL AND (:tags IS NULL OR EXISTS(
        SELECT 1 FROM tag t WHERE t.tag IN (SELECT value FROM json_each(:tags)) AND t.at = e.at AND t.pos = e.pos))
    AND (:open = 0 OR e.open = 1) AND",
    sieve!()
);
const LAST_POS: &str = "SELECT coalesce(max(pos), 0) FROM entry";

/// Up to so many entries of a scope are sorted; above, the newest are walked
/// until enough of them lie in it.
const GATHER: u64 = 20_000;
/// The same for those that are open, which are fewer.
const GATHER_OPEN: u64 = 2_000;

/// Whether scopes that cover the asked one count as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// No.
    Not,
    /// Yes.
    Too,
}

/// A filter, ready to be bound.
pub(super) struct Sieve<'s> {
    conn: &'s Connection,
    now: Time,
    filter: &'s EntryFilter,
    kinds: Option<String>,
    tags: Option<String>,
    reach: Reach,
    covering: Vec<String>,
    is_scoped: bool,
}

impl<'s> Sieve<'s> {
    /// A filter on the entries whose scope lies under `key`.
    pub fn new(conn: &'s Connection, now: Time, filter: &'s EntryFilter, key: &str, around: Around) -> Self {
        let is_scoped = !key.is_empty();
        let covering =
            if around == Around::Too && is_scoped { covering_keys(key).skip(1).map(str::to_owned).collect() } else { Vec::new() };
        Self {
            conn,
            now,
            filter,
            kinds: (!filter.types.is_empty()).then(|| json_list(&filter.types)),
            tags: (!filter.tags.is_empty()).then(|| json_list(&filter.tags)),
            reach: Reach::under(key),
            covering,
            is_scoped,
        }
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
        let filter = self.filter;
        if !filter.tags.is_empty() {
            let sql = if self.is_scoped || filter.only_open { WALK_TAG_SIEVED } else { WALK_TAG };
            for tag in each_once(&filter.tags) {
                found.extend(self.rows(sql, tag, since, before, limit)?);
            }
        } else if filter.only_open {
            match filter.types.as_slice() {
                [kind] if self.is_scoped && self.under()? <= GATHER_OPEN => {
                    found = self.rows(OPEN_UNDER, kind, since, before, limit)?;
                    for key in &self.covering {
                        found.extend(self.rows_at(OPEN_AT, key, kind, (since, before), limit)?);
                    }
                }
                _ => found = self.rows(WALK_OPEN, "", since, before, limit)?,
            }
        } else if self.is_scoped && self.in_scope()? <= GATHER {
            found = self.rows(GATHER_UNDER, "", since, before, limit)?;
            for key in &self.covering {
                found.extend(self.rows(GATHER_AT, key, since, before, limit)?);
            }
        } else if filter.types.is_empty() {
            found = self.rows(WALK, "", since, before, limit)?;
        } else {
            for kind in each_once(&filter.types) {
                found.extend(self.rows(WALK_KIND, kind, since, before, limit)?);
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        found.truncate(limit);
        Ok(found)
    }

    fn rows(&self, sql: &str, one: &str, since: i64, before: i64, limit: usize) -> Result<Vec<(i64, i64)>, StoreError> {
        self.rows_at(sql, "", one, (since, before), limit)
    }

    fn rows_at(&self, sql: &str, place: &str, one: &str, window: (i64, i64), limit: usize) -> Result<Vec<(i64, i64)>, StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        self.bind(&mut statement, one, window)?;
        bind_if_used(&mut statement, ":place", place)?;
        bind_if_used(&mut statement, ":limit", row_limit(limit))?;
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, row.get(1)?));
        }
        Ok(found)
    }

    /// How many pass.
    pub fn total(&self) -> Result<u64, StoreError> {
        let filter = self.filter;
        let timed = filter.since.is_some() || filter.before.is_some();
        match filter.tags.as_slice() {
            [] => {}
            [tag] if !self.is_scoped && !filter.only_open => return self.count(COUNT_TAG, tag),
            _ => return self.tagged(),
        }
        match (self.is_scoped, timed) {
            (true, false) => self.census(self.kinds.as_deref(), filter.only_open),
            (false, false) if filter.only_open => self.open(),
            (_, true) if filter.only_open => self.count(COUNT_OPEN, ""),
            (true, true) => {
                let mut total = self.count(COUNT_UNDER, "")?;
                for key in &self.covering {
                    total += self.count(COUNT_AT, key)?;
                }
                Ok(total)
            }
            (false, _) if !filter.types.is_empty() => each_once(&filter.types).map(|kind| self.count(COUNT_KIND, kind)).sum(),
            (false, true) => self.count(COUNT, ""),
            (false, false) => Ok(tally::count(self.conn, Count::Entries)?),
        }
    }

    /// How many have any of the tags; an entry may have several.
    fn tagged(&self) -> Result<u64, StoreError> {
        let sql = if self.is_scoped || self.filter.only_open { TAGGED_SIEVED } else { TAGGED };
        let mut positions: Vec<i64> = Vec::new();
        for tag in each_once(&self.filter.tags) {
            let mut statement = self.conn.prepare_cached(sql)?;
            self.bind(&mut statement, tag, self.window())?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                positions.push(row.get(0)?);
            }
        }
        positions.sort_unstable();
        positions.dedup();
        Ok(positions.len() as u64)
    }

    /// How many are open, of the kinds asked for.
    fn open(&self) -> Result<u64, StoreError> {
        let kinds =
            if self.filter.types.is_empty() { vec!["need", "question", "warning"] } else { each_once(&self.filter.types).collect() };
        let counts = kinds.into_iter().filter_map(Count::open);
        counts.map(|count| Ok(tally::count(self.conn, count)?)).sum()
    }

    fn count(&self, sql: &str, one: &str) -> Result<u64, StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        self.bind(&mut statement, one, self.window())?;
        let mut rows = statement.raw_query();
        let n: i64 = rows.next()?.map_or(Ok(0), |row| row.get(0))?;
        Ok(n.cast_unsigned())
    }

    /// How many lie in the scope, of any kind.
    fn in_scope(&self) -> Result<u64, StoreError> {
        self.census(None, false)
    }

    /// How many lie under the scope, of any kind.
    fn under(&self) -> Result<u64, StoreError> {
        Ok(self.census_under(None, false)?.cast_unsigned())
    }

    fn census_under(&self, kinds: Option<&str>, open: bool) -> Result<i64, StoreError> {
        let under = named_params! {":low": self.reach.low, ":high": self.reach.high, ":kinds": kinds, ":open": open};
        Ok(self.conn.prepare_cached(CENSUS)?.query_row(under, |row| row.get(0))?)
    }

    fn census(&self, kinds: Option<&str>, open: bool) -> Result<u64, StoreError> {
        let mut total = self.census_under(kinds, open)?;
        let mut at = self.conn.prepare_cached(CENSUS_AT)?;
        for key in &self.covering {
            total += at.query_row(named_params! {":one": key, ":kinds": kinds, ":open": open}, |row| row.get::<_, i64>(0))?;
        }
        Ok(total.cast_unsigned())
    }

    /// Those whose text or whose summary has one of these names.
    pub fn of_meaning(&self, names: &[u64]) -> Result<Vec<i64>, StoreError> {
        let mut found = Vec::new();
        let names = name_list(names);
        for sql in [OF_MEANING, OF_GIST] {
            let mut statement = self.conn.prepare_cached(sql)?;
            self.bind(&mut statement, "", self.window())?;
            bind_if_used(&mut statement, ":names", &names)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                found.push(row.get(0)?);
            }
        }
        Ok(found)
    }

    fn bind(&self, statement: &mut Statement<'_>, one: &str, (since, before): (i64, i64)) -> Result<(), StoreError> {
        let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
        let values = [
            (":one", Value::Text(one.to_owned())),
            (":since", Value::Integer(since)),
            (":before", Value::Integer(before)),
            (":kinds", text(&self.kinds)),
            (":tags", text(&self.tags)),
            (":open", Value::Integer(i64::from(self.filter.only_open))),
            (":low", Value::Text(self.reach.low.clone())),
            (":high", self.reach.high.clone()),
            (":covering", Value::Text(json_list(&self.covering))),
        ];
        for (name, value) in values {
            bind_if_used(statement, name, value)?;
        }
        Ok(())
    }

    /// The term where an entry is of the right kind: the sieve would find that out
    /// row by row, the full-text index knows. It may let too much pass, as the
    /// sieve comes after it; so it is left out where it could let too little.
    fn narrowed(&self, term: &str) -> String {
        let known = |kind: &String| kind.bytes().any(|byte| byte.is_ascii_alphanumeric());
        if self.filter.types.is_empty() || !self.filter.types.iter().all(known) {
            return in_words(term);
        }
        let kinds: Vec<String> = each_once(&self.filter.types).map(quoted).collect();
        format!("{} AND kind : ({})", in_words(term), kinds.join(" OR "))
    }

    fn is_empty(&self) -> bool {
        let EntryFilter { types, tags, scope: _, since, before, only_open } = self.filter;
        types.is_empty() && tags.is_empty() && since.is_none() && before.is_none() && !only_open && !self.is_scoped
    }
}

impl Shelf for Sieve<'_> {
    fn spread(&self, term: &str) -> Result<Vec<i64>, StoreError> {
        first_column(self.conn, SPREAD, params![in_words(term), row_limit(COMMON + 1)])
    }

    fn passing(&self, term: &str, spread: Vec<i64>) -> Result<Vec<i64>, StoreError> {
        if self.is_empty() {
            return Ok(spread);
        }
        let mut statement = self.conn.prepare_cached(PASSING)?;
        self.bind(&mut statement, "", self.window())?;
        bind_if_used(&mut statement, ":match", self.narrowed(term))?;
        bind_if_used(&mut statement, ":limit", row_limit(ENOUGH))?;
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(row.get(0)?);
        }
        Ok(found)
    }

    fn scored(&self, term: &str) -> Result<Vec<(i64, f64)>, StoreError> {
        let mut statement = self.conn.prepare_cached(if self.is_empty() { SCORED_ANY } else { SCORED })?;
        self.bind(&mut statement, "", self.window())?;
        bind_if_used(&mut statement, ":match", in_words(term))?;
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((row.get(0)?, row.get(1)?));
        }
        Ok(found)
    }

    fn extent(&self) -> Result<(u64, i64), StoreError> {
        let total = tally::count(self.conn, Count::Entries)?;
        Ok((total, self.conn.prepare_cached(LAST_POS)?.query_row([], |row| row.get(0))?))
    }
}

/// The term in an entry's words, and not in the name of its kind.
fn in_words(term: &str) -> String {
    format!("{{summary detail tags paths}} : {term}")
}

/// Each statement uses some of the sieve's parameters.
fn bind_if_used(statement: &mut Statement<'_>, name: &str, value: impl rusqlite::ToSql) -> Result<(), StoreError> {
    if let Some(at) = statement.parameter_index(name)? {
        statement.raw_bind_parameter(at, value)?;
    }
    Ok(())
}

fn each_once(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().enumerate().filter(|(i, word)| !words[..*i].contains(word)).map(|(_, word)| word.as_str())
}
