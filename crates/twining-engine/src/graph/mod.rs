//! The observed graph: what the code is made of, and what hangs together.
//!
//! An entity is its name and its type: saying it twice is saying it once. Links
//! come from agents who know them and from decisions; none is guessed.

mod api;
mod entity;
mod kin;
mod path;
mod population;
mod prune;
mod query;
mod relation;
mod resolve;
#[cfg(test)]
mod tests;
mod walk;
mod weave;

use schemars::JsonSchema;
use serde::Serialize;

pub use entity::{AddEntityInput, AddEntityOutcome, EntityDraft, plan_add_entity};
pub use path::{PathInput, PathOutcome, PathStep, path};
pub(crate) use population::{link_commit, link_decision, linked_to_decision, symbol_kind};
pub use prune::{PruneInput, PruneOutcome, PrunedEntity, plan_prune, prunable};
pub use query::{GraphQueryInput, GraphQueryOutcome, graph_query};
pub use relation::{AddRelationInput, AddRelationOutcome, RelationDraft, plan_add_relation};
pub use walk::{Neighbor, NeighborsInput, NeighborsOutcome, neighbors};

/// Which way a relation points, seen from where one stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RelationDirection {
    /// Away.
    Outgoing,
    /// Here.
    Incoming,
}

impl RelationDirection {
    fn of(outgoing: bool) -> Self {
        if outgoing { Self::Outgoing } else { Self::Incoming }
    }
}
