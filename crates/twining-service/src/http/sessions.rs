//! Sessions of the protocol before 2026-07-28, on a node that was started with them. A session
//! belongs to the token that began it, in the repository it began in; for anybody else it is not
//! there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use twining_model::Id;

use super::access::AdmittedRequest;
use super::api_error::ApiError;

const SESSION: &str = "mcp-session-id";
/// Sessions at a time; each has a task, and five minutes after its last call it ends.
const MAX_SESSIONS: usize = 1_000;
/// How long whoever wants one more waits.
const FULL_WAIT: u64 = 30;

/// Whose the sessions of a node are.
pub(super) struct SessionOwners {
    is_on: bool,
    pub(super) manager: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<String, SessionOwner>>,
}

/// A token's id, and a repository.
type SessionOwner = (String, Id);

impl SessionOwners {
    /// Nobody's yet; none ever if they are not on.
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on, manager: Arc::default(), owners: Mutex::default() }
    }

    /// Whether there are sessions.
    pub(super) fn are_on(&self) -> bool {
        self.is_on
    }

    /// Fails for the session of another, and where there are too many to begin one.
    pub(super) async fn admit(
        &self,
        headers: &HeaderMap,
        admitted: &AdmittedRequest,
    ) -> Result<(), ApiError> {
        if !self.is_on {
            return Ok(());
        }
        let Some(session) = headers.get(SESSION) else {
            let count = self.manager.sessions.read().await.len();
            return if count < MAX_SESSIONS { Ok(()) } else { Err(ApiError::too_many(FULL_WAIT)) };
        };
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = session.to_str().ok().and_then(|session| owners.get(session));
        if owner == Some(&owner_of(admitted)) { Ok(()) } else { Err(ApiError::no_session()) }
    }

    /// Notes whose a session is that an answer begins.
    pub(super) async fn note(&self, headers: &HeaderMap, admitted: &AdmittedRequest) {
        let session = headers.get(SESSION).and_then(|session| session.to_str().ok());
        let Some(session) = session.filter(|_| self.is_on) else { return };
        let known = self.manager.sessions.read().await;
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|session, _| known.contains_key(session.as_str()));
        owners.entry(session.to_owned()).or_insert_with(|| owner_of(admitted));
    }
}

fn owner_of(admitted: &AdmittedRequest) -> SessionOwner {
    (admitted.principal.token_id.clone(), admitted.repository.id.clone())
}
