//! Who may issue access tokens for a tenant, and the most that such a token may do.

use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use twining_model::Id;

use super::connection::{Database, id_of, new_id, within};
use super::tokens::{grant_text, read_grant};
use crate::error::ServiceError;
use crate::principal::{Grant, PrincipalKind};

const FIND: &str = "select tenant, id, name, url, jwks, kind, grants from twining.find_issuers($1)";
const ISSUERS: &str = "select tenant, id, name, url, jwks, kind, grants
    from twining.issuer where tenant = $1 order by name";
const ADD: &str = "insert into twining.issuer (tenant, id, name, url, jwks, kind, grants)
    values ($1, $2, $3, $4, $5, $6, $7)";
const REMOVE: &str = "delete from twining.issuer where tenant = $1 and name = $2";

/// An issuer of access tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerRow {
    /// Its id here.
    pub id: String,
    /// What it is, for people and in the names of those it vouches for.
    pub issuer: NewIssuer,
}

/// An issuer that is to be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIssuer {
    /// By which tenant.
    pub tenant: Id,
    /// Its name here, the first part of the names of those it vouches for.
    pub name: String,
    /// What it calls itself in its tokens.
    pub url: String,
    /// Where its keys are.
    pub jwks: String,
    /// Who holds its tokens.
    pub kind: PrincipalKind,
    /// The most that its tokens may do.
    pub grants: Vec<Grant>,
}

impl Database {
    /// The issuers that a tenant trusts, by the tenant's name.
    pub(crate) async fn find_issuers(
        &self,
        tenant_name: &str,
    ) -> Result<Vec<IssuerRow>, ServiceError> {
        let client = self.client().await?;
        let found = within(async {
            let statement = client.prepare_cached(FIND).await?;
            client.query(&statement, &[&tenant_name]).await
        });
        found.await?.iter().map(issuer_of).collect()
    }

    /// The issuers that a tenant trusts, by name. Needs `twining_owner`.
    pub async fn issuers(&self, tenant: &Id) -> Result<Vec<IssuerRow>, ServiceError> {
        let rows = self.owner().await?.query(ISSUERS, &[&tenant.as_str()]).await?;
        rows.iter().map(issuer_of).collect()
    }

    /// Trusts an issuer. Needs `twining_owner`.
    pub async fn add_issuer(&self, issuer: &NewIssuer) -> Result<String, ServiceError> {
        let owner = self.owner().await?;
        let id = new_id(&owner).await?.to_string();
        let grants: Vec<String> = issuer.grants.iter().map(grant_text).collect();
        let NewIssuer { tenant, name, url, jwks, kind, .. } = issuer;
        let (tenant, kind) = (tenant.as_str(), kind.as_str());
        let added = owner.execute(ADD, &[&tenant, &id, name, url, jwks, &kind, &grants]).await;
        added.map_err(|error| match error.code() {
            Some(&SqlState::UNIQUE_VIOLATION) => {
                ServiceError::Exists { what: "issuer", name: format!("{name} {url}") }
            }
            Some(&SqlState::CHECK_VIOLATION) => ServiceError::Invalid(
                "an issuer's name has at most 64 of `a-z 0-9 . _ -`, and its kind is agent, person or machine"
                    .to_owned(),
            ),
            _ => error.into(),
        })?;
        Ok(id)
    }

    /// Trusts an issuer no more; nodes notice within ten seconds. Needs `twining_owner`.
    pub async fn remove_issuer(&self, tenant: &Id, name: &str) -> Result<(), ServiceError> {
        match self.owner().await?.execute(REMOVE, &[&tenant.as_str(), &name]).await? {
            0 => Err(ServiceError::NotFound { what: "issuer", name: name.to_owned() }),
            _ => Ok(()),
        }
    }
}

fn issuer_of(row: &Row) -> Result<IssuerRow, ServiceError> {
    let id: String = row.get("id");
    let unreadable = || ServiceError::Schema(format!("issuer `{id}` cannot be read"));
    let grants: Vec<String> = row.get("grants");
    let issuer = NewIssuer {
        tenant: id_of(row.get("tenant"))?,
        name: row.get("name"),
        url: row.get("url"),
        jwks: row.get("jwks"),
        kind: PrincipalKind::read(row.get("kind")).ok_or_else(unreadable)?,
        grants: grants
            .iter()
            .map(|text| read_grant(text).ok_or_else(unreadable))
            .collect::<Result<_, _>>()?,
    };
    Ok(IssuerRow { id, issuer })
}
