//! Tokens: `twn_<id>_<secret>`. Only a hash of the secret is kept.
//!
//! The secret has 256 random bits, so one plain SHA-256 is enough. What the database said of a
//! token is believed for half a minute; a revocation is announced to every node at once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_postgres::Row;
use twining_model::Id;

use super::connection::{Database, id_of, new_id, random_bytes, within};
use super::head_watch::REVOKED_CHANNEL;
use crate::error::ServiceError;
use crate::principal::{AccessRole, Grant, GrantScope, Principal, PrincipalKind};

const FIND: &str = "select tenant, name, kind, hash, grants, good_for from twining.find_token($1)";
const NOTE_USE: &str = "select twining.note_token_use($1)";
const ADD: &str = "insert into twining.token
    (tenant, id, name, kind, hash, grants, made_by, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(days => $8))";
const TOKENS: &str = "select id, tenant, name, kind, grants, twining.time_text(made_at) as made_at,
    twining.time_text(expires_at) as expires_at, twining.time_text(revoked_at) as revoked_at,
    used_on::text as used_on
    from twining.token where tenant = $1 order by id";
const REVOKE: &str =
    "update twining.token set revoked_at = coalesce(revoked_at, now()) where id = $1";
const ANNOUNCE: &str = "select pg_notify($1, $2)";

/// How long the database's word on a token is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// Tokens that are remembered at a time.
const REMEMBERED: usize = 10_000;
const MAX_DAYS: u32 = 365;
/// Characters of a secret: 62 to the 43rd is more than 2 to the 256th.
const SECRET_LENGTH: usize = 43;
const BASE_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

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

/// A token that is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoodToken {
    /// Whom it stands for.
    pub principal: Principal,
    /// When it expires.
    pub expires: Instant,
}

/// What the database said of tokens.
#[derive(Default)]
pub(super) struct TokenCache(Mutex<HashMap<String, KnownToken>>);

#[derive(Clone)]
struct KnownToken {
    good: GoodToken,
    hash: Vec<u8>,
    until: Instant,
}

impl TokenCache {
    /// Forgets a token, because it was revoked.
    pub(super) fn forget(&self, id: &str) {
        self.known().remove(id);
    }

    /// Forgets all, because a revocation may have been missed.
    pub(super) fn clear(&self) {
        self.known().clear();
    }

    fn get(&self, id: &str) -> Option<KnownToken> {
        self.known().get(id).filter(|token| token.until > Instant::now()).cloned()
    }

