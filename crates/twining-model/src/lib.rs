//! What a record is: the types that are the file format.
//!
//! Everything here is pure. A type that parses carries its rule with it (a
//! [`Scope`] never leaves the project, an [`Id`] is always a ULID), and every
//! limit on size lives in [`limits`]. Records read from files keep the fields
//! they do not know, because a newer Twining, or the TypeScript server, may.

pub mod agent;
pub mod anchor;
pub mod change;
pub mod decision;
pub mod entry;
pub mod graph;
pub mod id;
pub mod json_document;
pub mod knowledge_vocabulary;
pub mod limits;
pub mod scope;
mod string_enums;
pub mod text;
mod text_file;
pub mod time;
pub mod trace;
pub mod turn;

pub use agent::{Agent, Claim, ClaimList, Handoff, HandoffResult, HandoffSnapshot};
pub use anchor::{Anchor, AnchorEvent, AnchorRole, AnchoredRecord, Place, SeenCode};
pub use change::{Amendment, Change, DocumentText, HandoffFile, TurnFile};
pub use decision::{
    Alternative, Authority, CommitLink, Confidence, Decision, DecisionStatus, GENERAL_DOMAIN,
    StatusChange,
};
pub use entry::{Channel, Entry, EntryType, Origin, Trust};
pub use graph::{Entity, EntityType, Relation, RelationType};
pub use id::{Id, IdSource, World};
pub use json_document::JsonDocument;
pub use limits::InvalidInput;
pub use scope::{CaseFolding, ProjectRoot, Scope};
pub use text_file::TextFile;
pub use time::Time;
pub use trace::{Trace, TraceContext, TraceEvent, TraceType};
pub use turn::EvidenceSource;
pub use turn::{Turn, TurnKey, TurnName};
