//! The routes, and what their handlers share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};

use twining_model::IdSource;

use super::access::{self, KnownCallers};
use super::api_error::ApiError;
use super::blocking_calls::BlockingCalls;
use super::hosts::HostRules;
use super::log_routes;
use super::mcp_endpoint::{self, McpService, ToolCatalog};
use super::metrics::{Metrics, NodeGauges};
use super::oauth::{self, ResourceServer};
use super::rates::RateLimits;
use super::readiness::Readiness;
use super::request_log::RequestLog;
use super::sessions::SessionOwners;
use crate::database::Database;
use crate::repositories::OpenRepositories;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// What the handlers share.
pub(super) struct ServiceState {
    pub(super) database: Database,
    pub(super) repositories: OpenRepositories,
    pub(super) tools: Arc<dyn ToolCatalog>,
    pub(super) hosts: HostRules,
    pub(super) known: KnownCallers,
    pub(super) oauth: ResourceServer,
    pub(super) rates: RateLimits,
    pub(super) calls: BlockingCalls,
    /// Claims are changed one after the other on a node, so that nodes meet less often.
    pub(super) claims: tokio::sync::Mutex<()>,
    pub(super) sessions: SessionOwners,
    pub(super) metrics: Metrics,
    pub(super) readiness: Readiness,
    pub(super) log: RequestLog,
    /// The time.
    pub(super) ids: Arc<IdSource>,
}

/// Everything that is served to the world.
pub(super) fn routes(state: &Arc<ServiceState>) -> Router {
    let mcp = mcp_endpoint::service(state);
    let shared = Arc::clone(state);
    let answer = move |request| mcp_answer(Arc::clone(&shared), mcp.clone(), request);
    Router::new()
        .route("/{tenant}/{repo}/mcp", any(answer))
        .route("/{tenant}/{repo}/v1/append", post(log_routes::append))
        .route("/{tenant}/{repo}/v1/since", get(log_routes::since))
        .route("/{tenant}/{repo}/v1/snapshot", get(log_routes::snapshot))
        .route(
            "/{tenant}/{repo}/v1/claims",
            get(log_routes::read_claims).post(log_routes::replace_claims),
        )
        .fallback(|| async { ApiError::not_found() })
        .method_not_allowed_fallback(|| async { StatusCode::METHOD_NOT_ALLOWED })
        .layer(from_fn_with_state(Arc::clone(state), access::guard))
        // Asked by who has no token yet.
        .route("/.well-known/oauth-protected-resource/{*endpoint}", get(oauth::metadata))
        // One word to anybody, whatever name they call us by.
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(is_ready))
        .with_state(Arc::clone(state))
}

/// What is served to who watches the node.
pub(super) fn metrics_routes(state: &Arc<ServiceState>) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(Arc::clone(state))
}

/// A body of at most so many bytes that arrives in time.
pub(super) async fn read_body(body: Body, max_bytes: usize) -> Result<Bytes, ApiError> {
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, max_bytes)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(ApiError::too_large()),
        Err(_) => Err(ApiError::too_slow()),
    }
}

async fn mcp_answer(
    state: Arc<ServiceState>,
    mcp: McpService,
    request: axum::extract::Request,
) -> Response {
    mcp_endpoint::answer(&state, &mcp, request).await.unwrap_or_else(IntoResponse::into_response)
}

async fn is_ready(State(state): State<Arc<ServiceState>>) -> (StatusCode, &'static str) {
    let now = Instant::now();
    if state.readiness.is_ready(state.repositories.longest_lag(now), now) {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "unready")
    }
}

async fn metrics(State(state): State<Arc<ServiceState>>) -> String {
    let now = Instant::now();
    let lag = state.repositories.longest_lag(now);
    let node = NodeGauges {
        open_repositories: state.repositories.count(),
        lag,
        is_ready: state.readiness.is_ready(lag, now),
    };
    let mut text = state.metrics.render(&node, now);
    state.database.write_metrics().render(&mut text);
    text
}
