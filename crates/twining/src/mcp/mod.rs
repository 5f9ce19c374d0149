//! The MCP door: the verbs as tools, over stdio.
//!
//! stdout carries JSON-RPC alone. Starting does nothing heavy: schemas are made
//! when a client lists tools, and the memory is opened by the first call.

#[cfg(feature = "conformance")]
pub(crate) mod conformance;
mod elicitation;
mod line_transport;
mod request_scanner;
mod server;
mod tool_list;

pub(crate) use server::{ServerOptions, serve};
pub(crate) use tool_list::ToolSelection;
