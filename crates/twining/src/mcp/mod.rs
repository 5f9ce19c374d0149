//! MCP entry point: the verbs as tools, over stdio.
//!
//! stdout carries only JSON-RPC. Startup is cheap: schemas are built when a client lists tools, and
//! the first call opens the store.

mod elicitation;
mod line_transport;
mod request_scanner;
mod server;
mod tool_list;

#[cfg(feature = "service")]
pub(crate) use elicitation::declined;
#[cfg(feature = "service")]
pub(crate) use server::instructions;
pub use server::mcp_server;
pub(crate) use server::{ServerOptions, serve};
pub(crate) use tool_list::ToolSelection;
#[cfg(feature = "service")]
pub(crate) use tool_list::{failed, succeeded};
