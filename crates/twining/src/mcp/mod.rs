//! The MCP door: the verbs as tools, over stdio.
//!
//! stdout carries JSON-RPC alone. Starting does nothing heavy: schemas are made
//! when a client lists tools, and the memory is opened by the first call.

mod elicitation;
mod line_transport;
mod request_scanner;
mod server;
mod tool_list;

pub use server::mcp_server;
pub(crate) use server::{ServerOptions, serve};
pub(crate) use tool_list::ToolSelection;
