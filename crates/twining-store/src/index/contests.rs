//! Which decisions contest one another: in force in the same domain, overlapping
//! in scope, and saying something else.
//!
//! The index answers for one decision. A prompt tells of dozens, and as many
//! questions take longer than all else it does: where few decisions are in force,
//! they are read once and compared here.

use rusqlite::params;
use twining_model::scope::covering_keys;
use twining_model::{Decision, Id, Scope, Status};

use super::catch_up::domain_key;
use super::decisions::{Decisions, parse_id};
use super::view::{View, overlapping, text_at};
use crate::error::StoreError;

const CONTESTING: &str = "
SELECT id, summary FROM decision INDEXED BY decision_facets
WHERE domain_key = ?1 AND status = ?2 AND scope_key BETWEEN ?3 AND ?4";
const COUNT: &str = "
SELECT count(*) FROM (
    SELECT 1 FROM decision INDEXED BY decision_touched WHERE status IN ('active', 'provisional') LIMIT ?1)";
// In the order in which the index has them.
const IN_FORCE: &str = "
SELECT domain_key, status, scope_key, id, summary FROM decision INDEXED BY decision_touched
WHERE status IN ('active', 'provisional') ORDER BY scope_key, confidence, num";

/// Up to so many are compared here.
const FEW: i64 = 256;

/// Who contests whom, as of one moment.
pub struct Contests<'v> {
    decisions: Decisions<'v>,
    few: Option<&'v [InForce]>,
}

/// All in force; none where they are many.
pub(super) type FewInForce = Option<Vec<InForce>>;

/// A decision in force, as far as it can contest another.
pub(super) struct InForce {
    domain_key: String,
    status: String,
    scope_key: String,
    id: String,
    summary: String,
}

impl View<'_> {
    /// Who contests whom; for whoever asks about many.
    pub fn contests(&self) -> Result<Contests<'_>, StoreError> {
        let decisions = self.decisions();
        let few = match self.few_in_force.get() {
            Some(few) => few,
            None => {
                let few = few_in_force(&decisions)?;
                self.few_in_force.get_or_init(|| few)
            }
        };
        Ok(Contests { decisions, few: few.as_deref() })
    }
}

impl Contests<'_> {
    /// The first `limit` decisions of these statuses that contest this one.
    pub fn contesters(&self, of: &Decision, statuses: &[Status], limit: usize) -> Result<Vec<Id>, StoreError> {
        let Some(few) = self.few else { return self.decisions.contesters(of, statuses, limit) };
        let (domain, key) = (domain_key(&of.domain), Scope::read(&of.scope).key(self.decisions.folding));
        let mut found = Vec::new();
        for status in statuses.iter().map(|status| status.as_str()) {
            let alike = || few.iter().filter(|other| other.domain_key == domain && other.status == status);
            let under = alike().filter(|other| other.scope_key.starts_with(&key));
            let around = covering_keys(&key).skip(1).flat_map(|covering| alike().filter(move |other| other.scope_key == covering));
            let contesting = under.chain(around).filter(|other| contests(of, &other.id, &other.summary));
            found.extend(contesting.take(limit - found.len()));
        }
        found.into_iter().map(|other| parse_id(&other.id)).collect()
    }
}

impl Decisions<'_> {
    /// The first `limit` decisions of these statuses that contest this one.
    /// Ordered by nothing but the index, so a limit is cheap.
    pub fn contesters(&self, of: &Decision, statuses: &[Status], limit: usize) -> Result<Vec<Id>, StoreError> {
        let (domain, key) = (domain_key(&of.domain), Scope::read(&of.scope).key(self.folding));
        let mut statement = self.conn.prepare_cached(CONTESTING)?;
        let mut found: Vec<Id> = Vec::new();
        for status in statuses.iter().map(|status| status.as_str()) {
            for (from, to) in overlapping(&key) {
                let mut rows = statement.query(params![domain, status, from, to])?;
                while found.len() < limit
                    && let Some(row) = rows.next()?
                {
                    if contests(of, text_at(row, 0)?, text_at(row, 1)?) {
                        found.push(parse_id(text_at(row, 0)?)?);
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Whether one that overlaps says something else. Summaries that differ in white
/// space alone say the same.
fn contests(of: &Decision, id: &str, summary: &str) -> bool {
    id != of.id.as_str() && !summary.split_whitespace().eq(of.summary.split_whitespace())
}

fn few_in_force(decisions: &Decisions<'_>) -> Result<FewInForce, StoreError> {
    let many: i64 = decisions.conn.prepare_cached(COUNT)?.query_row([FEW + 1], |row| row.get(0))?;
    if many > FEW {
        return Ok(None);
    }
    let mut statement = decisions.conn.prepare_cached(IN_FORCE)?;
    let in_force = statement.query_map([], |row| {
        Ok(InForce { domain_key: row.get(0)?, status: row.get(1)?, scope_key: row.get(2)?, id: row.get(3)?, summary: row.get(4)? })
    })?;
    Ok(Some(in_force.collect::<Result<_, _>>()?))
}
