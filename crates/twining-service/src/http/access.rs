//! The door: which host, whose token, which repository, in what role, and not too often.
//!
//! Only the path and the token count; no other header, field or parameter names a tenant, a
//! repository or a principal. Whatever is not for this token answers the same as what is not there.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::api_error::ApiError;
use super::request_log::RequestNote;
use super::router::ServiceState;
use crate::database::{AuditEntry, Database, GoodToken, RepositoryRow};
use crate::principal::{AccessRole, Principal};

/// How long a caller is still believed after the database stopped answering, until their token
/// expires: their reads go on.
const BELIEVED: Duration = Duration::from_secs(3600);
/// How long a repository's row is used before the database is asked again.
const FRESH: Duration = Duration::from_secs(10);
/// Callers that are remembered for that.
const MOST_KNOWN: usize = 10_000;
/// With it a linked clone says how many seconds its oldest change has waited to be sent.
const OUTBOX_AGE: &str = "twining-outbox-age";
/// The longest token that is looked at.
const MAX_TOKEN: usize = 8 * 1024;

/// A request that was let in.
#[derive(Clone, Debug)]
pub(super) struct AdmittedRequest {
    /// Whose token it carries.
    pub(super) principal: Principal,
    /// What that may do here.
    pub(super) role: AccessRole,
    /// Where it goes.
    pub(super) repository: RepositoryRow,
    /// What the log will say of it.
    pub(super) note: RequestNote,
}

impl AdmittedRequest {
    /// Fails below this role.
    pub(super) fn require(&self, needed: AccessRole) -> Result<(), ApiError> {
        if self.role < needed { Err(ApiError::needs_role(needed)) } else { Ok(()) }
    }

    /// That this was done under its token, and how it ended.
    pub(super) fn audit_entry(&self, act: &str, outcome: &str) -> AuditEntry {
        AuditEntry {
            tenant: self.repository.tenant.clone(),
            by: format!("{} ({})", self.principal.name, self.principal.token_id),
            via: "http".to_owned(),
            act: act.to_owned(),
            target: self.repository.name.clone(),
            outcome: outcome.to_owned(),
        }
    }
}

/// Who was let in lately, for when the database does not answer, and to ask it less.
#[derive(Default)]
pub(super) struct KnownCallers {
    tokens: Mutex<HashMap<[u8; 32], (GoodToken, Instant)>>,
    /// By the token too: what one token may see says nothing to another, not even by its speed.
    repositories: Mutex<HashMap<RepositoryKey, (RepositoryRow, Instant)>>,
}

/// A token's id, and the two names of a path.
type RepositoryKey = (String, String, String);

impl KnownCallers {
    async fn principal(
        &self,
        database: &Database,
        token: &str,
    ) -> Result<Option<Principal>, ApiError> {
        let key: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        match database.authenticate(token).await {
            Ok(Some(token)) => {
                remember(&self.tokens, key, token.clone());
                Ok(Some(token.principal))
            }
            Ok(None) => {
                locked(&self.tokens).remove(&key);
                Ok(None)
            }
            Err(_) => {
                let token = recall(&self.tokens, &key, BELIEVED);
                let token = token.ok_or_else(ApiError::unavailable)?;
                Ok((Instant::now() < token.expires).then_some(token.principal))
            }
        }
    }

    /// A repository that the principal has a grant for. It is looked up as the principal's tenant,
    /// so row security shows no other's; and the row is looked at here too.
    async fn repository(
        &self,
        database: &Database,
        principal: &Principal,
        (tenant, name): (&str, &str),
    ) -> Result<Option<RepositoryRow>, ApiError> {
        let key = (principal.token_id.clone(), tenant.to_owned(), name.to_owned());
        if let Some(row) = recall(&self.repositories, &key, FRESH) {
            return Ok(Some(row));
        }
        match database.find_repository(&principal.tenant, (tenant, name)).await {
            Ok(found) => {
                let granted = found.filter(|row| {
                    row.tenant == principal.tenant && principal.role_in(&row.id).is_some()
                });
                if let Some(row) = &granted {
                    remember(&self.repositories, key, row.clone());
                }
                Ok(granted)
            }
            Err(_) => recall(&self.repositories, &key, BELIEVED)
                .map(Some)
                .ok_or_else(ApiError::unavailable),
        }
    }
}

pub(super) fn remember<K: Eq + Hash, V>(known: &Mutex<HashMap<K, (V, Instant)>>, key: K, value: V) {
    let mut known = locked(known);
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(key, (value, Instant::now()));
}

pub(super) fn recall<K: Eq + Hash, V: Clone>(
    known: &Mutex<HashMap<K, (V, Instant)>>,
    key: &K,
    most: Duration,
) -> Option<V> {
    let known = locked(known);
    known.get(key).filter(|(_, at)| at.elapsed() < most).map(|(value, _)| value.clone())
}

