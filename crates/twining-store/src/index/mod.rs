//! The index: everything the files say, in a form that answers questions.
//!
//! It is derived and may be deleted at any moment. It is brought up to the files
//! before it is asked, holds nothing they do not, and is believed only if it is
//! as one of us left it. Whoever changes it holds `local/index.lock`; readers do
//! not, and see a snapshot, each on a connection of its own from the [`IndexPool`].

mod catch_up;
mod connections;
mod database;
mod database_files;
mod decisions;
mod decisions_in_scope;
pub(crate) mod embeddings;
mod entries;
mod entry_filter;
mod observed_graph;
#[cfg(test)]
mod tests;
mod view;
mod word_search;

pub(crate) use connections::{IndexPool, PooledIndex};
pub use database::Index;
pub use decisions::DecisionFilter;
pub use decisions::Decisions;
pub use decisions_in_scope::{DecisionState, ScopeCounts, ScopedDecision, Via};
pub use embeddings::{RecordHeader, RowId, VectorKeys, decision_text, entry_text};
pub use embeddings::{
    VECTOR_BYTES, VectorBytes, VectorCursor, VectorFile, VectorReadOutcome, vector_key,
};
pub use entries::Entries;
pub use entry_filter::EntryFilter;
pub use observed_graph::{GraphEdge, ObservedGraph};
pub use view::RecordCounts;
pub use view::{Page, Unreadable, View};
pub use word_search::Term;
pub use word_search::terms;
pub use word_search::{NodeIndex, NodeText};
