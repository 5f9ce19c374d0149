//! The index: the content of the files, in queryable form.
//!
//! It is derived and may be deleted at any time. It is brought up to date before each query,
//! contains nothing the files do not, and is trusted only in the state a Twining process left it.
//! Writers hold `local/index.lock`; readers do not, and see a snapshot, each on its own connection
//! from the [`IndexPool`].

mod anchors;
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
mod record_marks;
#[cfg(test)]
mod tests;
mod unsettled_decisions;
mod view;
mod word_search;

pub use anchors::Anchors;
pub(crate) use connections::{IndexPool, PooledIndex, open_cache};
pub use database::Index;
pub use decisions::{DecisionFilter, DecisionTitle, Decisions};
pub use decisions_in_scope::{DecisionState, ScopeCounts, ScopedDecision, Via};
pub use embeddings::{RecordHeader, RowId, VectorKeys, decision_text, entry_text};
pub use embeddings::{
    VECTOR_BYTES, VectorBytes, VectorCursor, VectorFile, VectorReadOutcome, vector_key,
};
pub use entries::Entries;
pub use entry_filter::EntryFilter;
pub use observed_graph::{GraphEdge, ObservedGraph};
pub use record_marks::RecordMarks;
pub use unsettled_decisions::{ActiveContest, UnsettledDecision};
pub use view::RecordCounts;
pub use view::{Page, Unreadable, View};
pub use word_search::Term;
pub use word_search::terms;
pub use word_search::{NodeIndex, NodeText};
