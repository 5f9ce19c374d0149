//! The open memory: what is planned, committed and read, kind by kind.

mod agents;
mod apply;
mod archive;
mod changed_records;
mod checkpoint;
mod documents;
mod features;
mod follow;
mod keeper;
mod knowledge;
mod local_state;
mod mend;
mod open;
mod packs;
mod queues;
mod receipt;
mod record_files;
mod room;
mod traces;
mod turns;

pub use agents::{AgentFiles, claims_path};
pub use archive::archive_file;
pub use documents::{BoardCursor, Documents, policy_path};
pub use features::{FeatureListFile, feature_list_paths};
pub use follow::LogFollower;
pub use keeper::{Housekeeper, lower_priority};
pub use knowledge::{BindingFingerprint, KnowledgeFile, knowledge_path, maestro_knowledge_path};
pub use local_state::{LocalState, digest};
pub use mend::FileMergers;
pub use open::{Durability, LONG_WAL_BYTES, SHORT_WAL_BYTES, Store};
pub use packs::Packs;
pub use queues::HookQueues;
pub use receipt::{Installation, missing_lines};
pub use traces::{AppendOutcome, StoredTrace, Traces};
pub use turns::{TurnFiles, TurnListing, TurnLocation};
