//! The service over HTTP: MCP for agents, a few routes for linked clones, health and metrics.
//!
//! Every request passes [`access`] first: host, origin, token, repository, role and rates are
//! settled there, and what is behind it sees only its own repository. Requests share nothing but
//! the open repositories: any node answers any request.

mod access;
mod api_error;
mod blocking_calls;
mod confirmation;
mod connections;
mod header_clock;
mod hosts;
mod incoming_lines;
mod keyed_calls;
mod log_routes;
mod mcp_endpoint;
mod metrics;
mod oauth;
mod rates;
mod readiness;
mod request_log;
mod router;
mod server;
mod sessions;
mod tls;

pub use hosts::HostRules;
pub use mcp_endpoint::{ToolAccess, ToolCatalog};
pub use oauth::{PublicUrl, check_key_address};
pub use rates::CallRates;
pub use server::{ServeOptions, ServiceParts, serve};
pub use tls::TlsFiles;
