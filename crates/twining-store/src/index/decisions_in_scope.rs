//! Which decisions bear on a scope, and how.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use rusqlite::{Params, Row as SqlRow, params};
use twining_model::scope::covering_keys;
use twining_model::{Confidence, DecisionStatus, Id, Scope, Time};

use super::decisions::{Decisions, EVERY_STATUS, parse_id};
use super::view::{corrupt, end_of, overlapping, row_limit, text_at};
use crate::error::StoreError;

/// A decision that bears on a scope, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedDecision {
    /// Which.
    pub id: Id,
    /// Its status.
    pub status: DecisionStatus,
    /// How sure its author is.
    pub confidence: Confidence,
    /// When it was made; one dated ahead counts as the oldest of all.
    pub at: Time,
    /// How it bears on the scope.
    pub via: Via,
}

/// How a decision came to bear on a scope, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Via {
    /// Its scope is the one asked for.
    Exact,
    /// One of its affected files is, covers or lies under the one asked for.
    File,
    /// It bore on a file that was moved to where was asked for.
    Moved,
    /// One of its affected symbols is what was asked for.
    Symbol,
    /// Its scope lies under the one asked for.
    Inside,
    /// Its scope covers the one asked for.
    Around,
    /// It governs the whole project.
    Project,
}

/// Which decisions are requested, by status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionState {
    /// Active and provisional ones.
    InForce,
    /// Superseded and overridden ones.
    Retired,
}

impl DecisionState {
    fn includes(self, status: DecisionStatus) -> bool {
        status.binds() == (self == Self::InForce)
    }
}

/// How many decisions bear on a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScopeCounts {
    /// Active ones.
    pub active: u64,
    /// Provisional ones.
    pub provisional: u64,
    /// Superseded and overridden ones.
    pub retired: u64,
}

impl ScopeCounts {
    /// All of these.
    pub fn of(statuses: impl Iterator<Item = DecisionStatus>) -> Self {
        statuses.fold(Self::default(), |mut counts, status| {
            match status {
                DecisionStatus::Active => counts.active += 1,
                DecisionStatus::Provisional => counts.provisional += 1,
                DecisionStatus::Superseded | DecisionStatus::Overridden => counts.retired += 1,
            }
            counts
        })
    }

    /// Of any standing.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.active + self.provisional + self.retired
    }
}

impl ScopedDecision {
    /// Orders decisions where not all can be shown. The order is total, so that the same query
    /// returns the same page.
    #[must_use]
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |row: &Self| (!row.status.binds(), row.via, Reverse((row.confidence, row.at)));
        rank(self).cmp(&rank(other)).then_with(|| other.id.cmp(&self.id))
    }
}

macro_rules! columns {
    () => {
        "SELECT d.num, d.id, d.status, d.confidence, d.at, d.scope_key FROM "
    };
}

/// A way on which decisions are found that bear on a scope: by keys from `?1` to `?2`, and
/// only those in force unless `?3`.
macro_rules! matching {
    ($from:literal) => {
        concat!(columns!(), $from, " AND (?3 OR d.status IN ('active', 'provisional'))")
    };
}

// The index holds every column: thousands may govern the whole project.
const SCOPED: &str =
    matching!("decision d INDEXED BY decision_scope WHERE d.scope_key BETWEEN ?1 AND ?2");
const FILES: &str = matching!(
    "affected_file f CROSS JOIN decision d ON d.num = f.num WHERE f.file_key BETWEEN ?1 AND ?2"
);
const SYMBOLS: &str = matching!(
    "affected_symbol s CROSS JOIN decision d ON d.num = s.num WHERE s.symbol BETWEEN ?1 AND ?2"
);

/// Those of one standing, the newest first: the order of [`Affecting::order`]. They lie in
/// their order in an index, and are walked only as far as they are wanted.
macro_rules! newest {
    ($along:literal) => {
        concat!(
            columns!(),
            "decision d INDEXED BY ",
            $along,
            " AND d.status = ?3 AND d.confidence = ?4 AND d.at > ?5 AND d.at <= ?6 ORDER BY d.at DESC, d.id DESC LIMIT ?7"
        )
    };
}

const NEWEST_AT: &str = newest!("decision_scope WHERE d.scope_key = ?1");
const NEWEST_INSIDE: &str =
    newest!("decision_standing WHERE d.scope_key > ?1 AND d.scope_key < ?2");
