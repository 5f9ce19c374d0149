//! Twining for a team: one log per repository in PostgreSQL, and nodes that serve it.
//!
//! The log is the truth; the folder of a repository on a node is a cache that follows it, with
//! the store that single machines use. A write is acknowledged when PostgreSQL has committed
//! it; a read sees whatever was acknowledged before it, on whichever node. This crate knows no
//! verbs: the program that serves gives them as a [`Memory`].

mod database;
mod error;
mod histogram;
mod http;
mod principal;
mod repositories;
mod shared_docs;

pub use database::{
    AuditEntry, AuditRow, Database, DatabaseSettings, DocRow, GoodToken, HeadWatch, IssuerRow,
    LogRow, NewIssuer, NewToken, PgLog, RepositoryRow, TenantLimits, TenantRow, TenantSize,
    TokenRow,
};
pub use error::ServiceError;
pub use http::{
    CallRates, HostRules, PublicUrl, ServeOptions, ServiceParts, TlsFiles, ToolAccess, ToolCatalog,
    check_key_address, serve,
};
pub use principal::{
    AccessRole, Grant, GrantScope, Principal, PrincipalKind, RemoteCaller, acting_as,
};
pub use repositories::{
    CallStart, FinishCall, Memory, MemoryOpener, OpenRepositories, OpenRepository,
};
