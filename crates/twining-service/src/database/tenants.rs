//! Tenants and their repositories.

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use twining_model::Id;

use super::connection::{Database, id_of, new_id, unsigned};
use crate::error::ServiceError;

/// Row security shows the tenant's own only; this does not rely on it where it names a tenant.
const FIND_REPOSITORY: &str = "select repo.tenant, repo.id, repo.name, repo.head
    from twining.repo join twining.tenant on tenant.id = repo.tenant
    where tenant.name = $1 and repo.name = $2 and tenant.state = 'open'
      and repo.state <> 'closed'";
const HEAD: &str = "select head from twining.repo where tenant = $1 and id = $2";
const TENANTS: &str = "select tenant.id, tenant.name, total_records, total_bytes,
        coalesce(sum(repo.records), 0)::bigint as records,
        coalesce(sum(repo.bytes), 0)::bigint as bytes
    from twining.tenant left join twining.repo on repo.tenant = tenant.id
    group by tenant.id order by tenant.name";
const REPOSITORIES: &str =
    "select tenant, id, name, head from twining.repo where tenant = $1 order by name";
const ADD_TENANT: &str = "insert into twining.tenant (id, name) values ($1, $2)";
const ADD_REPOSITORY: &str = "insert into twining.repo (tenant, id, name, byte_limit, record_limit)
    select id, $2, $3, byte_limit, record_limit from twining.tenant where id = $1";
/// Locked before the shares, as an append that asks for more locks them.
const LIMIT_TENANT: &str =
    "update twining.tenant set total_records = $2, total_bytes = $3 where id = $1";
/// Every repository asks for its share again.
const RESET_SHARES: &str =
    "update twining.repo set record_share = 0, byte_share = 0 where tenant = $1";
const LIMIT_REPOSITORY: &str =
    "update twining.repo set byte_limit = $2, record_limit = $3 where id = $1";

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRow {
    /// Its id.
    pub id: Id,
    /// Its name, the first part of an address.
    pub name: String,
    /// What its repositories hold together.
    pub holds: TenantSize,
    /// What they may hold; nothing said is without a limit.
    pub limits: TenantLimits,
}

/// What the repositories of a tenant hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantSize {
    /// Records.
    pub records: u64,
    /// Bytes of their lines.
    pub bytes: u64,
}

/// What the repositories of a tenant may hold together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantLimits {
    /// Records.
    pub records: Option<u64>,
    /// Bytes of their lines.
    pub bytes: Option<u64>,
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryRow {
    /// Whose it is.
    pub tenant: Id,
    /// Its id.
    pub id: Id,
    /// Its name, the second part of an address.
    pub name: String,
    /// The number of its last line.
    pub head: u64,
}

impl Database {
    /// A repository by the two names of an address, as far as a tenant sees it.
    pub async fn find_repository(
        &self,
        tenant: &Id,
        (tenant_name, repo_name): (&str, &str),
    ) -> Result<Option<RepositoryRow>, ServiceError> {
        let rows = self.query_as(tenant, FIND_REPOSITORY, &[&tenant_name, &repo_name]).await?;
        rows.first().map(repository_of).transpose()
    }

    /// The number of a repository's last line.
    pub async fn head(&self, tenant: &Id, repo: &Id) -> Result<u64, ServiceError> {
        let rows = self.query_as(tenant, HEAD, &[&tenant.as_str(), &repo.as_str()]).await?;
        let not_found =
            || ServiceError::NotFound { what: "repository", name: repo.as_str().to_owned() };
        rows.first().map(|row| unsigned(row.get("head"))).ok_or_else(not_found)
    }

    /// A tenant by name. Needs `twining_owner`.
    pub async fn find_tenant(&self, name: &str) -> Result<Option<TenantRow>, ServiceError> {
        Ok(self.tenants().await?.into_iter().find(|tenant| tenant.name == name))
    }

    /// Every tenant, by name. Needs `twining_owner`.
    pub async fn tenants(&self) -> Result<Vec<TenantRow>, ServiceError> {
        let rows = self.owner().await?.query(TENANTS, &[]).await?;
        let row_of = |row: &Row| {
            let limit = |name: &str| row.get::<_, Option<i64>>(name).map(unsigned);
            Ok(TenantRow {
                id: id_of(row.get("id"))?,
                name: row.get("name"),
                holds: TenantSize {
                    records: unsigned(row.get("records")),
                    bytes: unsigned(row.get("bytes")),
                },
                limits: TenantLimits {
                    records: limit("total_records"),
                    bytes: limit("total_bytes"),
                },
            })
        };
        rows.iter().map(row_of).collect()
    }