const NEWEST_OF_FILES: &str = newest!(
    "decision_standing WHERE EXISTS(
        SELECT 1 FROM affected_file f INDEXED BY affected_file_of
        WHERE f.num = d.num AND f.file_key >= ?1 AND f.file_key < ?2)"
);
// Where there are few, they are rather looked at one by one.
const MANY_INSIDE: &str = "SELECT count(*) FROM (SELECT 1 FROM decision INDEXED BY decision_scope WHERE scope_key > ?1 AND scope_key < ?2 LIMIT ?3)";
const MANY_FILES: &str = "SELECT count(*) FROM (SELECT 1 FROM affected_file WHERE file_key >= ?1 AND file_key < ?2 LIMIT ?3)";
/// This many are looked at faster than they are walked by.
const SMALL_RESULT: i64 = 256;
/// Before anything that was ever decided, in milliseconds.
const FUTURE_PENALTY_MS: i64 = i64::MAX / 2;
/// The surest first.
const EVERY_CONFIDENCE: [Confidence; 3] = [Confidence::High, Confidence::Medium, Confidence::Low];
/// The nearest first.
const EVERY_VIA: [Via; 6] =
    [Via::Exact, Via::File, Via::Symbol, Via::Inside, Via::Around, Via::Project];

const IS_ANY_AHEAD: &str = "SELECT EXISTS(SELECT 1 FROM decision WHERE at > ?1)";

