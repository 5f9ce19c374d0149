//! Which decisions pass a filter: the newest of them, how many, and how well each
//! fits a search.

use rusqlite::{Connection, Row as SqlRow, named_params, params};
use twining_model::scope::covering_keys;
use twining_model::{Confidence, Scope, Status, Time};

use super::catch_up::domain_key;
use super::decisions::{Decisions, EVERY_STATUS};
use super::search::{COMMON, ENOUGH, Shelf};
use super::sense;
use super::tally::{self, Count};
use super::view::{Reach, first_column, json_list, row_limit};
use crate::error::StoreError;

/// Which decisions.
#[derive(Clone, Debug, Default)]
pub struct DecisionFilter {
    /// Of this domain, whatever its case.
    pub domain: Option<String>,
    /// Of any of these statuses; none means of all.
    pub statuses: Vec<Status>,
    /// Of this confidence.
    pub confidence: Option<Confidence>,
    /// Whose scope overlaps this one.
    pub scope: Option<Scope>,
    /// Not made before this time.
    pub since: Option<Time>,
}

impl DecisionFilter {
    /// Whether it keeps anything out.
    #[must_use]
    pub fn is_some(&self) -> bool {
        let Self { domain, statuses, confidence, scope, since } = self;
        domain.is_some() || !statuses.is_empty() || confidence.is_some() || scope.is_some() || since.is_some()
    }
}

/// Sieve: which rows of `decision d` pass.
macro_rules! sieve {
    () => {
        " (:domain IS NULL OR d.domain_key = :domain)
        AND (:statuses IS NULL OR d.status IN (SELECT value FROM json_each(:statuses)))
        AND (:confidence IS NULL OR d.confidence = :confidence)
        AND (:made IS NULL OR d.at >= :made)
        AND ((d.scope_key >= :low AND d.scope_key < :high) OR d.scope_key IN (SELECT value FROM json_each(:covering))) "
    };
}

const NEWEST: &str = concat!(
    "SELECT d.at, d.id, d.num FROM decision d INDEXED BY decision_at WHERE d.at >= :since AND d.at < :before AND",
    sieve!(),
    "ORDER BY d.at DESC, d.id DESC LIMIT :limit"
);
const NEWEST_UNDER: &str = concat!(
    "SELECT d.at, d.id, d.num FROM decision d INDEXED BY decision_scope
    WHERE d.scope_key >= :low AND d.scope_key < :high AND d.at >= :since AND d.at < :before AND",
    sieve!(),
    "ORDER BY d.at DESC, d.id DESC LIMIT :limit"
);
const NEWEST_COVERING: &str = concat!(
    "SELECT d.at, d.id, d.num FROM decision d INDEXED BY decision_scope
    WHERE d.scope_key IN (SELECT value FROM json_each(:covering)) AND d.at >= :since AND d.at < :before AND",
    sieve!(),
    "ORDER BY d.at DESC, d.id DESC LIMIT :limit"
);
const COUNT: &str = concat!("SELECT count(*) FROM decision d INDEXED BY decision_facets WHERE", sieve!());
const PASSING: &str = concat!(
    "SELECT x.rowid FROM decision_text x CROSS JOIN decision d ON d.num = x.rowid WHERE decision_text MATCH :match AND",
    sieve!(),
    "ORDER BY x.rowid DESC LIMIT :limit"
);
const SCORED: &str = concat!(
    "SELECT x.rowid, -bm25(decision_text, 2.0, 1.0, 0.5, 0.5)
    FROM decision_text x CROSS JOIN decision d ON d.num = x.rowid WHERE decision_text MATCH :match AND",
    sieve!()
);
const SCORED_ANY: &str = "SELECT rowid, -bm25(decision_text, 2.0, 1.0, 0.5, 0.5) FROM decision_text WHERE decision_text MATCH ?1";
const SPREAD: &str = "SELECT rowid FROM decision_text WHERE decision_text MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
const OF_MEANING: &str = concat!(
    "SELECT d.num FROM json_each(:names) n CROSS JOIN decision_line l ON l.meaning = n.value
    CROSS JOIN decision d ON d.num = l.num WHERE",
    sieve!()
);
const OF_GIST: &str = concat!(
    "SELECT d.num FROM json_each(:names) n CROSS JOIN decision_line l INDEXED BY decision_gist ON l.gist = n.value
    CROSS JOIN decision d ON d.num = l.num WHERE l.gist IS NOT NULL AND",
    sieve!()
);
const LAST: &str = "SELECT coalesce(max(num), 0) FROM decision";

/// A filter, ready to be bound.
pub(super) struct Sieve<'s> {
    conn: &'s Connection,
    domain: Option<String>,
    statuses: Option<String>,
    confidence: Option<&'static str>,
    made: Option<i64>,
    reach: Reach,
    covering: String,
    is_scoped: bool,
    is_empty: bool,
}

