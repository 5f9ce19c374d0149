//! Tenants and their repositories.

use twining_model::Id;

use super::connection::Database;
use crate::error::ServiceError;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantRow {
    /// Its id.
    pub id: Id,
    /// Its name, the first part of an address.
    pub name: String,
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
    /// A repository by the two names of an address.
    pub async fn find_repository(
        &self,
        tenant_name: &str,
        repo_name: &str,
    ) -> Result<Option<RepositoryRow>, ServiceError> {
        unimplemented!("{tenant_name} {repo_name}")
    }

    /// A tenant by name. Needs `twining_owner`.
    pub async fn find_tenant(&self, name: &str) -> Result<Option<TenantRow>, ServiceError> {
        unimplemented!("{name}")
    }

    /// Every tenant, by name. Needs `twining_owner`.
    pub async fn tenants(&self) -> Result<Vec<TenantRow>, ServiceError> {
        unimplemented!()
    }

    /// Every repository of a tenant, by name. Needs `twining_owner`.
    pub async fn repositories(&self, tenant: &Id) -> Result<Vec<RepositoryRow>, ServiceError> {
        unimplemented!("{tenant}")
    }

    /// Makes a tenant. Needs `twining_owner`.
    pub async fn add_tenant(&self, name: &str) -> Result<TenantRow, ServiceError> {
        unimplemented!("{name}")
    }

    /// Makes a repository. Needs `twining_owner`.
    pub async fn add_repository(
        &self,
        tenant: &Id,
        name: &str,
    ) -> Result<RepositoryRow, ServiceError> {
        unimplemented!("{tenant} {name}")
    }

    /// The number of a repository's last line.
    pub async fn head(&self, tenant: &Id, repo: &Id) -> Result<u64, ServiceError> {
        unimplemented!("{tenant} {repo}")
    }
}
