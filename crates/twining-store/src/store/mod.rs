//! The open memory: what is planned, committed and read, kind by kind.

mod change_feed;
mod changed_records;
mod checkpoint;
mod conflict_repair;
mod documents;
mod file_writes;
mod follow;
mod housekeeper;
mod journaled_writer;
mod line_file;
mod local_state;
mod outbox;
mod project_store;
mod store_handle;
mod traces;
mod turns;

pub use change_feed::{ChangeFeed, ChangeKind, ChangeNotice};
pub use changed_records::{ComparedState, UnchangedBoard};
pub use conflict_repair::FileMergers;
pub use documents::{AgentFiles, claims_path};
pub use documents::{BindingFingerprint, KnowledgeFile, knowledge_path, maestro_knowledge_path};
pub use documents::{BoardCursor, Documents, policy_path};
pub use documents::{FeatureListFile, feature_list_paths};
pub use file_writes::archive_file;
pub use follow::LogFollower;
pub use housekeeper::{Housekeeper, lower_priority};
pub use local_state::HookQueues;
pub use local_state::Packs;
pub use local_state::{LocalState, digest};
pub use outbox::{Delivery, Outbox, OutboxState, SyncLock};
pub use project_store::{Durability, LONG_WAL_BYTES, SHORT_WAL_BYTES, Store};
pub use store_handle::{Installation, RECORD_PATHS, missing_lines};
pub use traces::{AppendOutcome, StoredTrace, TraceCursor, Traces};
pub use turns::{TurnFiles, TurnListing, TurnLocation};