    /// Every repository of a tenant, by name. Needs `twining_owner`.
    pub async fn repositories(&self, tenant: &Id) -> Result<Vec<RepositoryRow>, ServiceError> {
        let rows = self.owner().await?.query(REPOSITORIES, &[&tenant.as_str()]).await?;
        rows.iter().map(repository_of).collect()
    }

    /// Makes a tenant. Needs `twining_owner`.
    pub async fn add_tenant(&self, name: &str) -> Result<TenantRow, ServiceError> {
        let owner = self.owner().await?;
        let id = new_id(&owner).await?;
        let added = owner.execute(ADD_TENANT, &[&id.as_str(), &name]).await;
        added.map_err(|error| name_error(error, "tenant", name))?;
        let (holds, limits) = (TenantSize::default(), TenantLimits::default());
        Ok(TenantRow { id, name: name.to_owned(), holds, limits })
    }

    /// Sets how much all repositories of a tenant may hold together. What is there stays, also if
    /// it is more. Needs `twining_owner`.
    pub async fn limit_tenant(
        &self,
        tenant: &Id,
        limits: TenantLimits,
    ) -> Result<(), ServiceError> {
        let [records, bytes] = [limits.records, limits.bytes]
            .map(|most| most.map(|most| i64::try_from(most).unwrap_or(i64::MAX)));
        let mut owner = self.owner().await?;
        let transaction = owner.transaction().await?;
        let id = tenant.as_str();
        if transaction.execute(LIMIT_TENANT, &[&id, &records, &bytes]).await? == 0 {
            return Err(ServiceError::NotFound { what: "tenant", name: tenant.to_string() });
        }
        transaction.execute(RESET_SHARES, &[&id]).await?;
        Ok(transaction.commit().await?)
    }

    /// Makes a repository, within the limits of its tenant. Needs `twining_owner`.
    pub async fn add_repository(
        &self,
        tenant: &Id,
        name: &str,
    ) -> Result<RepositoryRow, ServiceError> {
        let owner = self.owner().await?;
        let id = new_id(&owner).await?;
        let added = owner
            .execute(ADD_REPOSITORY, &[&tenant.as_str(), &id.as_str(), &name])
            .await
            .map_err(|error| name_error(error, "repository", name))?;
        if added == 0 {
            return Err(ServiceError::NotFound { what: "tenant", name: tenant.to_string() });
        }
        Ok(RepositoryRow { tenant: tenant.clone(), id, name: name.to_owned(), head: 0 })
    }

    /// Sets how much a repository may hold. Needs `twining_owner`.
    pub async fn limit_repository(
        &self,
        repo: &Id,
        bytes: u64,
        records: u64,
    ) -> Result<(), ServiceError> {
        let [bytes, records] = [bytes, records].map(|most| i64::try_from(most).unwrap_or(i64::MAX));
        let owner = self.owner().await?;
        if owner.execute(LIMIT_REPOSITORY, &[&repo.as_str(), &bytes, &records]).await? == 0 {
            return Err(ServiceError::NotFound { what: "repository", name: repo.to_string() });
        }
        Ok(())
    }
}

fn repository_of(row: &Row) -> Result<RepositoryRow, ServiceError> {
    Ok(RepositoryRow {
        tenant: id_of(row.get("tenant"))?,
        id: id_of(row.get("id"))?,
        name: row.get("name"),
        head: unsigned(row.get("head")),
    })
}

fn name_error(error: tokio_postgres::Error, what: &'static str, name: &str) -> ServiceError {
    match error.code() {
        Some(&SqlState::UNIQUE_VIOLATION) => ServiceError::Exists { what, name: name.to_owned() },
        Some(&SqlState::CHECK_VIOLATION) => ServiceError::Invalid(format!(
            "a {what}'s name has at most 64 of `a-z 0-9 . _ -` and begins with a letter or a digit"
        )),
        _ => error.into(),
    }
}
