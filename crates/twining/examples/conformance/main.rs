//! What the protocol's conformance suite talks to: this server over HTTP, as it
//! is or with the fixtures the suite wants. A release has no fixtures.

mod answers;
mod fixtures;
mod rounds;

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::fixtures::Fixtures;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Serves `product` or `fixtures`; says where on stdout, and ends with its stdin.
fn main() -> ExitCode {
    let sessions = Arc::new(LocalSessionManager::default());
    let ended = match std::env::args().nth(1).as_deref() {
        Some("product") => run(twining::mcp_server(), sessions),
        Some("fixtures") => Fixtures::new(twining::mcp_server(), sessions.clone())
            .and_then(|fixtures| run(fixtures, sessions)),
        _ => Err("name what to serve: `product` or `fixtures`".into()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // No other channel is left.
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(
    handler: impl ServerHandler + Clone,
    sessions: Arc<LocalSessionManager>,
) -> Result<(), BoxError> {
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
