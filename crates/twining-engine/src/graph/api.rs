//! The verbs of the observed graph.

use twining_store::Durability;

use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::graph::{self, *};
use crate::hygiene::clean;

impl Engine {
    /// Adds an entity, or what is newly known of one.
    pub fn add_entity(&self, caller: &Caller, input: &AddEntityInput) -> Result<AddEntityOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let draft = EntityDraft::parse(&input, self.store().root())?;
        let added = self.store().transact(Durability::Normal, |view| plan_add_entity(view, &draft, &self.stamp(caller)))?;
        Ok(AddEntityOutcome { redacted, ..added })
    }

    /// Adds a relation.
    pub fn add_relation(&self, caller: &Caller, input: &AddRelationInput) -> Result<AddRelationOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = &caller.called(input.agent_id.as_deref())?;
        let draft = RelationDraft::parse(&input)?;
        let added =
            self.store().transact(Durability::Normal, |view| plan_add_relation(view, &draft, self.store().root(), &self.stamp(caller)))?;
        Ok(AddRelationOutcome { redacted, ..added })
    }

    /// Finds who is near an entity.
    pub fn neighbors(&self, input: &NeighborsInput) -> Result<NeighborsOutcome, Failure> {
        self.store().view(|view| graph::neighbors(view, input, self.store().root()))
    }

    /// Finds the shortest way between two entities.
    pub fn path(&self, input: &PathInput) -> Result<PathOutcome, Failure> {
        self.store().view(|view| graph::path(view, input, self.store().root()))
    }

    /// Finds entities by a part of their name.
    pub fn graph_query(&self, input: &GraphQueryInput) -> Result<GraphQueryOutcome, Failure> {
        self.store().view(|view| graph::graph_query(view, input))
    }

    /// Removes entities without relations and relations without ends.
    pub fn prune_graph(&self, caller: &Caller, input: &PruneInput) -> Result<PruneOutcome, Failure> {
        // What is removed carries no name; one that is none is refused all the same.
        caller.called(input.agent_id.as_deref())?;
        if input.dry_run.unwrap_or(true) {
            return self.store().view(graph::prunable);
        }
        self.store().transact(Durability::Normal, graph::plan_prune)
    }
}
