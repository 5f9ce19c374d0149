//! The MCP door: the verbs as tools, over stdio.
//!
//! stdout carries JSON-RPC alone. Starting does nothing heavy: schemas are made
//! when a client lists tools, and the memory is opened by the first call.

#[cfg(feature = "conformance")]
pub mod conformance;
mod lines;
mod person;
mod salvage;
mod server;
mod tools;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;

use crate::problem::CommandError;
use crate::{desk, out};
use lines::LineTransport;
use server::McpServer;
pub use tools::ToolSelection;

/// How a server is started.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// `--project`.
    pub project: Option<PathBuf>,
    /// `--agent`.
    pub agent: Option<String>,
    /// `--tools`; else what `config.yml` says.
    pub tools: Option<ToolSelection>,
    /// Whether tools are listed by their names, for a transport that puts the rest in.
    pub names_only: bool,
}

/// Serves until the client closes our input.
pub fn serve(options: ServerOptions) -> Result<(), CommandError> {
    let caller = crate::desk::caller_over_mcp(options.agent.clone(), None, String::new());
    caller.fit().map_err(|refused| CommandError::refused(&refused))?;
    // One thread for the wire; calls run on a few others, so that a slow one
    // does not hold up the next line.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(8)
        .thread_keep_alive(Duration::from_secs(600))
        .build()
        .map_err(|error| CommandError::of_error("RUNTIME", &error))?;
    if std::io::stdin().is_terminal() {
        let hint = "twining mcp talks JSON-RPC with an MCP client on stdin and stdout; end it with ctrl-d\n";
        // Only a person would miss it.
        let _ = std::io::stderr().write_all(hint.as_bytes());
    }
    if let Err(problem) = desk::find(options.project.clone()) {
        // Served all the same: every call answers it, and the folder may yet come.
        out::warn_about(&problem);
    }
    let server = McpServer::new(options);
    let ending = runtime.block_on(converse(&server));
    server.leave();
    // A read of stdin that still waits on another thread must not keep us alive.
    runtime.shutdown_background();
    ending
}

async fn converse(server: &McpServer) -> Result<(), CommandError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let running = match server.clone().serve(LineTransport::new(input, output)).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(CommandError::of_error("PROTOCOL", &error)),
    };
    server.drain_in_background();
    running.waiting().await.map(drop).map_err(|error| CommandError::of_error("RUNTIME", &error))
}
