//! The audit: who did what from where, and how it ended. Rows are only ever added.

use tokio_postgres::Row;
use twining_model::Id;

use super::connection::Database;
use crate::error::ServiceError;

const ADD: &str = "insert into twining.audit (tenant, by, via, act, target, outcome)
    values ($1, $2, $3, $4, $5, $6)";
const READ: &str = "select number, twining.time_text(at) as at, by, via, act, target, outcome
    from twining.audit where tenant = $1 and number > $2 order by number limit $3";

/// Something that is to be on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// In which tenant.
    pub tenant: Id,
    /// Who: a principal's name and token id, or the command line.
    pub by: String,
    /// By which way: `http`, `cli`.
    pub via: String,
    /// What was done: `token.revoke`, `override`.
    pub act: String,
    /// To what.
    pub target: String,
    /// How it ended: `ok`, `refused`.
    pub outcome: String,
}

/// A row of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number.
    pub number: i64,
    /// When, in RFC 3339.
    pub at: String,
    /// What.
    pub entry: AuditEntry,
}

impl Database {
    /// Puts something on record.
    pub async fn audit(&self, entry: &AuditEntry) -> Result<(), ServiceError> {
        let AuditEntry { tenant, by, via, act, target, outcome } = entry;
        self.query_as(tenant, ADD, &[&tenant.as_str(), by, via, act, target, outcome]).await?;
        Ok(())
    }

    /// Rows of a tenant after a number, oldest first, at most so many. Needs `twining_owner`.
    pub async fn read_audit(
        &self,
        tenant: &Id,
        after: i64,
        limit: u32,
    ) -> Result<Vec<AuditRow>, ServiceError> {
        let rows =
            self.owner().await?.query(READ, &[&tenant.as_str(), &after, &i64::from(limit)]).await?;
        let row_of = |row: Row| AuditRow {
            number: row.get("number"),
            at: row.get("at"),
            entry: AuditEntry {
                tenant: tenant.clone(),
                by: row.get("by"),
                via: row.get("via"),
                act: row.get("act"),
                target: row.get("target"),
                outcome: row.get("outcome"),
            },
        };
        Ok(rows.into_iter().map(row_of).collect())
    }
}