    fn add(&self, token: KnownToken) {
        let mut known = self.known();
        if known.len() >= REMEMBERED {
            let now = Instant::now();
            known.retain(|_, token| token.until > now);
        }
        if known.len() < REMEMBERED {
            known.insert(token.good.principal.token_id.clone(), token);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, KnownToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Database {
    /// Whom a token stands for; nobody if it is unknown, expired or revoked.
    pub async fn authenticate(&self, token: &str) -> Result<Option<GoodToken>, ServiceError> {
        let Some((id, secret)) = parts(token) else { return Ok(None) };
        let hash = Sha256::digest(secret);
        if let Some(known) = self.0.tokens.get(id) {
            return Ok(good_if(known, &hash));
        }
        self.listen();
        let client = self.client().await?;
        let found = within(async {
            let statement = client.prepare_cached(FIND).await?;
            client.query_opt(&statement, &[&id]).await
        });
        let Some(row) = found.await? else { return Ok(None) };
        let good_for = Duration::try_from_secs_f64(row.get("good_for")).unwrap_or_default();
        let now = Instant::now();
        let known = KnownToken {
            good: GoodToken { principal: principal_of(id, &row)?, expires: now + good_for },
            hash: row.get("hash"),
            until: now + BELIEVED.min(good_for),
        };
        let good = good_if(known.clone(), &hash);
        if good.is_some() {
            within(client.execute(NOTE_USE, &[&id])).await?;
            self.0.tokens.add(known);
        }
        Ok(good)
    }

    /// Makes a token, and returns its id and its text, which is kept nowhere. Needs
    /// `twining_owner`.
    pub async fn add_token(&self, token: &NewToken) -> Result<(String, String), ServiceError> {
        if token.days == 0 || token.days > MAX_DAYS {
            let what = format!("a token is good for 1 to {MAX_DAYS} days, not {}", token.days);
            return Err(ServiceError::Invalid(what));
        }
        if token.name.trim().is_empty() || token.name.chars().any(char::is_control) {
            let what = "a token's name must not be empty or have control characters";
            return Err(ServiceError::Invalid(what.to_owned()));
        }
        let owner = self.owner().await?;
        let id = new_id(&owner).await?.to_string();
        let secret = new_secret()?;
        let hash = Sha256::digest(&secret).to_vec();
        let grants: Vec<String> = token.grants.iter().map(grant_text).collect();
        let days = i32::try_from(token.days).unwrap_or(i32::MAX);
        let (tenant, kind) = (token.tenant.as_str(), token.kind.as_str());
        owner
            .execute(
                ADD,
                &[&tenant, &id, &token.name, &kind, &hash, &grants, &token.made_by, &days],
            )
            .await?;
        let text = format!("twn_{id}_{secret}");
        Ok((id, text))
    }

    /// Ends a token, on every node within a second. Whether there is such a token. Needs
    /// `twining_owner`.
    pub async fn revoke_token(&self, id: &str) -> Result<bool, ServiceError> {
        let owner = self.owner().await?;
        let revoked = owner.execute(REVOKE, &[&id]).await?;
        owner.execute(ANNOUNCE, &[&REVOKED_CHANNEL, &id]).await?;
        self.0.tokens.forget(id);
        Ok(revoked > 0)
    }

    /// Every token of a tenant, oldest first. Needs `twining_owner`.
    pub async fn tokens(&self, tenant: &Id) -> Result<Vec<TokenRow>, ServiceError> {
        let rows = self.owner().await?.query(TOKENS, &[&tenant.as_str()]).await?;
        let row_of = |row: &Row| {
            Ok(TokenRow {
                principal: principal_of(row.get("id"), row)?,
                made_at: row.get("made_at"),
                expires_at: row.get("expires_at"),
                revoked_at: row.get("revoked_at"),
                used_on: row.get("used_on"),
            })
        };
        rows.iter().map(row_of).collect()
    }
}

/// Id and secret of a token. One form only: what differs in a letter's case is no token.
fn parts(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.strip_prefix("twn_")?.split_once('_')?;
    let is_id = Id::read(id).is_some_and(|read| read.as_str() == id);
    let is_secret =
        secret.len() == SECRET_LENGTH && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_id && is_secret).then_some((id, secret))
}

fn good_if(known: KnownToken, hash: &[u8]) -> Option<GoodToken> {
    bool::from(known.hash.ct_eq(hash)).then_some(known.good)
}

fn principal_of(id: &str, row: &Row) -> Result<Principal, ServiceError> {
    let unreadable = || ServiceError::Schema(format!("token `{id}` cannot be read"));
    let grants: Vec<String> = row.get("grants");
    Ok(Principal {
        token_id: id.to_owned(),
        tenant: id_of(row.get("tenant"))?,
        name: row.get("name"),
        kind: PrincipalKind::read(row.get("kind")).ok_or_else(unreadable)?,
        grants: grants
            .iter()
            .map(|text| read_grant(text).ok_or_else(unreadable))
            .collect::<Result<_, _>>()?,
    })
}

/// A grant as it is stored: `writer *`, `reader 01M7EB3QWY4C5CPJF6982ZJQ18`.
pub(super) fn grant_text(grant: &Grant) -> String {
    let repository = match &grant.repository {
        GrantScope::All => "*",
        GrantScope::One(id) => id.as_str(),
    };
    format!("{} {repository}", grant.role.as_str())
}

pub(super) fn read_grant(text: &str) -> Option<Grant> {
    let (role, repository) = text.split_once(' ')?;
    let repository = match repository {
        "*" => GrantScope::All,
        id => GrantScope::One(Id::read(id)?),
    };
    Some(Grant { repository, role: AccessRole::read(role)? })
}

fn new_secret() -> Result<String, ServiceError> {
    let mut secret = String::with_capacity(SECRET_LENGTH);
    while secret.len() < SECRET_LENGTH {
        let bytes = random_bytes::<64>()?;
        // 248 is four times 62: a remainder of a larger byte would favour the first digits.
        let digits = bytes.iter().filter(|byte| **byte < 248);
        let digits = digits.map(|byte| char::from(BASE_62[usize::from(byte % 62)]));
        secret.extend(digits.take(SECRET_LENGTH - secret.len()));
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_one_form() {
        let id = "01M7EB3QWY4C5CPJF6982ZJQ18";
        let secret = new_secret().expect("there is randomness");
        let token = format!("twn_{id}_{secret}");
        assert_eq!(parts(&token), Some((id, secret.as_str())));
        let lower = format!("twn_{}_{secret}", id.to_lowercase());
        let others = [
            lower.as_str(),
            &token[..token.len() - 1],
            &token[4..],
            &token[..31],
            &format!("{token}0"),
            &format!("{token} "),
            "twn__",
            "",
        ];
        for other in others {
            assert_eq!(parts(other), None, "{other}");
        }
    }

    #[test]
    fn grants_are_read_as_they_were_written() {
        let id = Id::read("01M7EB3QWY4C5CPJF6982ZJQ18").expect("an id");
        for repository in [GrantScope::All, GrantScope::One(id)] {
            for role in AccessRole::ALL {
                let grant = Grant { repository: repository.clone(), role };
                assert_eq!(read_grant(&grant_text(&grant)), Some(grant));
            }
        }
        assert_eq!(read_grant("root *"), None);
    }
}
