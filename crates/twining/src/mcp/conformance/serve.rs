//! What the protocol's conformance suite talks to: this server over HTTP, as it
//! is or with the fixtures the suite wants. Built with `--features conformance`
//! only; a release has neither HTTP nor fixtures.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::fixtures::Fixtures;
use crate::mcp::server::McpServer;
use crate::mcp::server::ServerOptions;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Serves if `twining conformance product|fixtures` was called; says where on
/// stdout, and ends with its stdin.
pub(crate) fn asked() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ended = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["conformance", "product"] => run(Arc::new(LocalSessionManager::default()), |_| {
            Ok(McpServer::new(ServerOptions::default()))
        }),
        ["conformance", "fixtures"] => run(Arc::new(LocalSessionManager::default()), Fixtures::new),
        _ => return None,
    };
    Some(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody else could be told.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::FAILURE
        }
    })
}

pub(super) fn run<H: ServerHandler + Clone + Sync>(
    sessions: Arc<LocalSessionManager>,
    make: impl FnOnce(Arc<LocalSessionManager>) -> Result<H, BoxError>,
) -> Result<(), BoxError> {
    let handler = make(sessions.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let config = StreamableHttpServerConfig::default()
            .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
            .enforce_origin_validation();
        let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
        let router = axum::Router::new().nest_service("/mcp", service);
        writeln!(std::io::stdout(), "http://{address}/mcp")?;
        let (closed, ended) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // Whatever ends the reading, nobody is there any more.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            let _ = closed.send(());
        });
        tokio::select! {
            served = axum::serve(listener, router).into_future() => served.map_err(BoxError::from),
            _ = ended => Ok(()),
        }
    })
}
