//! Where truth lives: plain files under `.twining/`, and the index over them.
//!
//! Files are truth. Every write goes through [`Store::post`], [`Store::transact`]
//! or [`Store::archive`]; every byte that reaches the disk goes through [`disk`];
//! the index (SQLite) may be deleted at any moment. Reads never take the write
//! lock, and nothing here knows the clock, the environment or MCP.

mod agents;
mod apply;
mod archive;
pub mod array;
mod array_file;
mod board;
mod calls;
mod checkpoint;
pub mod config;
pub mod disk;
mod error;
mod features;
mod files;
pub mod git;
mod index;
pub mod integrity;
mod journal;
mod keeper;
mod knowledge;
mod layout;
mod lock;
mod mend;
pub mod merge;
mod metrics;
mod moves;
mod notes;
mod packs;
mod policy;
mod queue;
mod read_on;
mod receipt;
mod record;
mod record_files;
mod room;
mod store;
mod tail;
mod trace_ring;
mod traces;
mod turns;
mod vectors;
mod watch;

pub use agents::{AgentShelf, claims_path};
pub use archive::archive_file;
pub use config::Config;
pub use error::StoreError;
pub use features::{FeatureFile, FeatureShelf, feature_list_paths};
pub use files::{Array, ArrayState, DataFile, DecisionNames, DecisionsChanged, Files, Fingerprint};
pub use index::*;
pub use journal::JournalLine;
pub use keeper::{Keeper, step_back};
pub use knowledge::{KnowledgeFile, knowledge_elsewhere, knowledge_place};
pub use layout::{Place, SCAFFOLD};
pub use lock::Held;
pub use mend::Joiners;
pub use notes::{BindingState, digest};
pub use packs::Packs;
pub use policy::policy_path;
pub use queue::DrainCount;
pub use read_on::Tail;
pub use receipt::lacking_lines;
pub use store::{BRIEF_LOG_BYTES, Base, Durability, LONG_LOG_BYTES, Rebuilt, Store};
pub use traces::{Left, TraceSeen};
pub use turns::{Listing, Shelf, Slot};
pub use twining_model::PolicyFile;
pub use vectors::{ReadOn, VECTOR_BYTES, VectorBytes, VectorCursor, Vectors, meaning_of};
