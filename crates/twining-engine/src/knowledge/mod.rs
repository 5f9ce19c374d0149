//! Knowledge: the reviewed graph in `knowledge.dot`, checked, searched, packed,
//! edited, compared and drawn.
//!
//! The file belongs to people: a broken one never stops reading. What is right
//! in it is served, what is wrong is told with its line, and only an edit that
//! leaves the whole graph right is written.

pub(crate) mod advice;
mod api;
mod check;
mod facts;
mod file;
mod merge;
mod metrics;
mod pack;
mod picture;
mod print;
mod retrieve;
mod review;
mod rules;
mod shelf;
mod statements;
mod terms;
mod told;
mod update;

#[cfg(test)]
mod tests;

pub use api::KnowledgeCreateOutcome;
pub use check::{GraphFinding, KnowledgeCheckInput, KnowledgeCheckOutcome};
pub use facts::{EdgeFact, KnowledgeFacts, RuleFact, covers};
pub use file::{KnowledgeEdge, KnowledgeGraph, KnowledgeNode};
pub(crate) use merge::GRAPH;
pub use merge::{KnowledgeMerge, guidance, merge_knowledge};
pub use metrics::{KnowledgeMetrics, StoryMetrics};
pub use pack::{KnowledgePack, KnowledgePackInput};
pub use picture::{DrawFormat, DrawInput, KnowledgeDrawing};
pub use retrieve::{KnowledgeRetrieveInput, RetrieveOutcome};
pub use review::{ChangedNode, Changes, GraphChanges, ReviewContext, ReviewContextInput};
pub use rules::{AppliedRule, RuleChange};
pub use terms::key_terms;
pub(crate) use update::carried_out as plan;
pub use update::{KnowledgeUpdateInput, KnowledgeUpdateOutcome, Operation, OperationKind};
