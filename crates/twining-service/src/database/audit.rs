//! The audit: who did what from where, and how it ended. Rows are only ever added.

use twining_model::Id;

use super::connection::Database;
use crate::error::ServiceError;

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
        unimplemented!("{entry:?}")
    }

    /// Rows of a tenant after a number, oldest first, at most so many. Needs `twining_owner`.
    pub async fn read_audit(
        &self,
        tenant: &Id,
        after: i64,
        limit: u32,
    ) -> Result<Vec<AuditRow>, ServiceError> {
        unimplemented!("{tenant} {after} {limit}")
    }
}
