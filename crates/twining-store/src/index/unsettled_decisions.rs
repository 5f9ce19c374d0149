//! Decisions that wait until somebody settles them.

use rusqlite::{Row as SqlRow, params};
use twining_model::{Decision, GENERAL_DOMAIN, Id, Time};

use super::decisions::{Decisions, parse_id};
use super::view::{self, CountKind, first_column, row_limit, text_at};
use crate::error::StoreError;

/// A decision that waits, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsettledDecision {
    /// Which.
    pub id: Id,
    /// Since when it is as it is.
    pub since: Time,
    /// What it governs.
    pub scope: String,
    /// Whether two branches changed it differently.
    pub is_clashed: bool,
}

/// Active decisions that contradict each other, and that nobody agreed to keep side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveContest {
    /// The one with the narrowest scope; of several, the newest.
    pub id: Id,
    /// What it governs.
    pub scope: String,
    /// Those it contradicts, at most [`RIVALS_NAMED`].
    pub rivals: Vec<Id>,
    /// When the first two of them were there.
    pub since: Time,
}

/// Rivals that are named.
const RIVALS_NAMED: usize = 5;
/// Decisions around one that are compared with it, the nearest first.
const COMPARED: usize = 256;

const PROVISIONAL: &str = "
SELECT id, touched, scope, clashed FROM decision INDEXED BY decision_touched
WHERE status = 'provisional' ORDER BY touched, id";
const UNCONFIRMED: &str = "
SELECT id, touched, scope, clashed FROM decision INDEXED BY decision_unconfirmed
WHERE unconfirmed = 1 ORDER BY touched, id";
const OVERRIDDEN: &str = "
SELECT num FROM decision INDEXED BY decision_touched
WHERE status = 'overridden' AND unconfirmed = 0 AND touched >= ?1 ORDER BY touched DESC LIMIT ?2";
const PROMOTED: &str = "
SELECT num FROM decision INDEXED BY decision_promoted
WHERE promoted IS NOT NULL AND promoted >= ?1 AND status = 'active' ORDER BY promoted DESC LIMIT ?2";
const ACTIVE: &str = "
SELECT domain_key, scope_key, id, at, compatible, summary, scope FROM decision INDEXED BY decision_facets
WHERE status = 'active' AND domain_key <> ?1 ORDER BY domain_key, scope_key, id";

impl Decisions<'_> {
    /// Every provisional decision, the longest waiting first.
    pub fn provisional(&self) -> Result<Vec<UnsettledDecision>, StoreError> {
        self.unsettled(PROVISIONAL)
    }

    /// Every decision whose override no person confirmed, the longest waiting first.
    pub fn unconfirmed_overrides(&self) -> Result<Vec<UnsettledDecision>, StoreError> {
        self.unsettled(UNCONFIRMED)
    }

    /// The decisions that a person rejected last, since that time.
    pub fn rejected_since(&self, since: Time, limit: usize) -> Result<Vec<Decision>, StoreError> {
        self.load(&first_column(self.conn, OVERRIDDEN, params![since.as_ms(), row_limit(limit)])?)
    }

    /// The active decisions that somebody put in force last, since that time.
    pub fn promoted_since(&self, since: Time, limit: usize) -> Result<Vec<Decision>, StoreError> {
        self.load(&first_column(self.conn, PROMOTED, params![since.as_ms(), row_limit(limit)])?)
    }

    /// A number that changes when a decision comes, goes or is changed.
    pub fn digest(&self) -> Result<u64, StoreError> {
        Ok(view::sum(self.conn, &[CountKind::DecisionSums])?)
    }

    /// Active decisions that contradict each other. Looks at all active ones: for callers
    /// that keep the answer while the [digest](Self::digest) is the same.
    pub fn active_contests(&self) -> Result<Vec<ActiveContest>, StoreError> {
        let mut statement = self.conn.prepare_cached(ACTIVE)?;
        let mut rows = statement.query([GENERAL_DOMAIN])?;
        let (mut around, mut found): (Vec<ActiveDecision>, Vec<ActiveContest>) = Default::default();
        while let Some(row) = rows.next()? {
            let decision = ActiveDecision::at(row)?;
            // Scopes are read in order, so those left over cover this one.
            while around.last().is_some_and(|wider| !wider.covers(&decision)) {
                around.pop();
            }
            found.extend(decision.contest_with(&around)?);
            around.push(decision);
        }
        Ok(found)
    }

    fn unsettled(&self, sql: &str) -> Result<Vec<UnsettledDecision>, StoreError> {
        let (mut statement, mut found) = (self.conn.prepare_cached(sql)?, Vec::new());
        let mut rows = statement.query(params![])?;
        while let Some(row) = rows.next()? {
            found.push(UnsettledDecision {
                id: parse_id(text_at(row, 0)?)?,
                since: Time::from_ms(row.get(1)?),
                scope: text_at(row, 2)?.to_owned(),
                is_clashed: row.get(3)?,
            });
        }
        Ok(found)
    }
}

struct ActiveDecision {
    domain_key: String,
    scope_key: String,
    id: String,
    at: i64,
    compatible: String,
    summary: String,
    scope: String,
}

impl ActiveDecision {
    fn at(row: &SqlRow<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            domain_key: row.get(0)?,
            scope_key: row.get(1)?,
            id: row.get(2)?,
            at: row.get(3)?,
            compatible: row.get(4)?,
            summary: row.get(5)?,
            scope: row.get(6)?,
        })
    }

    fn covers(&self, other: &Self) -> bool {
        self.domain_key == other.domain_key && other.scope_key.starts_with(&self.scope_key)
    }

    fn contests(&self, other: &Self) -> bool {
        let is_agreed = self.compatible.contains(&other.id) || other.compatible.contains(&self.id);
        !is_agreed && !self.summary.split_whitespace().eq(other.summary.split_whitespace())
    }

    fn contest_with(&self, around: &[Self]) -> Result<Option<ActiveContest>, StoreError> {
        let nearest = around.iter().rev().take(COMPARED);
        let rivals: Vec<&Self> =
            nearest.filter(|other| self.contests(other)).take(RIVALS_NAMED).collect();
        let Some(since) = rivals.iter().map(|rival| rival.at.max(self.at)).min() else {
            return Ok(None);
        };
        Ok(Some(ActiveContest {
            id: parse_id(&self.id)?,
            scope: self.scope.clone(),
            rivals: rivals.iter().map(|rival| parse_id(&rival.id)).collect::<Result<_, _>>()?,
            since: Time::from_ms(since),
        }))
    }
}
