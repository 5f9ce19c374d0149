//! Where truth lives: plain files under `.twining/`, and the index over them.
//!
//! Files are truth. Every write goes through [`Store::post`], [`Store::transact`]
//! or [`Store::transact_on`]; every byte that reaches the disk goes through [`disk`];
//! the index (SQLite) may be deleted at any moment. Reads never take the write
//! lock, and nothing here knows the clock, the environment or MCP.

pub mod code;
pub mod disk;
mod error;
mod format;
pub mod git;
mod index;
pub mod integrity;
mod log;
pub mod merge;
mod store;

pub use disk::layout::{DEFAULT_FILES, StoreLocation};
pub use error::{LogError, StoreError};
pub use format::config::Config;
pub use format::{array, config};
pub use index::*;
pub use log::hook_queue::DrainCount;
pub use log::journal::{CondensedLines, LOG_VERSION, Log, LogBase, LogLine, NewLine};
pub use log::journal::{JournalLine, OutboxMark};
pub use log::lock::LockGuard;
pub use log::outbox_file::{OutboxLine, OutboxSignature, RefusedLine};
pub use log::store_files::{
    Array, ArrayState, DecisionListing, DecisionsChanged, Fingerprint, OpenLines, StoreFiles,
};
pub use store::*;
pub use twining_model::TextFile;
