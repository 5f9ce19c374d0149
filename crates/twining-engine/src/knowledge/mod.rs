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

pub use api::KnowledgeCreated;
pub use check::{Finding, KnowledgeCheckInput, KnowledgeCheckOutcome};
pub use facts::{BondFact, KnowledgeFacts, RuleFact, covers};
pub use file::{Bond, Knowledge, KnownNode};
pub(crate) use merge::GRAPH;
pub use merge::{KnowledgeMerged, guidance, merge_knowledge};
pub use metrics::{KnowledgeMetrics, StoryMetrics};
pub use pack::{KnowledgePack, KnowledgePackInput};
pub use picture::{Format, Picture, PictureInput};
pub use retrieve::{KnowledgeRetrieveInput, Retrieved};
pub use review::{ChangedNode, Changes, GraphChanges, ReviewContext, ReviewContextInput};
pub use rules::{AppliedRule, Weakened};
pub use terms::key_terms;
pub(crate) use update::carried_out as plan;
pub use update::{KnowledgeUpdateInput, KnowledgeUpdated, Op, Operation};
