//! The observed graph: what the code is made of, and what hangs together.
//!
//! An entity is its name and its type: saying it twice is saying it once. Links
//! come from agents who know them and from decisions; none is guessed. What the code itself shows
//! is told beside them, marked as derived, and never written.

mod decision_links;
mod derived;
mod entities;
mod folders;
mod neighbors;
mod outline;
mod path;
mod picture;
mod prune;
#[cfg(test)]
mod tests;

pub(crate) use decision_links::{link_commit, link_decision, linked_to_decision, symbol_kind};
pub use derived::{DerivedEntity, DerivedNeighbor};
pub use entities::{AddEntityInput, AddRelationInput, AddedOutcome};
pub use neighbors::{
    GraphQueryInput, GraphQueryOutcome, Neighbor, NeighborsInput, NeighborsOutcome,
    RelationDirection, graph_query, neighbors,
};
pub use path::{PathInput, PathOutcome, PathStep, path};
pub use picture::{GraphEdgeSummary, GraphInput, GraphLevel, GraphNodeSummary, GraphOutcome};
pub use prune::{PruneInput, PruneOutcome, PrunedEntity, plan_prune, prunable};
