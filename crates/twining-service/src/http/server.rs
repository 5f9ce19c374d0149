//! A node: it listens, answers, and ends in order when it is told to.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use twining_model::IdSource;

use super::access::KnownCallers;
use super::blocking_calls::BlockingCalls;
use super::connections::{Acceptor, listen};
use super::hosts::HostRules;
use super::mcp_endpoint::ToolCatalog;
use super::metrics::Metrics;
use super::oauth::{PublicUrl, ResourceServer};
use super::rates::{CallRates, RateLimits};
use super::readiness::Readiness;
use super::request_log::RequestLog;
use super::router::{ServiceState, metrics_routes, routes};
use super::sessions::SessionOwners;
use super::tls::TlsFiles;
use crate::database::Database;
use crate::error::ServiceError;
use crate::repositories::{MemoryOpener, OpenRepositories};

/// How long calls that run may take when the node ends.
const FINISH_WAIT: Duration = Duration::from_secs(20);

/// How a node serves.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where Prometheus asks, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// TLS in the process.
    pub tls: Option<TlsFiles>,
    /// Whether a proxy in front of it does TLS.
    pub behind_proxy: bool,
    /// The names it is reached by.
    pub hosts: HostRules,
    /// Where it is reached from outside, for access tokens by OAuth.
    pub public_url: Option<PublicUrl>,
    /// Where its folders are.
    pub data: PathBuf,
    /// Repositories that are open at a time.
    pub open_limit: usize,
    /// How often a token and a tenant may call.
    pub rates: CallRates,
    /// Whether clients of the protocol before 2026-07-28 get sessions, which are of this node.
    pub sessions: bool,
    /// How long it still takes connections after it was told to end, so that whoever sends
    /// requests notices first.
    pub drain: Duration,
}

/// What a node is made of.
pub struct ServiceParts {
    /// The database.
    pub database: Database,
    /// Opens memories.
    pub opener: Arc<dyn MemoryOpener>,
    /// The tools it offers.
    pub tools: Arc<dyn ToolCatalog>,
    /// Time, and ids of requests.
    pub ids: Arc<IdSource>,
}

impl ServeOptions {
    /// Fails where tokens would go over a network in the clear.
    fn check(&self) -> Result<(), ServiceError> {
        let is_safe = self.tls.is_some() || self.behind_proxy || self.listen.ip().is_loopback();
        if is_safe {
            return Ok(());
        }
        Err(ServiceError::Settings(format!(
            "plain HTTP is served on the loopback address only, and `{}` is another: give --tls-cert and --tls-key, or --behind-proxy with the public host names",
            self.listen
        )))
    }
}

/// Serves until a signal ends it. `announce` is told the address once connections are taken.
pub async fn serve(
    options: ServeOptions,
    parts: ServiceParts,
    announce: impl FnOnce(SocketAddr, Option<SocketAddr>),
) -> Result<(), ServiceError> {
    options.check()?;
    let tls = options.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
    let ServiceParts { database, opener, tools, ids } = parts;
    database.check_migrations().await?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
    let listener = bound(options.listen)?;
    let metrics = options.metrics.map(bound).transpose()?;
    let state = Arc::new(ServiceState {
        repositories: OpenRepositories::new(
            database.clone(),
            opener,
            options.data,
            options.open_limit,
        ),
        database,
        tools,
        hosts: options.hosts,
        known: KnownCallers::default(),
        oauth: ResourceServer::new(options.public_url, Arc::clone(&ids)),
        rates: RateLimits::new(options.rates),
        calls: BlockingCalls::new(),
        claims: tokio::sync::Mutex::default(),
        sessions: SessionOwners::new(options.sessions),
        metrics: Metrics::default(),
        readiness: Readiness::new(Instant::now()),
        log: RequestLog::new(Arc::clone(&ids)),
        ids,
    });
    let acceptor = Acceptor::new(routes(&state), tls, Arc::clone(&state));
    let watching = Acceptor::new(metrics_routes(&state), None, Arc::clone(&state));
    announce(address_of(&listener)?, metrics.as_ref().map(address_of).transpose()?);
    state.log.event("serving");
    if state.database.has_excess_rights().await? {
        state
            .log
            .event("the database's login may do more than serve: give one of its own to nodes");
    }
    let shutdown = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        state.readiness.end();
        state.log.event("draining");
        tokio::time::sleep(options.drain).await;
    };
    let watched = async {
        match &metrics {
            Some(listener) => watching.accept(listener).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = acceptor.accept(&listener) => {}
        () = watched => {}
        () = state.readiness.watch(&state.database) => {}
        () = shutdown => {}
    }
    drop(listener);
    let ended = tokio::time::timeout(FINISH_WAIT, acceptor.end()).await;
    state.log.event(if ended.is_ok() { "ended" } else { "ended with calls that still ran" });
    Ok(())
}

fn bound(address: SocketAddr) -> Result<TcpListener, ServiceError> {
    listen(address)
        .map_err(|error| ServiceError::Settings(format!("cannot listen on `{address}`: {error}")))
}

fn address_of(listener: &TcpListener) -> Result<SocketAddr, ServiceError> {
    listener.local_addr().map_err(no_signals)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
fn no_signals(error: std::io::Error) -> ServiceError {
    ServiceError::Settings(format!("cannot serve: {error}"))
}
