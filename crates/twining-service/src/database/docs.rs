//! Documents of a repository that are not in its log, because they expire or belong to git:
//! claims, presence. Each is replaced as a whole, by whoever knew its last version.

use tokio_postgres::types::ToSql;
use twining_model::Id;

use super::connection::{Database, unsigned};
use crate::error::ServiceError;

const READ: &str = "select version, by, body from twining.doc
    where tenant = $1 and repo = $2 and name = $3";
/// Inserts the first version only; a later one must meet the version it replaces.
const REPLACE: &str = "insert into twining.doc as doc (tenant, repo, name, version, by, body)
    select $1, $2, $3, 1, $5, $6
    where $4::bigint = 0
       or exists (select from twining.doc where tenant = $1 and repo = $2 and name = $3)
    on conflict (tenant, repo, name) do update
    set version = doc.version + 1, at = now(), by = excluded.by, body = excluded.body
    where doc.version = $4
    returning version";

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocRow {
    /// Counts its replacements, from one.
    pub version: u64,
    /// Who replaced it last.
    pub by: String,
    /// All of it.
    pub body: String,
}

impl Database {
    /// A document, if there is one.
    pub async fn read_doc(
        &self,
        tenant: &Id,
        repo: &Id,
        name: &str,
    ) -> Result<Option<DocRow>, ServiceError> {
        let of: [&(dyn ToSql + Sync); 3] = [&tenant.as_str(), &repo.as_str(), &name];
        let rows = self.query_as(tenant, READ, &of).await?;
        Ok(rows.first().map(|row| DocRow {
            version: unsigned(row.get("version")),
            by: row.get("by"),
            body: row.get("body"),
        }))
    }

    /// Replaces a document whose version is `doc.version`, zero if there is none yet. Returns
    /// the new version, or nothing if somebody else was quicker.
    pub async fn replace_doc(
        &self,
        tenant: &Id,
        repo: &Id,
        name: &str,
        doc: &DocRow,
    ) -> Result<Option<u64>, ServiceError> {
        let version = i64::try_from(doc.version).unwrap_or(i64::MAX);
        let (tenant_id, repo_id) = (tenant.as_str(), repo.as_str());
        let row: [&(dyn ToSql + Sync); 6] =
            [&tenant_id, &repo_id, &name, &version, &doc.by, &doc.body];
        let rows = self.query_as(tenant, REPLACE, &row).await?;
        Ok(rows.first().map(|row| unsigned(row.get("version"))))
    }
}
