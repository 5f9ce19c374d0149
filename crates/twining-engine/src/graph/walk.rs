//! Walking: who is near an entity, within bounds.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Entity, ProjectRoot, limits};
use twining_store::View;

use crate::answer::fit_reply;
use crate::failure::Failure;
use crate::graph::resolve::{relation_types, resolve};
use crate::graph::{RelationDirection, kin};
use crate::input::RELATION_TYPES;
use crate::words;

/// Relations one walk may look at; many more than nodes, since most lead back.
const EDGES: usize = 10 * limits::WALK_NODES;

/// Whose neighbours to find.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeighborsInput {
    /// Entity id or name
    pub entity: String,
    /// Steps, 1 (default) to 3
    pub depth: Option<usize>,
    /// Only over these relations
    #[serde(default)]
    #[schemars(extend("x-offered" = RELATION_TYPES))]
    pub relation_types: Vec<String>,
}

/// An entity nearby.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Neighbor {
    /// The entity.
    pub entity: Entity,
    /// The relation it was reached by.
    pub relation: String,
    /// Which way that points, seen from nearer the centre.
    pub direction: RelationDirection,
    /// Steps from the centre.
    pub depth: u64,
}

/// Who is near an entity.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NeighborsOutcome {
    /// The entity.
    pub center: Entity,
    /// Nearest first, each once.
    pub neighbors: Vec<Neighbor>,
    /// Whether there are more.
    pub truncated: bool,
}

/// The entities within a few steps of one, nearest first.
pub fn neighbors(view: &View<'_>, input: &NeighborsInput, root: &ProjectRoot) -> Result<NeighborsOutcome, Failure> {
    let depth = words::within("depth", input.depth, 1, limits::WALK_DEPTH)?;
    let kinds = relation_types(&input.relation_types)?;
    let center = resolve(view, "entity", &input.entity, root)?;
    let center = kin::one(view, &center.id)?.unwrap_or(center);

    let mut seen: HashSet<String> = HashSet::from([center.id.clone()]);
    let mut frontier = vec![center.id.clone()];
    let mut found: Vec<Neighbor> = Vec::new();
    let mut edges_left = EDGES;
    let mut truncated = false;
    for step in 1..=depth {
        let mut next: Vec<String> = Vec::new();
        for id in &frontier {
            let most = edges_left.min(limits::WALK_NODES);
            let edges = kin::edges(view, id, &kinds, most)?;
            truncated |= edges.len() == most;
            edges_left -= edges.len();
            for edge in edges {
                if !seen.insert(edge.other.clone()) {
                    continue;
                }
                // A relation whose end is missing leads nowhere; `status` reports it.
                let Some(entity) = kin::one(view, &edge.other)? else { continue };
                if entity.id != edge.other && !seen.insert(entity.id.clone()) {
                    continue;
                }
                if found.len() == limits::WALK_NODES {
                    truncated = true;
                    break;
                }
                next.push(entity.id.clone());
                found.push(Neighbor {
                    entity,
                    relation: edge.relation.kind,
                    direction: RelationDirection::of(edge.outgoing),
                    depth: step as u64,
                });
            }
        }
        frontier = next;
    }
    let (neighbors, cut) = fit_reply(found);
    Ok(NeighborsOutcome { center, neighbors, truncated: truncated || cut })
}
