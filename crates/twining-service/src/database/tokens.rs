//! Tokens: `twn_<id>_<secret>`. Only a hash of the secret is kept.

use twining_model::Id;

use super::connection::Database;
use crate::error::ServiceError;
use crate::principal::{Grant, Principal, PrincipalKind};

/// A token that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// For which tenant.
    pub tenant: Id,
    /// Whose it is, for people.
    pub name: String,
    /// Who holds it.
    pub kind: PrincipalKind,
    /// What it may do.
    pub grants: Vec<Grant>,
    /// How many days it is good for, a year at most.
    pub days: u32,
    /// Who made it.
    pub made_by: String,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// Whom it stands for.
    pub principal: Principal,
    /// When it was made, in RFC 3339.
    pub made_at: String,
    /// When it ends.
    pub expires_at: String,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// The day it was last used.
    pub used_on: Option<String>,
}

impl Database {
    /// Whom a token stands for; none if it is unknown, expired or revoked.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Principal>, ServiceError> {
        unimplemented!("{}", token.len())
    }

    /// Makes a token, and returns it with its text, which is kept nowhere. Needs
    /// `twining_owner`.
    pub async fn add_token(&self, token: &NewToken) -> Result<(TokenRow, String), ServiceError> {
        unimplemented!("{}", token.name)
    }

    /// Ends a token, on every node within a second. Whether there was one. Needs
    /// `twining_owner`.
    pub async fn revoke_token(&self, id: &str) -> Result<bool, ServiceError> {
        unimplemented!("{id}")
    }

    /// Every token of a tenant. Needs `twining_owner`.
    pub async fn tokens(&self, tenant: &Id) -> Result<Vec<TokenRow>, ServiceError> {
        unimplemented!("{tenant}")
    }
}
