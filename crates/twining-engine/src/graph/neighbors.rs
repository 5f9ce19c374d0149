//! Walking: who is near an entity, within bounds.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Entity, EntityType, InvalidInput, ProjectRoot, RelationType, limits};
use twining_store::View;
use twining_store::code::CodeIndex;

use crate::failure::Failure;
use crate::fields::{self, fit_reply};
use crate::graph::derived::{
    DerivedEntity, DerivedNeighbor, found_in_code, resolve_or_derive, surroundings,
};
use crate::graph::entities::{joined_edges, joined_entity, relation_types};

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
    #[schemars(extend("x-offered" = RelationType::ALL.map(RelationType::as_str)))]
    pub relation_types: Vec<String>,
}

/// An entity nearby.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Neighbor {
    /// The entity.
    pub entity: Entity,
    /// The relation it was reached by.
    pub relation: String,
    /// Which way that points, seen from the inner entity.
    pub direction: RelationDirection,
    /// Steps from the centre.
    pub depth: u64,
}

/// An entity's neighbours.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NeighborsOutcome {
    /// The entity.
    pub center: Entity,
    /// Nearest first, each once.
    pub neighbors: Vec<Neighbor>,
    /// Whether there are more.
    pub truncated: bool,
    /// Where it is in the code, if it is a file or a definition of this checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_at: Option<String>,
    /// What the code shows around it, one step, at most 40; nobody recorded that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedNeighbor>,
}

/// The entities within a few steps of one, nearest first.
pub fn neighbors(
    code: Option<&CodeIndex>,
    view: &View<'_>,
    input: &NeighborsInput,
    root: &ProjectRoot,
) -> Result<NeighborsOutcome, Failure> {
    let depth = fields::within("depth", input.depth, 1, limits::WALK_DEPTH)?;
    let kinds = relation_types(&input.relation_types)?;
    let center = resolve_or_derive(code, view, "entity", &input.entity, root)?;
    let center = joined_entity(view, &center.id)?.unwrap_or(center);

    let mut seen: HashSet<String> = HashSet::from([center.id.clone()]);
    let mut frontier = vec![center.id.clone()];
    let mut found: Vec<Neighbor> = Vec::new();
    let mut edges_left = EDGES;
    let mut truncated = false;
    for step in 1..=depth {
        let mut next: Vec<String> = Vec::new();
        for id in &frontier {
            let most = edges_left.min(limits::WALK_NODES);
            let edges = joined_edges(view, id, &kinds, most)?;
            truncated |= edges.len() == most;
            edges_left -= edges.len();
            for edge in edges {
                if !seen.insert(edge.other.clone()) {
                    continue;
                }
                // A relation whose end is missing leads nowhere; `status` reports it.
                let Some(entity) = joined_entity(view, &edge.other)? else { continue };
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
    let mut outcome = NeighborsOutcome {
        center,
        neighbors,
        truncated: truncated || cut,
        code_at: None,
        derived: Vec::new(),
    };
    if let Some(code) = code
        && let Some(around) = surroundings(code, &outcome.center, &kinds)?
    {
        outcome.code_at = Some(around.at.to_string());
        (outcome.derived, outcome.truncated) =
            (around.neighbors, outcome.truncated || around.truncated);
    }
    Ok(outcome)
}

/// Which entities to find.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphQueryInput {
    /// Part of a name or property
    pub query: String,
    /// Only these types
    #[serde(default)]
    #[schemars(extend("x-offered" = EntityType::ALL.map(EntityType::as_str)))]
    pub entity_types: Vec<String>,
    /// Default 10
    pub limit: Option<usize>,
}

/// The entities found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GraphQueryOutcome {
    /// Exact names first.
    pub entities: Vec<Entity>,
    /// Definitions of that name, and files with it in their path; nobody recorded them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedEntity>,
    /// Whether there are more.
    pub truncated: bool,
}

/// The entities whose name or properties hold the words, exact names first; and what the code has
/// by that name.
pub fn graph_query(
    code: Option<&CodeIndex>,
    view: &View<'_>,
    input: &GraphQueryInput,
) -> Result<GraphQueryOutcome, Failure> {
    let query = fields::query("query", &input.query)?;
    let kinds = entity_types(&input.entity_types)?;
    let limit = fields::page("limit", input.limit, 10)?;
    let (found, more) = view.graph().find(&query, &kinds, limit)?;
    let mut entities: Vec<Entity> = Vec::with_capacity(found.len());
    for entity in found {
        let entity = joined_entity(view, &entity.id)?.unwrap_or(entity);
        if entities.iter().all(|known| known.id != entity.id) {
            entities.push(entity);
        }
    }
    let (entities, cut) = fit_reply(entities);
    let (mut derived, more_derived) = match code {
        Some(code) => found_in_code(code, &query, &kinds, limit)?,
        None => (Vec::new(), false),
    };
    for place in &mut derived {
        let recorded = entities.iter().find(|entity| is_recorded_for(entity, place));
        place.entity_id = recorded.map(|entity| entity.id.clone());
    }
    Ok(GraphQueryOutcome { entities, derived, truncated: more || cut || more_derived })
}

/// Whether an entity is recorded for a place: by its path, its place, or the name of a definition.
fn is_recorded_for(entity: &Entity, place: &DerivedEntity) -> bool {
    let name = place.at.split_once('#').map(|(_, name)| name);
    entity.name == place.at || name.is_some_and(|name| entity.name == name)
}

fn entity_types(given: &[String]) -> Result<Vec<String>, InvalidInput> {
    limits::at_most("entity_types", given, limits::LIST)?;
    given
        .iter()
        .map(|word| Ok(EntityType::parse("entity_types", word.trim())?.as_str().to_owned()))
        .collect()
}

/// Which way a relation points, seen from the current entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RelationDirection {
    /// Outward.
    Outgoing,
    /// Inward.
    Incoming,
}

impl RelationDirection {
    pub(super) fn of(outgoing: bool) -> Self {
        if outgoing { Self::Outgoing } else { Self::Incoming }
    }

    /// Seen from the other end.
    pub(super) fn turned(self) -> Self {
        match self {
            Self::Outgoing => Self::Incoming,
            Self::Incoming => Self::Outgoing,
        }
    }
}
