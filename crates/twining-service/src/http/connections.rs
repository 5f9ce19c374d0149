//! Connections: accepted, counted, with or without TLS, and ended in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use super::header_clock::{ClockedStream, HeaderClock};
use super::router::ServiceState;

/// Clients that may wait to be accepted: after a restart they all come at once.
const BACKLOG: u32 = 4096;
/// Connections at a time; one more is closed at once.
const MAX_CONNECTIONS: u32 = 20_000;
/// How long a client may take for its headers, and for the handshake of TLS.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may be idle between requests.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// A port that is open.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Where connections are taken, and how they end.
pub(super) struct Acceptor {
    router: Router,
    tls: Option<TlsAcceptor>,
    state: Arc<ServiceState>,
    open: Arc<Semaphore>,
    ending: watch::Sender<bool>,
}

impl Acceptor {
    /// Takes connections for these routes.
    pub(super) fn new(router: Router, tls: Option<TlsAcceptor>, state: Arc<ServiceState>) -> Self {
        let open = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
        Self { router, tls, state, open, ending: watch::Sender::new(false) }
    }

    /// Takes connections until it is dropped.
    pub(super) async fn accept(&self, listener: &TcpListener) {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // Out of descriptors: asked again at once, it would fail again.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Ok(permit) = Arc::clone(&self.open).try_acquire_owned() else { continue };
            // An answer of two small packets would otherwise wait for the client's delayed one.
            let _ = stream.set_nodelay(true);
            let (router, tls) = (self.router.clone(), self.tls.clone());
            let (state, ending) = (Arc::clone(&self.state), self.ending.subscribe());
            tokio::spawn(async move {
                state.metrics.connections.fetch_add(1, Ordering::Relaxed);
                converse(stream, router, tls, ending).await;
                state.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                drop(permit);
            });
        }
    }

    /// Lets what runs finish, and returns when it has.
    pub(super) async fn end(&self) {
        self.ending.send_replace(true);
        // Fails only if the semaphore were closed, and nobody closes it.
        let _ = self.open.acquire_many(MAX_CONNECTIONS).await;
    }
}

async fn converse(
    stream: TcpStream,
    router: Router,
    tls: Option<TlsAcceptor>,
    ending: watch::Receiver<bool>,
) {
    match tls {
        None => answer(stream, router, ending).await,
        Some(tls) => {
            // A client that does not finish its handshake is no error of ours.
            if let Ok(Ok(stream)) = tokio::time::timeout(HEADER_TIMEOUT, tls.accept(stream)).await {
                answer(stream, router, ending).await;
            }
        }
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    mut ending: watch::Receiver<bool>,
) {
    let clock = HeaderClock::new();
    let routes = TowerToHyperService::new(router);
    let timed = clock.clone();
    let service = service_fn(move |request| {
        timed.headers_came();
        let (answer, timed) = (routes.call(request), timed.clone());
        async move { answer.await.inspect(|_| timed.answered()) }
    });
    // hyper's own limit covers the time between requests too.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .serve_connection(TokioIo::new(ClockedStream::new(stream, clock.clone())), service);
    tokio::pin!(connection);
    tokio::select! {
        () = clock.too_slow(HEADER_TIMEOUT) => return,
        // A client that goes away is no error of ours.
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|is_ending| *is_ending) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
