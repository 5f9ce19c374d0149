//! Which decisions contest one another: in force in the same domain, overlapping
//! in scope, and saying something else.

use rusqlite::params;
use twining_model::{Decision, Id, Scope, Status};

use super::catch_up::domain_key;
use super::decisions::{Decisions, parse_id};
use super::view::{overlapping, text_at};
use crate::error::StoreError;

const CONTESTING: &str = "
SELECT id, summary FROM decision INDEXED BY decision_facets
WHERE domain_key = ?1 AND status = ?2 AND scope_key BETWEEN ?3 AND ?4";
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
