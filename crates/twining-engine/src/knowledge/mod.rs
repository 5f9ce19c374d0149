//! Knowledge: the reviewed graph in `knowledge.dot`, checked, searched, packed, edited, compared
//! and drawn.
//!
//! People own the file: a broken one never prevents reading. Valid parts are served, errors are
//! reported with their line, and an edit is written only if it leaves the whole graph valid.

mod api;
mod check;
mod draw;
mod graph;
mod lost_paths;
mod merge;
mod metrics;
mod node_code;
mod retrieve;
mod review;
mod rules;
mod update;

#[cfg(test)]
mod tests;

pub use api::KnowledgeCreateOutcome;
pub use check::{GraphFinding, KnowledgeCheckInput, KnowledgeCheckOutcome};
pub use draw::{DrawFormat, DrawInput, KnowledgeDrawing};
pub use graph::{KnowledgeEdge, KnowledgeGraph, KnowledgeNode};
pub(crate) use merge::GRAPH;
pub use merge::{KnowledgeMerge, guidance, merge_knowledge};
pub use metrics::{KnowledgeMetrics, StoryMetrics};
pub use retrieve::{
    KnowledgePack, KnowledgePackInput, KnowledgeRetrieveInput, RetrieveOutcome, key_terms,
};
pub use review::{ChangedNode, Changes, GraphChanges, ReviewContext, ReviewContextInput};
pub use rules::{AppliedRule, EdgeFact, KnowledgeFacts, RuleChange, RuleFact, covers};
pub(crate) use update::carried_out as plan;
pub use update::{KnowledgeUpdateInput, KnowledgeUpdateOutcome, Operation, OperationKind};
