//! Reading the decisions.

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use twining_model::scope::CaseFolding;
use twining_model::{
    Confidence, Decision, DecisionStatus, GENERAL_DOMAIN, Id, Scope, Time, limits,
};

use super::catch_up::{domain_key, file_state};
use super::embeddings;
use super::embeddings::{RecordHeader, RowId, VectorKeys, agent_key};
use super::view::{CountKind, horizon};
use super::view::{
    Page, corrupt, first_column, json_list, load, overlapping, records, row_limit, text_at,
};
use super::word_search::{QueryParameters, SearchStatements, Term, WordSearch, quoted};
use crate::error::StoreError;
use crate::log::store_files::StoreFiles;

/// The decisions, as of one moment.
pub struct Decisions<'v> {
    pub(super) conn: &'v Connection,
    pub(super) now: Time,
    pub(super) folding: CaseFolding,
}

/// A decision in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionTitle {
    /// Its choice.
    pub summary: String,
    /// Its status, as the index has it.
    pub status: String,
    /// Its scope.
    pub scope: String,
}

const GET: &str =
    "SELECT l.raw, l.sum FROM decision d JOIN decision_line l ON l.num = d.num WHERE d.id = ?1";
const AT: &str = "SELECT raw, sum FROM decision_line WHERE num = ?1";
const TITLE: &str = "SELECT summary, status, scope FROM decision WHERE id = ?1";
const BEGINNING: &str = "SELECT id FROM decision WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
const EXISTS: &str = "SELECT EXISTS(SELECT 1 FROM decision WHERE id = ?1)";
const RIVALS: &str = "
SELECT num FROM decision INDEXED BY decision_facets
WHERE domain_key = ?1 AND status = 'active' AND scope_key BETWEEN ?2 AND ?3";
const CONTESTING: &str = "
SELECT id, summary, compatible FROM decision INDEXED BY decision_facets
WHERE domain_key = ?1 AND status = ?2 AND scope_key BETWEEN ?3 AND ?4";
const DEPENDENTS: &str = "SELECT d.id FROM dependency r JOIN decision d ON d.num = r.num WHERE r.target = ?1 ORDER BY d.id";
const SUCCESSORS: &str = "SELECT id FROM decision WHERE supersedes = ?1 ORDER BY id";
const COMMITS: &str = "
SELECT c.hash, d.id FROM decision_commit c JOIN decision d ON d.num = c.num
WHERE c.folded BETWEEN ?1 AND ?2 ORDER BY c.folded, d.id";
const COUNT_STALE: &str =
    "SELECT count(*) FROM decision WHERE status = 'provisional' AND touched < ?1";
const TOUCHED: &str = "SELECT touched, num FROM decision WHERE status = ?1 AND touched >= ?2 ORDER BY touched DESC LIMIT ?3";
const COUNT_TOUCHED: &str = "SELECT count(*) FROM decision WHERE status = ?1 AND touched >= ?2";
const CONTAINING_TEXT: &str =
    "SELECT num FROM decision_line WHERE CAST(raw AS TEXT) LIKE ?1 ORDER BY num LIMIT 2000";
const CARD: &str = "SELECT text_vector, summary_vector, agent FROM decision_line WHERE num = ?1";
const SENSES: &str = "SELECT num, text_vector, summary_vector FROM decision_line WHERE num > ?1 ORDER BY num LIMIT ?2";

/// Every status there is.
pub(super) const EVERY_STATUS: [DecisionStatus; 4] = [
    DecisionStatus::Active,
    DecisionStatus::Provisional,
    DecisionStatus::Superseded,
    DecisionStatus::Overridden,
];
/// A shorter hash would name too many commits.
const HASH_CHARS: usize = 4;

