//! Which decisions pass a filter: the newest of them, how many, and how well each
//! fits a search.

use rusqlite::types::Value;
use twining_model::{Confidence, DecisionStatus, Scope, Time};

use super::catch_up::domain_key;
use super::decisions::Decisions;
use super::search::{QueryParameters, SearchStatements, WordSearch};
use super::tally::CountKind;
use super::view::{json_list, overlapping, row_limit};
use crate::error::StoreError;

/// Which decisions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionFilter {
    /// Of this domain, whatever its case.
    pub domain: Option<String>,
    /// Of any of these statuses; none means of all.
    pub statuses: Vec<DecisionStatus>,
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
        *self != Self::default()
    }
}

/// Sieve: which rows of `decision r` pass.
macro_rules! filter_sql {
    () => {
        " (:domain IS NULL OR r.domain_key = :domain)
        AND (:statuses IS NULL OR r.status IN (SELECT value FROM json_each(:statuses)))
        AND (:confidence IS NULL OR r.confidence = :confidence)
        AND (:made IS NULL OR r.at >= :made)
        AND ((r.scope_key >= :low AND r.scope_key < :high) OR r.scope_key IN (SELECT value FROM json_each(:covering))) "
    };
}

macro_rules! newest {
    ($along:literal) => {
        concat!(
            "SELECT r.at, r.id, r.num FROM decision r INDEXED BY ",
            $along,
            " AND r.at >= :since AND r.at < :before AND",
            filter_sql!(),
            "ORDER BY r.at DESC, r.id DESC LIMIT :limit"
        )
    };
}

const NEWEST: &str = newest!("decision_at WHERE 1");
const NEWEST_SCOPED: &[&str] = &[
    newest!("decision_scope WHERE r.scope_key >= :low AND r.scope_key < :high"),
    newest!("decision_scope WHERE r.scope_key IN (SELECT value FROM json_each(:covering))"),
];
const COUNT: &str = concat!("SELECT count(*) FROM decision r INDEXED BY decision_facets WHERE", filter_sql!());
const SEARCH: SearchStatements = SearchStatements {
    newest_rows: "SELECT rowid FROM decision_text WHERE decision_text MATCH :match ORDER BY rowid DESC LIMIT :limit",
    passing: concat!(
        "SELECT x.rowid FROM decision_text x CROSS JOIN decision r ON r.num = x.rowid WHERE decision_text MATCH :match AND",
        filter_sql!(),
        "ORDER BY x.rowid DESC LIMIT :limit"
    ),
    scored: concat!(
        "SELECT x.rowid, -bm25(decision_text, 2.0, 1.0, 0.5, 0.5)
        FROM decision_text x CROSS JOIN decision r ON r.num = x.rowid WHERE decision_text MATCH :match AND",
        filter_sql!()
    ),
    scored_any: "SELECT rowid, -bm25(decision_text, 2.0, 1.0, 0.5, 0.5) FROM decision_text WHERE decision_text MATCH :match",
    by_vector_keys: [
        concat!(
            "SELECT r.num FROM json_each(:names) n CROSS JOIN decision_line l ON l.meaning = n.value
            CROSS JOIN decision r ON r.num = l.num WHERE",
            filter_sql!()
        ),
        concat!(
            "SELECT r.num FROM json_each(:names) n CROSS JOIN decision_line l INDEXED BY decision_gist ON l.gist = n.value
            CROSS JOIN decision r ON r.num = l.num WHERE l.gist IS NOT NULL AND",
            filter_sql!()
        ),
    ],
    last: "SELECT coalesce(max(num), 0) FROM decision",
    counts: &[CountKind::Active, CountKind::Provisional, CountKind::Superseded, CountKind::Overridden],
    columns: "",
};

/// A filter, ready to be bound.
pub(super) struct DecisionQuery<'s> {
    parameters: QueryParameters<'s>,
    is_scoped: bool,
    is_filtered: bool,
}

impl<'s> DecisionQuery<'s> {
    /// A filter on the decisions of a view.
    pub fn new(decisions: &Decisions<'s>, filter: &DecisionFilter) -> Self {
        let DecisionFilter { domain, statuses, confidence, scope, since } = filter;
        let key = scope.as_ref().map(|scope| scope.key(decisions.folding)).unwrap_or_default();
        let ranges: Vec<(&str, Value)> = overlapping(&key).collect();
        let text = |text: Option<String>| text.map_or(Value::Null, Value::Text);
        let values = vec![
            (":domain", text(domain.as_deref().map(domain_key))),
            (":statuses", text((!statuses.is_empty()).then(|| json_list(statuses.iter().map(|status| status.as_str()))))),
            (":confidence", text(confidence.map(|confidence| confidence.as_str().to_owned()))),
            (":made", since.map_or(Value::Null, |since| Value::Integer(since.as_ms()))),
            (":low", Value::Text(key.clone())),
            (":high", ranges[0].1.clone()),
            (":covering", Value::Text(json_list(ranges[1..].iter().map(|(key, _)| key)))),
        ];
        let is_filtered = !key.is_empty() || DecisionFilter { scope: None, ..filter.clone() }.is_some();
        Self { parameters: QueryParameters { conn: decisions.conn, values }, is_scoped: !key.is_empty(), is_filtered }
    }

    /// The newest that pass, in a window of time.
    pub fn newest_within(&self, since: i64, before: i64, limit: usize) -> Result<Vec<i64>, StoreError> {
        let mut found: Vec<(i64, String, i64)> = Vec::new();
        for sql in if self.is_scoped { NEWEST_SCOPED } else { &[NEWEST] } {
            let window: [(&str, &dyn rusqlite::ToSql); 3] = [(":since", &since), (":before", &before), (":limit", &row_limit(limit))];
            found.extend(self.parameters.rows(sql, &window, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?);
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(limit);
        Ok(found.into_iter().map(|(_, _, num)| num).collect())
    }

    /// How many pass.
    pub fn total(&self) -> Result<u64, StoreError> {
        if !self.is_filtered {
            return self.word_search().total();
        }
        Ok(self.parameters.rows(COUNT, &[], |row| row.get::<_, i64>(0))?.into_iter().sum::<i64>().cast_unsigned())
    }

    /// Where to search.
    pub fn word_search(&self) -> WordSearch<'_> {
        WordSearch { parameters: &self.parameters, statements: &SEARCH, is_filtered: self.is_filtered, narrowing: String::new() }
    }
}