impl<'s> Sieve<'s> {
    /// A filter on the decisions of a view.
    pub fn new(decisions: &Decisions<'s>, filter: &DecisionFilter) -> Self {
        let DecisionFilter { domain, statuses, confidence, scope, since } = filter;
        let key = scope.as_ref().map(|scope| scope.key(decisions.folding)).unwrap_or_default();
        Self {
            conn: decisions.conn,
            domain: domain.as_deref().map(domain_key),
            statuses: (!statuses.is_empty()).then(|| json_list(statuses.iter().map(|status| status.as_str()))),
            confidence: confidence.map(Confidence::as_str),
            made: since.map(Time::as_ms),
            reach: Reach::under(&key),
            covering: json_list(covering_keys(&key).skip(1)),
            is_scoped: !key.is_empty(),
            is_empty: domain.is_none() && statuses.is_empty() && confidence.is_none() && key.is_empty() && since.is_none(),
        }
    }

    /// The newest that pass, in a window of time.
    pub fn newest_within(&self, since: i64, before: i64, limit: usize) -> Result<Vec<i64>, StoreError> {
        let mut found: Vec<(i64, String, i64)> = Vec::new();
        for sql in if self.is_scoped { &[NEWEST_UNDER, NEWEST_COVERING][..] } else { &[NEWEST][..] } {
            let mut statement = self.conn.prepare_cached(sql)?;
            let params = named_params! {
                ":since": since, ":before": before, ":limit": row_limit(limit),
                ":domain": self.domain, ":statuses": self.statuses, ":confidence": self.confidence, ":made": self.made,
                ":low": self.reach.low, ":high": self.reach.high, ":covering": self.covering,
            };
            found.extend(statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect::<Result<Vec<_>, _>>()?);
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(limit);
        Ok(found.into_iter().map(|(_, _, num)| num).collect())
    }

    /// Those whose text or whose summary has one of these names.
    pub fn of_meaning(&self, names: &[u64]) -> Result<Vec<i64>, StoreError> {
        let mut found = Vec::new();
        let names = sense::name_list(names);
        for sql in [OF_MEANING, OF_GIST] {
            let params = named_params! {
                ":names": names,
                ":domain": self.domain, ":statuses": self.statuses, ":confidence": self.confidence, ":made": self.made,
                ":low": self.reach.low, ":high": self.reach.high, ":covering": self.covering,
            };
            found.extend(first_column::<i64>(self.conn, sql, params)?);
        }
        Ok(found)
    }

    /// How many pass.
    pub fn total(&self) -> Result<u64, StoreError> {
        if self.is_empty {
            return every(self.conn);
        }
        let n: i64 = self.conn.prepare_cached(COUNT)?.query_row(
            named_params! {
                ":domain": self.domain, ":statuses": self.statuses, ":confidence": self.confidence, ":made": self.made,
                ":low": self.reach.low, ":high": self.reach.high, ":covering": self.covering,
            },
            |row| row.get(0),
        )?;
        Ok(n.cast_unsigned())
    }
}

impl Shelf for Sieve<'_> {
    fn spread(&self, term: &str) -> Result<Vec<i64>, StoreError> {
        first_column(self.conn, SPREAD, params![term, row_limit(COMMON + 1)])
    }

    fn passing(&self, term: &str, spread: Vec<i64>) -> Result<Vec<i64>, StoreError> {
        if self.is_empty {
            return Ok(spread);
        }
        first_column(
            self.conn,
            PASSING,
            named_params! {
                ":match": term, ":limit": row_limit(ENOUGH),
                ":domain": self.domain, ":statuses": self.statuses, ":confidence": self.confidence, ":made": self.made,
                ":low": self.reach.low, ":high": self.reach.high, ":covering": self.covering,
            },
        )
    }

    fn scored(&self, term: &str) -> Result<Vec<(i64, f64)>, StoreError> {
        let read = |row: &SqlRow<'_>| Ok((row.get(0)?, row.get(1)?));
        if self.is_empty {
            return Ok(self.conn.prepare_cached(SCORED_ANY)?.query_map([term], read)?.collect::<Result<_, _>>()?);
        }
        let mut statement = self.conn.prepare_cached(SCORED)?;
        let params = named_params! {
            ":match": term,
            ":domain": self.domain, ":statuses": self.statuses, ":confidence": self.confidence, ":made": self.made,
            ":low": self.reach.low, ":high": self.reach.high, ":covering": self.covering,
        };
        Ok(statement.query_map(params, read)?.collect::<Result<_, _>>()?)
    }

    fn extent(&self) -> Result<(u64, i64), StoreError> {
        Ok((every(self.conn)?, self.conn.prepare_cached(LAST)?.query_row([], |row| row.get(0))?))
    }
}

fn every(conn: &Connection) -> Result<u64, StoreError> {
    let mut total = 0;
    for status in EVERY_STATUS {
        total += tally::count(conn, Count::of(status))?;
    }
    Ok(total)
}
