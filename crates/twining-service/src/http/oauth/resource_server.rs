//! Whom an access token stands for, and what clients are told about where to get one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use sha2::{Digest, Sha256};
use twining_model::IdSource;

use super::access_token::{AccessToken, scopes};
use super::key_cache::KeyCache;
use super::web_address::PublicUrl;
use crate::database::{Database, IssuerRow};
use crate::http::access::{endpoint_names, recall, remember};
use crate::http::api_error::ApiError;
use crate::http::router::ServiceState;
use crate::principal::{Grant, Principal};

/// What is put before an endpoint's path for the address of what clients are told about it.
pub(in crate::http) const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";
/// How long the list of a tenant's issuers is used, and how long while the database is away.
const FRESH: Duration = Duration::from_secs(10);
const BELIEVED: Duration = Duration::from_secs(3600);

/// Knows access tokens of the issuers that tenants trust.
pub(in crate::http) struct ResourceServer {
    url: Option<PublicUrl>,
    ids: Arc<IdSource>,
    issuers: Mutex<HashMap<String, (Vec<IssuerRow>, Instant)>>,
    keys: KeyCache,
}

impl ResourceServer {
    /// Of a service that is reached there; without an address no access token is accepted.
    pub(in crate::http) fn new(url: Option<PublicUrl>, ids: Arc<IdSource>) -> Self {
        Self { url, ids, issuers: Mutex::default(), keys: KeyCache::default() }
    }

    /// Where a client learns how to get a token for an endpoint. Said of every path that could be
    /// one, so that it says nothing of what is there.
    pub(in crate::http) fn metadata_url(&self, path: &str) -> Option<String> {
        let url = self.url.as_ref()?;
        endpoint_names(path)?;
        Some(url.with_path(&format!("{METADATA_PATH}{path}")))
    }

    /// Whom an access token for this path stands for; nobody if anything about it is wrong.
    pub(in crate::http) async fn principal(
        &self,
        database: &Database,
        path: &str,
        token: &str,
    ) -> Result<Option<Principal>, ApiError> {
        let Some(url) = &self.url else { return Ok(None) };
        let Some((tenant, _)) = endpoint_names(path) else { return Ok(None) };
        let Some(token) = AccessToken::read(token) else { return Ok(None) };
        let issuers = self.issuers(database, tenant).await?;
        let is_its = |row: &&IssuerRow| row.issuer.url == token.issuer();
        let Some(row) = issuers.iter().find(is_its) else { return Ok(None) };
        let key = self.keys.find(&row.issuer.jwks, &token.key_id).await;
        let endpoint = url.with_path(path);
        let is_good = key.is_some_and(|key| token.is_good(&key, &endpoint, self.ids.now()));
        let Some(subject) = token.subject().filter(|_| is_good) else { return Ok(None) };
        let Some(asked) = token.role() else {
            return Err(ApiError::needs_scope(scopes()[0], self.metadata_url(path)));
        };
        let grant = |grant: &Grant| Grant { role: grant.role.min(asked), ..grant.clone() };
        Ok(Some(Principal {
            token_id: format!("{}.{}", row.id, digest_of(subject)),
            tenant: row.issuer.tenant.clone(),
            name: format!("{}:{subject}", row.issuer.name),
            kind: row.issuer.kind,
            grants: row.issuer.grants.iter().map(grant).collect(),
        }))
    }

    async fn issuers(&self, database: &Database, tenant: &str) -> Result<Vec<IssuerRow>, ApiError> {
        let tenant = tenant.to_owned();
        if let Some(known) = recall(&self.issuers, &tenant, FRESH) {
            return Ok(known);
        }
        match database.find_issuers(&tenant).await {
            Ok(found) => {
                remember(&self.issuers, tenant, found.clone());
                Ok(found)
            }
            Err(_) => recall(&self.issuers, &tenant, BELIEVED).ok_or_else(ApiError::unavailable),
        }
    }
}

/// What is said of a subject in logs: who it is at their issuer may be an address.
fn digest_of(subject: &str) -> String {
    Sha256::digest(subject)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Tells a client who issues tokens for an endpoint. The same for every repository of a tenant,
/// there or not.
pub(in crate::http) async fn metadata(
    State(state): State<Arc<ServiceState>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if !state.hosts.allow(&uri, &headers) {
        return ApiError::wrong_host().into_response();
    }
    let oauth = &state.oauth;
    let path = uri.path().strip_prefix(METADATA_PATH).unwrap_or_default();
    let (Some(url), Some((tenant, _))) = (&oauth.url, endpoint_names(path)) else {
        return ApiError::not_found().into_response();
    };
    match oauth.issuers(&state.database, tenant).await {
        Ok(issuers) if issuers.is_empty() => ApiError::not_found().into_response(),
        Ok(issuers) => {
            let servers: Vec<&str> = issuers.iter().map(|row| row.issuer.url.as_str()).collect();
            Json(json!({
                "resource": url.with_path(path),
                "authorization_servers": servers,
                "scopes_supported": scopes(),
                "bearer_methods_supported": ["header"],
            }))
            .into_response()
        }
        Err(error) => error.into_response(),
    }
}
