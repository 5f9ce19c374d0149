//! The key that questions to people are sealed with, and the answers that were used.

use twining_model::Id;

use super::connection::Database;
use crate::error::ServiceError;

const SEAL_KEY: &str = "select seal_key from twining.tenant where id = $1";
/// A row if this is the first use. Seals end long before what is remembered of them.
const USE: &str = "with ended as (
        delete from twining.confirmation where tenant = $1 and at < now() - interval '1 hour'
    )
    insert into twining.confirmation (tenant, nonce) values ($1, $2)
    on conflict do nothing returning nonce";

impl Database {
    /// The key of a tenant's seals: the same on every node.
    pub(crate) async fn seal_key(&self, tenant: &Id) -> Result<Vec<u8>, ServiceError> {
        let rows = self.query_as(tenant, SEAL_KEY, &[&tenant.as_str()]).await?;
        let not_found =
            || ServiceError::NotFound { what: "tenant", name: tenant.as_str().to_owned() };
        rows.first().map(|row| row.get("seal_key")).ok_or_else(not_found)
    }

    /// Uses up an answer to a question of this nonce. Whether it was the first.
    pub(crate) async fn use_confirmation(
        &self,
        tenant: &Id,
        nonce: &str,
    ) -> Result<bool, ServiceError> {
        Ok(!self.query_as(tenant, USE, &[&tenant.as_str(), &nonce]).await?.is_empty())
    }
}
