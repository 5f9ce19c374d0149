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

pub use agents::{AgentShelf, claims_path};
pub use archive::archive_file;
pub use documents::{Documents, Tail, policy_path};
pub use features::{FeatureShelf, feature_list_paths};
pub use follow::Follower;
pub use keeper::{Keeper, step_back};
pub use knowledge::{BindingState, KnowledgeFile, knowledge_elsewhere, knowledge_place};
pub use local_state::{LocalState, digest};
pub use mend::Joiners;
pub use open::{BRIEF_LOG_BYTES, Durability, LONG_LOG_BYTES, Store};
pub use packs::Packs;
pub use queues::Queues;
pub use receipt::{Installation, lacking_lines};
pub use traces::{Left, TraceSeen, Traces};
pub use turns::{Listing, Shelf, Slot};