fn locked<T>(known: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a request in, or answers why not, and notes what came of it.
pub(super) async fn guard(
    State(state): State<Arc<ServiceState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let (since, note) = (Instant::now(), RequestNote::default());
    let response =
        match admit(&state, request.uri().clone(), request.headers().clone(), &note, since).await {
            Ok((admitted, running)) => {
                request.extensions_mut().insert(admitted);
                let response = next.run(request).await;
                drop(running);
                response
            }
            Err(refused) => {
                state.metrics.refused(refused.status().as_u16());
                refused.into_response()
            }
        };
    state.log.answered(&note, response.status().as_u16(), since);
    response
}

async fn admit(
    state: &ServiceState,
    uri: Uri,
    headers: HeaderMap,
    note: &RequestNote,
    now: Instant,
) -> Result<(AdmittedRequest, tokio::sync::OwnedSemaphorePermit), ApiError> {
    if !state.hosts.allow(&uri, &headers) {
        return Err(ApiError::wrong_host());
    }
    let refused = || ApiError::unauthorized(state.oauth.metadata_url(uri.path()));
    let token = bearer_token(&headers).ok_or_else(refused)?;
    // Our own tokens have no dot, and access tokens of others have two.
    let found = match token.contains('.') {
        true => state.oauth.principal(&state.database, uri.path(), token).await?,
        false => state.known.principal(&state.database, token).await?,
    };
    let principal = found.ok_or_else(refused)?;
    let running = state
        .rates
        .admit(&principal.token_id, principal.tenant.as_str(), now)
        .map_err(|wait| ApiError::too_many(wait.as_secs_f64().ceil() as u64))?;
    if let Some(age) = headers.get(OUTBOX_AGE).and_then(|age| age.to_str().ok()?.parse().ok()) {
        state.metrics.outbox_waited(&principal.token_id, Duration::from_secs(age), now);
    }
    let (tenant, name) = repository_names(uri.path()).ok_or_else(ApiError::not_found)?;
    let found = state.known.repository(&state.database, &principal, (tenant, name)).await?;
    let repository = found.ok_or_else(ApiError::not_found)?;
    let role = principal.role_in(&repository.id).ok_or_else(ApiError::not_found)?;
    note.admitted(tenant, name, &principal.token_id);
    Ok((AdmittedRequest { principal, role, repository, note: note.clone() }, running))
}

/// The one token of a request. Two headers, a query or a cookie are none.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let is_token = scheme.eq_ignore_ascii_case("bearer")
        && token.len() <= MAX_TOKEN
        && token.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-.".contains(&c));
    is_token.then_some(token)
}

/// The two names a path begins with, as they are written. There is one way to write them.
fn repository_names(path: &str) -> Option<(&str, &str)> {
    let is_name = |name: &&str| {
        !name.starts_with('.')
            && name
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || b"._-".contains(&c))
    };
    let mut parts = path.strip_prefix('/')?.splitn(3, '/');
    let (tenant, name, route) = (parts.next()?, parts.next()?, parts.next()?);
    let is_there = !tenant.is_empty() && !name.is_empty() && !route.is_empty();
    (is_there && is_name(&tenant) && is_name(&name)).then_some((tenant, name))
}

/// The two names of the path of an MCP endpoint.
pub(super) fn endpoint_names(path: &str) -> Option<(&str, &str)> {
    let (tenant, name) = repository_names(path)?;
    (path.len() == tenant.len() + name.len() + 6 && path.ends_with("/mcp"))
        .then_some((tenant, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn a_path_is_written_in_one_way_only() {
        assert_eq!(repository_names("/acme/shop/mcp"), Some(("acme", "shop")));
        assert_eq!(repository_names("/acme/shop-2.0/v1/since"), Some(("acme", "shop-2.0")));
        assert_eq!(endpoint_names("/acme/shop/mcp"), Some(("acme", "shop")));
        for other in ["/acme/shop/v1/since", "/acme/shop/v1/mcp", "/acme/shop/mcp/"] {
            assert_eq!(endpoint_names(other), None, "{other}");
        }
        each(
            [
                "/acme/shop",
                "/acme/shop/",
                "//shop/mcp",
                "/acme//mcp",
                "/Acme/shop/mcp",
                "/acme/../mcp",
                "/acme/%73hop/mcp",
                "/acme%2fshop/mcp/x",
                "/acme/sh\u{f6}p/mcp",
                "/acme/shop\0/mcp",
            ],
            |trick| assert_eq!(repository_names(trick), None, "{trick:?}"),
        );
    }

    #[test]
    fn a_token_comes_in_one_header_and_nowhere_else() {
        let token = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().expect("a header"));
            }
            bearer_token(&headers).map(str::to_owned)
        };
        assert_eq!(token(&["Bearer twn_a_b"]).as_deref(), Some("twn_a_b"));
        assert_eq!(token(&["bearer twn_a_b"]).as_deref(), Some("twn_a_b"));
        for none in
            [&["Basic twn_a_b"][..], &["Bearer"], &["Bearer a b"], &["Bearer a", "Bearer a"], &[]]
        {
            assert_eq!(token(none), None, "{none:?}");
        }
    }
}