impl Decisions<'_> {
    /// Everything after this is dated ahead.
    pub(super) fn horizon(&self) -> i64 {
        horizon(self.now)
    }

    /// The decision with this id.
    pub fn get(&self, id: &Id) -> Result<Option<Decision>, StoreError> {
        Ok(records(self.conn, GET, [id.as_str()])?.pop())
    }

    /// Whether the files of all these are as they were when they were read.
    pub(crate) fn are_files_unchanged(
        &self,
        ids: &[Id],
        files: &StoreFiles,
    ) -> Result<bool, StoreError> {
        for id in ids {
            if file_state(self.conn, id)?
                .is_none_or(|known| files.decision_fingerprint(id).ok().flatten() != Some(known))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns decisions of any status that may contain this text; `_` matches any one character.
    /// Scans all of them: for callers that keep the answer.
    pub fn containing_text(&self, words: &str) -> Result<Vec<Decision>, StoreError> {
        self.load(&first_column(self.conn, CONTAINING_TEXT, [format!("%{words}%")])?)
    }

    /// What the decision with this id is called, where, and whether it holds; the record is not
    /// read.
    pub fn title(&self, id: &str) -> Result<Option<DecisionTitle>, StoreError> {
        let mut statement = self.conn.prepare_cached(TITLE)?;
        let mut rows = statement.query([id])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(DecisionTitle { summary: row.get(0)?, status: row.get(1)?, scope: row.get(2)? }))
    }

    /// Whether there is such a decision.
    pub fn exists(&self, id: &Id) -> Result<bool, StoreError> {
        Ok(self.conn.prepare_cached(EXISTS)?.query_row([id.as_str()], |row| row.get(0))?)
    }

    /// The first `limit` decisions whose id begins so.
    pub fn with_id_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Id>, StoreError> {
        let prefix = prefix.to_ascii_uppercase();
        // Nothing in an id sorts after this.
        let (low, high) = (prefix.as_str(), format!("{prefix}~"));
        ids(&first_column::<String>(self.conn, BEGINNING, params![low, high, row_limit(limit)])?)
    }

    /// Active decisions of the same domain whose scope overlaps, ordered by id. The general
    /// domain has none.
    pub fn rivals(&self, domain: &str, scope: &Scope) -> Result<Vec<Decision>, StoreError> {
        let (domain, key) = (domain_key(domain), scope.key(self.folding));
        if domain == GENERAL_DOMAIN {
            return Ok(Vec::new());
        }
        let mut nums: Vec<i64> = Vec::new();
        for (from, to) in overlapping(&key) {
            nums.extend(first_column::<i64>(self.conn, RIVALS, params![domain, from, to])?);
        }
        let mut rivals = self.load(&nums)?;
        rivals.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        Ok(rivals)
    }

    /// The first `limit` decisions of these statuses that contest this one.
    /// Ordered by nothing but the index, so a limit is cheap.
    pub fn contesters(
        &self,
        of: &Decision,
        statuses: &[DecisionStatus],
        limit: usize,
    ) -> Result<Vec<Id>, StoreError> {
        let (domain, key) = (domain_key(&of.domain), Scope::read(&of.scope).key(self.folding));
        if domain == GENERAL_DOMAIN {
            return Ok(Vec::new());
        }
        let mut statement = self.conn.prepare_cached(CONTESTING)?;
        let mut found: Vec<Id> = Vec::new();
        for status in statuses.iter().map(|status| status.as_str()) {
            for (from, to) in overlapping(&key) {
                let mut rows = statement.query(params![domain, status, from, to])?;
                while found.len() < limit
                    && let Some(row) = rows.next()?
                {
                    if contests(of, text_at(row, 0)?, text_at(row, 1)?, text_at(row, 2)?) {
                        found.push(parse_id(text_at(row, 0)?)?);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Decisions that rest on this one.
    pub fn dependents(&self, id: &Id) -> Result<Vec<Id>, StoreError> {
        ids(&first_column::<String>(self.conn, DEPENDENTS, [id.as_str()])?)
    }

    /// Decisions that say they replace this one.
    pub fn successors(&self, id: &Id) -> Result<Vec<Id>, StoreError> {
        ids(&first_column::<String>(self.conn, SUCCESSORS, [id.as_str()])?)
    }

    /// Decisions linked to a commit, by any part of its hash from the front;
    /// with the hash as it was given when it was linked.
    pub fn by_commit(&self, prefix: &str) -> Result<Vec<(String, Id)>, StoreError> {
        let prefix = prefix.trim().to_ascii_lowercase();
        if prefix.is_empty() {
            return Ok(Vec::new());
        }
        // Someone may have linked by a short hash what is now asked for by the long one.
        let shorter = (HASH_CHARS..prefix.len().min(limits::ELEMENT_BYTES))
            .filter_map(|end| prefix.get(..end));
        let ranges = shorter
            .map(|hash| (hash, hash.to_owned()))
            .chain([(prefix.as_str(), format!("{prefix}\u{10FFFF}"))]);
        let (mut statement, mut found) = (self.conn.prepare_cached(COMMITS)?, Vec::new());
        for (from, to) in ranges {
            let mut rows = statement.query([from, &to])?;
            while let Some(row) = rows.next()? {
                found.push((row.get(0)?, parse_id(text_at(row, 1)?)?));
            }
        }
        Ok(found)
    }

    /// Returns those that contain one of the words, best first, with their BM25.
    pub fn by_words(
        &self,
        terms: &[Term],
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Vec<(RowId, f64)>, StoreError> {
        DecisionQuery::new(self, filter).word_search().rank(terms, limit)
    }

    /// Those that pass the filter and whose text, or whose summary, has one of these names.
    pub fn by_vector_keys(
        &self,
        names: &[u64],
        filter: &DecisionFilter,
    ) -> Result<Vec<RowId>, StoreError> {
        DecisionQuery::new(self, filter).word_search().by_vector_keys(names)
    }

    /// What is known of one without reading it, if there is something in this row.
    pub fn header(&self, row: RowId) -> Result<Option<RecordHeader>, StoreError> {
        embeddings::header(self.conn, CARD, row)
    }

    /// The one in this row.
    pub fn at_row(&self, row: RowId) -> Result<Decision, StoreError> {
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

    /// The newest that pass the filter; those dated ahead of the clock last.
    pub fn page(
        &self,
        filter: &DecisionFilter,
        limit: usize,
    ) -> Result<Page<Decision>, StoreError> {
        self.page_from(filter, 0, limit)
    }

    /// The same without the first `offset`.
    pub fn page_from(
        &self,
        filter: &DecisionFilter,
        offset: usize,
        limit: usize,
    ) -> Result<Page<Decision>, StoreError> {
        let query = DecisionQuery::new(self, filter);
        let ahead = horizon(self.now).saturating_add(1);
        let wanted = offset.saturating_add(limit);
        let mut nums = query.newest_within(i64::MIN, ahead, wanted)?;
        if nums.len() < wanted {
            nums.extend(query.newest_within(ahead, i64::MAX, wanted - nums.len())?);
        }
        let nums = nums.get(offset..).unwrap_or_default();
        Ok(Page { items: self.load(nums)?, total: query.total()? })
    }

    /// Those made or changed since that time, the newest change first; of very
    /// many the first of each status, and how many in all.
    pub fn touched_since(&self, since: Time) -> Result<Page<Decision>, StoreError> {
        let mut found: Vec<(i64, i64)> = Vec::new();
        let mut total = 0;
        for status in EVERY_STATUS.map(DecisionStatus::as_str) {
            total += self
                .conn
                .prepare_cached(COUNT_TOUCHED)?
                .query_row(params![status, since.as_ms()], |row| row.get::<_, i64>(0))?;
            let mut statement = self.conn.prepare_cached(TOUCHED)?;
            let rows = statement
                .query_map(params![status, since.as_ms(), row_limit(limits::PAGE)], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            found.extend(rows.collect::<Result<Vec<_>, _>>()?);
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let nums: Vec<i64> = found.into_iter().map(|(_, num)| num).collect();
        Ok(Page { items: self.load(&nums)?, total: total.cast_unsigned() })
    }

    /// How many are provisional since before that time.
    pub fn stale_provisional(&self, before: Time) -> Result<u64, StoreError> {
        let total: i64 =
            self.conn.prepare_cached(COUNT_STALE)?.query_row([before.as_ms()], |row| row.get(0))?;
        Ok(total.cast_unsigned())
    }

    pub(super) fn load(&self, nums: &[i64]) -> Result<Vec<Decision>, StoreError> {
        load(self.conn, AT, nums)
    }
}

fn ids(texts: &[String]) -> Result<Vec<Id>, StoreError> {
    texts.iter().map(|text| parse_id(text)).collect()
}

pub(super) fn parse_id(text: &str) -> Result<Id, StoreError> {
    Id::read(text).ok_or_else(|| corrupt("a row with an invalid id"))
}

/// Whether one that overlaps says something else, and nobody agreed to that. Summaries that differ
/// in white space alone say the same.
fn contests(of: &Decision, id: &str, summary: &str, compatible: &str) -> bool {
    id != of.id.as_str()
        && !summary.split_whitespace().eq(of.summary.split_whitespace())
        && !of.compatible_with.iter().any(|other| other == id)
        && !compatible.contains(of.id.as_str())
}

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
    /// Made by this agent, whatever the case of its name.
    pub author: Option<String>,
    /// With all of these words in their text; none means with any.
    pub words: Vec<Term>,
    /// Only these.
    pub ids: Option<Vec<Id>>,
    /// None of these.
    pub except: Vec<Id>,
}

impl DecisionFilter {
    /// Whether it keeps anything out.
    #[must_use]
    pub fn is_some(&self) -> bool {
        *self != Self::default()
    }
}

fn listed(ids: &[Id]) -> String {
    json_list(ids.iter().map(Id::as_str))
}

/// What the full-text index is asked for: every one of these words.
fn all_of(words: &[Term]) -> String {
    words.iter().map(|term| quoted(&term.text)).collect::<Vec<_>>().join(" AND ")
}

/// Sieve: which rows of `decision r` pass.
macro_rules! filter_sql {
    () => {
        " (:domain IS NULL OR r.domain_key = :domain)
        AND (:statuses IS NULL OR r.status IN (SELECT value FROM json_each(:statuses)))
        AND (:confidence IS NULL OR r.confidence = :confidence)
        AND (:made IS NULL OR r.at >= :made)
        AND (:author IS NULL OR :author = (SELECT l.agent FROM decision_line l WHERE l.num = r.num))
        AND (:words IS NULL OR r.num IN (SELECT rowid FROM decision_text WHERE decision_text MATCH :words))
        AND (:ids IS NULL OR r.id IN (SELECT value FROM json_each(:ids)))
        AND (:except IS NULL OR r.id NOT IN (SELECT value FROM json_each(:except)))
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
const COUNT: &str =
    concat!("SELECT count(*) FROM decision r INDEXED BY decision_facets WHERE", filter_sql!());
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
            "SELECT r.num FROM json_each(:names) n CROSS JOIN decision_line l ON l.text_vector = n.value
            CROSS JOIN decision r ON r.num = l.num WHERE",
            filter_sql!()
        ),
        concat!(
            "SELECT r.num FROM json_each(:names) n CROSS JOIN decision_line l INDEXED BY decision_summary_vector ON l.summary_vector = n.value
            CROSS JOIN decision r ON r.num = l.num WHERE l.summary_vector IS NOT NULL AND",
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
    pub(super) fn new(decisions: &Decisions<'s>, filter: &DecisionFilter) -> Self {
        let DecisionFilter {
            domain,
            statuses,
            confidence,
            scope,
            since,
            author,
            words,
            ids,
            except,
        } = filter;
        let key = scope.as_ref().map(|scope| scope.key(decisions.folding)).unwrap_or_default();
        let ranges: Vec<(&str, Value)> = overlapping(&key).collect();
        let text = |text: Option<String>| text.map_or(Value::Null, Value::Text);
        let values = vec![
            (":domain", text(domain.as_deref().map(domain_key))),
            (
                ":statuses",
                text(
                    (!statuses.is_empty())
                        .then(|| json_list(statuses.iter().map(|status| status.as_str()))),
                ),
            ),
            (":confidence", text(confidence.map(|confidence| confidence.as_str().to_owned()))),
            (":made", since.map_or(Value::Null, |since| Value::Integer(since.as_ms()))),
            (":author", text(author.as_deref().map(agent_key))),
            (":words", text((!words.is_empty()).then(|| all_of(words)))),
            (":ids", text(ids.as_deref().map(listed))),
            (":except", text((!except.is_empty()).then(|| listed(except)))),
            (":low", Value::Text(key.clone())),
            (":high", ranges[0].1.clone()),
            (":covering", Value::Text(json_list(ranges[1..].iter().map(|(key, _)| key)))),
        ];
        let is_filtered =
            !key.is_empty() || DecisionFilter { scope: None, ..filter.clone() }.is_some();
        Self {
            parameters: QueryParameters { conn: decisions.conn, values },
            is_scoped: !key.is_empty(),
            is_filtered,
        }
    }

    /// The newest that pass, in a window of time.
    pub(super) fn newest_within(
        &self,
        since: i64,
        before: i64,
        limit: usize,
    ) -> Result<Vec<i64>, StoreError> {
        let mut found: Vec<(i64, String, i64)> = Vec::new();
        for sql in if self.is_scoped { NEWEST_SCOPED } else { &[NEWEST] } {
            let window: [(&str, &dyn rusqlite::ToSql); 3] =
                [(":since", &since), (":before", &before), (":limit", &row_limit(limit))];
            found.extend(
                self.parameters
                    .rows(sql, &window, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?,
            );
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.truncate(limit);
        Ok(found.into_iter().map(|(_, _, num)| num).collect())
    }

    /// How many pass.
    pub(super) fn total(&self) -> Result<u64, StoreError> {
        if !self.is_filtered {
            return self.word_search().total();
        }
        Ok(self
            .parameters
            .rows(COUNT, &[], |row| row.get::<_, i64>(0))?
            .into_iter()
            .sum::<i64>()
            .cast_unsigned())
    }

    /// Where to search.
    pub(super) fn word_search(&self) -> WordSearch<'_> {
        WordSearch {
            parameters: &self.parameters,
            statements: &SEARCH,
            is_filtered: self.is_filtered,
            narrowing: String::new(),
        }
    }
}
