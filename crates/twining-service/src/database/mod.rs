//! The database: connections, the schema, and everything that is asked of PostgreSQL.
//!
//! Each transaction names its tenant first, and row security compares every row with it. The
//! role that serves owns nothing and cannot change the schema, the log or the audit.

mod append_request;
mod audit;
mod confirmations;
mod connection;
mod database_url;
mod docs;
mod head_watch;
mod issuers;
mod log_writer;
mod migrations;
mod pg_log;
mod tenants;
mod tls;
mod tokens;
mod write_metrics;

pub use audit::{AuditEntry, AuditRow};
pub(crate) use connection::random_bytes;
pub use connection::{Database, DatabaseSettings};
pub use docs::DocRow;
pub use head_watch::HeadWatch;
pub use issuers::{IssuerRow, NewIssuer};
pub use pg_log::{LogRow, PgLog};
pub use tenants::{RepositoryRow, TenantLimits, TenantRow, TenantSize};
pub use tokens::{GoodToken, NewToken, TokenRow};
