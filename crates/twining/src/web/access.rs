//! Who may ask: the loopback address is no protection by itself, because any web page may send
//! requests to it. Host, origin and fetch site are compared whole, and data wants a key.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use twining_model::limits;

use crate::render::command_error::CommandError;
use crate::render::json_output;
use crate::web::address;
use crate::web::keys::KeyAccess;
use crate::web::server::WebServer;

/// On every answer. No script but ours, no style element, no frame, no request to anybody else.
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
];

/// An error as the tool's JSON, whose code decides the status.
pub(super) struct WebError(pub(super) Value);

impl WebError {
    pub(super) fn new(code: &str, message: &str) -> Self {
        CommandError::unavailable(code, message).into()
    }
}

impl From<CommandError> for WebError {
    fn from(error: CommandError) -> Self {
        Self(error.to_json())
    }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let status = match self.0["code"].as_str().unwrap_or_default() {
            "INVALID_INPUT" | "NEEDS_NAME" => StatusCode::BAD_REQUEST,
            "NO_KEY" => StatusCode::UNAUTHORIZED,
            "NEEDS_PERSON" | "CODE_USED" | "CODE_EXPIRED" | "WRONG_ORIGIN" => StatusCode::FORBIDDEN,
            "NOT_FOUND" => StatusCode::NOT_FOUND,
            "WRONG_METHOD" => StatusCode::METHOD_NOT_ALLOWED,
            "CLAIMED" | "OUT_OF_STEP" | "NO_EVIDENCE" | "CONFIRM" => StatusCode::CONFLICT,
            "TOO_LARGE" => StatusCode::PAYLOAD_TOO_LARGE,
            "WRONG_TYPE" => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "WRONG_HOST" => StatusCode::MISDIRECTED_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, json(json_output::compact(&self.0))).into_response()
    }
}

/// A line of JSON as an answer.
pub(super) fn json(line: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], line).into_response()
}

/// Refuses what does not come from the page, and puts the headers on every answer.
pub(super) async fn guard(
    State(server): State<Arc<WebServer>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match check(server.port, &request) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// A handler that takes this is reached with a key only.
impl FromRequestParts<Arc<WebServer>> for KeyAccess {
    type Rejection = WebError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &Arc<WebServer>,
    ) -> Result<Self, WebError> {
        let given = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let key = given.and_then(|value| value.strip_prefix("Bearer "));
        key.and_then(|key| server.keys.access_of(key)).ok_or_else(|| {
            CommandError::unavailable("NO_KEY", "this browser has no key")
                .with_hint("run `twining ui` for a new link")
                .into()
        })
    }
}

fn check(port: u16, request: &Request) -> Result<(), WebError> {
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    let is_host = |text: &[u8]| hosts.iter().any(|host| host.as_bytes() == text);
    let all = |name, is_fine: &dyn Fn(&[u8]) -> bool| {
        headers.get_all(name).iter().all(|value| is_fine(value.as_bytes()))
    };
    let is_target_ours = uri.authority().is_none_or(|name| is_host(name.as_str().as_bytes()));
    if !headers.contains_key(header::HOST) || !all("host", &is_host) || !is_target_ours {
        let message = "this server answers to 127.0.0.1, localhost and [::1] with its port";
        return Err(WebError::new("WRONG_HOST", message));
    }
    let is_origin = |value: &[u8]| value.strip_prefix(b"http://").is_some_and(is_host);
    let is_own_site = |value: &[u8]| matches!(value, b"same-origin" | b"none");
    if !all("origin", &is_origin) || !(all("sec-fetch-site", &is_own_site) || is_visit(request)) {
        return Err(WebError::new("WRONG_ORIGIN", "requests of other pages are refused"));
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match *method {
        Method::GET => Ok(()),
        Method::POST if text("content-type").split(';').next() != Some("application/json") => {
            Err(WebError::new("WRONG_TYPE", "a request's body is application/json"))
        }
        Method::POST if text("content-length").parse().unwrap_or(0) > limits::RECORD_BYTES => {
            Err(WebError::new("TOO_LARGE", "the body is too large"))
        }
        Method::POST => Ok(()),
        _ => Err(WebError::new("WRONG_METHOD", "only GET and POST are answered")),
    }
}

/// Whether somebody follows a link to the page from elsewhere: the shell holds no data.
fn is_visit(request: &Request) -> bool {
    let is = |name, wanted: &str| request.headers().get(name).is_some_and(|value| value == wanted);
    *request.method() == Method::GET
        && is("sec-fetch-mode", "navigate")
        && is("sec-fetch-dest", "document")
        && address::is_known(request.uri().path())
}