impl Decisions<'_> {
    /// Every decision that bears on a scope, of any status, each by its nearest
    /// way, ordered by id. Asked for the project, files and symbols say nothing.
    pub fn in_scope(&self, scope: &Scope) -> Result<Vec<ScopedDecision>, StoreError> {
        let key = scope.key(self.folding);
        let mut found: HashMap<i64, ScopedDecision> = HashMap::new();
        self.visit_matches(scope, true, |row, via| {
            let via = match (via, text_at(row, 5)?) {
                (Via::Exact, own) if own == key => Via::Exact,
                (Via::Exact, "") => Via::Project,
                (Via::Exact, own) if own.starts_with(&key) => Via::Inside,
                (Via::Exact, _) => Via::Around,
                (via, _) => via,
            };
            let scoped = self.scoped_decision_at(row, via)?;
            found
                .entry(row.get(0)?)
                .and_modify(|known| known.via = known.via.min(via))
                .or_insert(scoped);
            Ok(true)
        })?;
        let mut scoped: Vec<ScopedDecision> = found.into_values().collect();
        scoped.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        Ok(scoped)
    }

    /// The `limit` decisions of a standing that bear on a scope most closely, in
    /// the order of [`Affecting::order`]; of thousands, few are looked at.
    pub fn nearest(
        &self,
        scope: &Scope,
        state: DecisionState,
        limit: usize,
    ) -> Result<Vec<ScopedDecision>, StoreError> {
        let ahead = self
            .conn
            .prepare_cached(IS_ANY_AHEAD)?
            .query_row([self.horizon()], |row| row.get(0))?;
        let spans = if ahead {
            vec![(i64::MIN, self.horizon()), (self.horizon(), i64::MAX)]
        } else {
            vec![(i64::MIN, i64::MAX)]
        };
        let mut nearest = Nearest { decisions: self, found: HashMap::new(), state, spans, limit };
        for via in EVERY_VIA {
            if nearest.found.len() < limit {
                nearest.take(scope, via)?;
            }
        }
        let mut nearest: Vec<ScopedDecision> = nearest.found.into_values().collect();
        nearest.sort_unstable_by(ScopedDecision::order);
        nearest.truncate(limit);
        Ok(nearest)
    }

    /// Counts the decisions that apply to a scope, by status.
    pub fn count_in_scope(&self, scope: &Scope) -> Result<ScopeCounts, StoreError> {
        let mut matches: Vec<(i64, DecisionStatus)> = Vec::new();
        self.visit_matches(scope, true, |row, _| {
            matches.push((row.get(0)?, status_of(text_at(row, 2)?)?));
            Ok(true)
        })?;
        matches.sort_unstable_by_key(|(num, _)| *num);
        matches.dedup_by_key(|(num, _)| *num);
        Ok(ScopeCounts::of(matches.into_iter().map(|(_, status)| status)))
    }

    /// How many decisions in force bear on a scope besides these. Counts to `most`.
    pub fn count_in_force(
        &self,
        scope: &Scope,
        besides: &[&str],
        limit: usize,
    ) -> Result<u64, StoreError> {
        let mut nums: HashSet<i64> = HashSet::new();
        self.visit_matches(scope, false, |row, _| {
            if !besides.contains(&text_at(row, 1)?) {
                nums.insert(row.get(0)?);
            }
            Ok(nums.len() < limit)
        })?;
        Ok(nums.len().min(limit) as u64)
    }

    /// Visits the matching rows while `meet` continues: by their scope (reported as
    /// [`Via::Exact`]), a file or a symbol. Those in force, or all.
    fn visit_matches(
        &self,
        scope: &Scope,
        all: bool,
        mut visit: impl FnMut(&SqlRow<'_>, Via) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let key = scope.key(self.folding);
        for (from, to) in overlapping(&key) {
            self.visit_rows(SCOPED, params![from, to, all], |row| visit(row, Via::Exact))?;
            if !key.is_empty() {
                self.visit_rows(FILES, params![from, to, all], |row| visit(row, Via::File))?;
            }
        }
        if key.is_empty() {
            Ok(())
        } else {
            self.visit_rows(SYMBOLS, params![scope.as_str(), scope.as_str(), all], |row| {
                visit(row, Via::Symbol)
            })
        }
    }

    fn visit_rows(
        &self,
        sql: &str,
        params: impl Params,
        mut visit: impl FnMut(&SqlRow<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()?
            && visit(row)?
        {}
        Ok(())
    }

    fn scoped_decision_at(&self, row: &SqlRow<'_>, via: Via) -> Result<ScopedDecision, StoreError> {
        // A decision dated in the future would rank first forever.
        let at: i64 = row.get(4)?;
        Ok(ScopedDecision {
            id: parse_id(text_at(row, 1)?)?,
            status: status_of(text_at(row, 2)?)?,
            confidence: confidence_of(text_at(row, 3)?)?,
            at: Time::from_ms(if at > self.horizon() { at - FUTURE_PENALTY_MS } else { at }),
            via,
        })
    }
}

/// Gathers the nearest, way by way: what is met on a nearer way comes first,
/// however many there are on the next.
struct Nearest<'n, 'v> {
    decisions: &'n Decisions<'v>,
    found: HashMap<i64, ScopedDecision>,
    state: DecisionState,
    /// Time ranges, start exclusive and end inclusive, in output order.
    spans: Vec<(i64, i64)>,
    limit: usize,
}

impl Nearest<'_, '_> {
    fn take(&mut self, scope: &Scope, via: Via) -> Result<(), StoreError> {
        let key = scope.key(self.decisions.folding);
        let mut covering = covering_keys(&key).skip(1);
        match via {
            Via::Exact => self.newest(NEWEST_AT, &key, via),
            Via::File | Via::Symbol | Via::Around | Via::Project if key.is_empty() => Ok(()),
            Via::File => {
                self.under([MANY_FILES, FILES, NEWEST_OF_FILES], &key, via)?;
                covering.try_for_each(|covering| self.all(FILES, covering, covering, via))
            }
            Via::Symbol => self.all(SYMBOLS, scope.as_str(), scope.as_str(), via),
            Via::Inside => self.under([MANY_INSIDE, SCOPED, NEWEST_INSIDE], &key, via),
            Via::Around => covering
                .filter(|key| !key.is_empty())
                .try_for_each(|covering| self.newest(NEWEST_AT, covering, via)),
            Via::Project => self.newest(NEWEST_AT, "", via),
            Via::Moved => Ok(()),
        }
    }

    /// Those under a key: all where there are few, else the newest.
    fn under(
        &mut self,
        [many, all, newest]: [&str; 3],
        key: &str,
        via: Via,
    ) -> Result<(), StoreError> {
        let many: i64 = self
            .decisions
            .conn
            .prepare_cached(many)?
            .query_row(params![key, end_of(key), SMALL_RESULT], |row| row.get(0))?;
        if many < SMALL_RESULT {
            self.all(all, key, end_of(key), via)
        } else {
            self.newest(newest, key, via)
        }
    }

    /// Every one of the standing on this way.
    fn all(
        &mut self,
        sql: &str,
        from: &str,
        to: impl rusqlite::ToSql,
        via: Via,
    ) -> Result<(), StoreError> {
        self.decisions.visit_rows(
            sql,
            params![from, to, self.state != DecisionState::InForce],
            |row| {
                let scoped = self.decisions.scoped_decision_at(row, via)?;
                if self.state.includes(scoped.status) {
                    self.found.entry(row.get(0)?).or_insert(scoped);
                }
                Ok(true)
            },
        )
    }

    /// As many of each standing as may be wanted, the newest.
    fn newest(&mut self, sql: &str, key: &str, via: Via) -> Result<(), StoreError> {
        // Those known from a nearer way do not count.
        let wanted = self.found.len() + self.limit;
        let mut matches = 0;
        for confidence in EVERY_CONFIDENCE.map(Confidence::as_str) {
            for status in EVERY_STATUS
                .into_iter()
                .filter(|status| self.state.includes(*status))
                .map(DecisionStatus::as_str)
            {
                for (after, until) in &self.spans {
                    let params = params![
                        key,
                        end_of(key),
                        status,
                        confidence,
                        after,
                        until,
                        row_limit(wanted)
                    ];
                    self.decisions.visit_rows(sql, params, |row| {
                        matches += 1;
                        self.found
                            .entry(row.get(0)?)
                            .or_insert(self.decisions.scoped_decision_at(row, via)?);
                        Ok(true)
                    })?;
                }
            }
            if matches >= wanted {
                break;
            }
        }
        Ok(())
    }
}

pub(super) fn status_of(word: &str) -> Result<DecisionStatus, StoreError> {
    EVERY_STATUS
        .into_iter()
        .find(|status| status.as_str() == word)
        .ok_or_else(|| corrupt("a row with an unknown status"))
}

fn confidence_of(word: &str) -> Result<Confidence, StoreError> {
    EVERY_CONFIDENCE
        .into_iter()
        .find(|confidence| confidence.as_str() == word)
        .ok_or_else(|| corrupt("a row with an unknown confidence"))
}
