//! Errors of the routes, as JSON: a word for programs, a message and the next step.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use twining_model::Id;
use twining_store::{LogError, StoreError};

use crate::error::ServiceError;
use crate::principal::AccessRole;

/// Why a request was not carried out.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    hint: Option<String>,
    retry_after: Option<u64>,
    /// What a client is told to ask for, in `WWW-Authenticate`.
    challenge: Option<String>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            hint: None,
            retry_after: None,
            challenge: None,
        }
    }

    fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The body makes no sense.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
            .with_hint("docs/reference/service.md has the form of every request")
    }

    /// A request that MCP does not know; the body is no JSON-RPC where a media type is refused.
    pub(super) fn not_of_protocol(status: StatusCode, said: &str) -> Self {
        let is_body = status == StatusCode::UNSUPPORTED_MEDIA_TYPE && said.contains("deserialize");
        let status = if is_body { StatusCode::BAD_REQUEST } else { status };
        Self::new(status, "invalid", format!("not a request of MCP: {said}"))
            .with_hint("send one JSON-RPC request, with the headers `Content-Type: application/json` and `Accept: application/json, text/event-stream`")
    }

    /// No token, or none that is good; `metadata` is where a client learns how to get one.
    pub(super) fn unauthorized(metadata: Option<String>) -> Self {
        let challenge = match metadata {
            Some(url) => format!("Bearer resource_metadata=\"{url}\""),
            None => "Bearer".to_owned(),
        };
        let error = Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "a valid token is needed")
            .with_hint("send `Authorization: Bearer twn_…`; an administrator issues tokens");
        Self { challenge: Some(challenge), ..error }
    }

    /// An access token that was not issued for anything that is done here.
    pub(super) fn needs_scope(scope: &str, metadata: Option<String>) -> Self {
        let message = format!("the access token has none of our scopes, such as `{scope}`");
        let url = metadata.map(|url| format!(", resource_metadata=\"{url}\"")).unwrap_or_default();
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"{url}");
        let error = Self::new(StatusCode::FORBIDDEN, "insufficient_scope", message)
            .with_hint("log in again and agree to one of the scopes");
        Self { challenge: Some(challenge), ..error }
    }

    /// A request from another site, or for another.
    pub(super) fn wrong_host() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "this host or origin is not served")
            .with_hint("use the address that the service is run under")
    }

    /// A role that is too low.
    pub(super) fn needs_role(needed: AccessRole) -> Self {
        let message = format!("this needs the role `{}`", needed.as_str());
        Self::new(StatusCode::FORBIDDEN, "insufficient_scope", message)
            .with_hint("ask an administrator for a token with that role")
    }

    /// A claim of somebody else.
    pub(super) fn others_claim() -> Self {
        let message = "a claim of another is neither changed nor made; releasing it needs the role `maintainer`";
        Self::new(StatusCode::FORBIDDEN, "insufficient_scope", message)
            .with_hint("ask its holder, or wait until it ends")
    }

    /// Nothing there, or nothing for this token: the answer is the same.
    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "there is no such repository or route")
            .with_hint("check the address, and which repositories the token is for")
    }

    /// No such session, or that of another: the client begins a new one.
    pub(super) fn no_session() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no_session", "there is no such session")
            .with_hint("begin a new one with `initialize`")
    }

    /// Too many requests.
    pub(super) fn too_many(wait_seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", "too many calls; wait a moment")
            .with_hint("send it again after the seconds in `Retry-After`")
            .retry_after(wait_seconds.max(1))
    }

    /// A body that is too large.
    pub(super) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is too large")
            .with_hint("send less at once")
    }

    /// A body that does not arrive.
    pub(super) fn too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time")
            .with_hint("send it again")
    }

    /// Others were quicker.
    pub(super) fn behind() -> Self {
        Self::new(StatusCode::CONFLICT, "behind", "others changed it in the meantime")
            .with_hint("follow, and plan again")
    }

    /// A clone that follows another repository than the one its address leads to.
    pub(super) fn other_repository(id: &Id) -> Self {
        let message = format!("this address leads to repository `{id}`, which is another one");
        Self::new(StatusCode::CONFLICT, "other_repository", message)
            .with_hint("check the address with who runs the service, and link the clone again")
    }

    /// A clone that has followed another log, as after a restore of the database.
    pub(super) fn other_log(line: u64) -> Self {
        let message = format!(
            "the log's line {line} is another than the one that was followed: the database was restored from a backup"
        );
        Self::new(StatusCode::CONFLICT, "other_log", message)
            .with_hint("link the clone again: `twining link URL`")
    }

    /// The database does not answer, or whether it accepted something is unknown.
    pub(super) fn unavailable() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the log cannot be reached now")
            .with_hint("send it again under the same key")
            .retry_after(1)
    }

    /// Whether the role alone is the reason.
    pub(super) fn is_of_role(&self) -> bool {
        self.code == "insufficient_scope"
    }

    /// Its status, for the log.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<LogError> for ApiError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Behind => Self::behind(),
            LogError::Unknown(_) | LogError::Unreachable(_) => Self::unavailable(),
            LogError::Denied { why, hint } => {
                Self::new(StatusCode::FORBIDDEN, "insufficient_scope", why).with_hint(hint)
            }
            LogError::Refused(why) => Self::new(StatusCode::CONFLICT, "refused", why)
                .with_hint("the same again is refused again"),
            error @ LogError::TooNew { .. } => {
                Self::new(StatusCode::CONFLICT, "too_new", error.to_string())
                    .with_hint("whoever runs the service must update this node")
            }
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Log(error) => error.into(),
            // Somebody else has the folder for too long. The log may have taken what was sent.
            StoreError::Locked { .. } => Self::unavailable(),
            error => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                format!("the node's folder failed: {}", error.code()),
            )
            .with_hint("whoever runs the service finds the cause in the node's log"),
        }
    }
}

impl From<ServiceError> for ApiError {
    /// What the database said is for the operator's log, not for the caller.
    fn from(_: ServiceError) -> Self {
        Self::unavailable()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut body = json!({"error": self.code, "message": self.message});
        if let Some(hint) = self.hint {
            body["hint"] = json!(hint);
        }
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(challenge) = self.challenge.and_then(|text| HeaderValue::try_from(text).ok()) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_busy_is_no_refusal_of_what_the_log_may_have() {
        let locked = StoreError::Locked { path: "lock".to_owned(), holder: None, waited_ms: 5_000 };
        let error = ApiError::from(locked);
        assert_eq!((error.status(), error.retry_after), (StatusCode::SERVICE_UNAVAILABLE, Some(1)));
        let damaged = ApiError::from(StoreError::Damaged { what: "a line".to_owned() });
        assert_eq!(damaged.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }
}
