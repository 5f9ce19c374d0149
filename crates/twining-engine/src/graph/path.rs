//! Paths: how two entities hang together, by the fewest steps.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Entity, ProjectRoot, RelationType, limits};
use twining_store::code::CodeIndex;
use twining_store::{StoreError, View};

use crate::failure::Failure;
use crate::fields::{self, is_false};
use crate::graph::derived::{derived_path, resolve_or_derive};
use crate::graph::entities::{joined_edges, joined_entity, relation_types};
use crate::graph::neighbors::RelationDirection;

/// Which two entities to connect.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathInput {
    /// Entity id or name
    pub from: String,
    /// Entity id or name
    pub to: String,
    /// Default 6
    pub max_depth: Option<usize>,
    /// Only over these relations
    #[serde(default)]
    #[schemars(extend("x-offered" = RelationType::ALL.map(RelationType::as_str)))]
    pub relation_types: Vec<String>,
}

/// An entity on the path.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PathStep {
    /// The entity.
    pub entity: Entity,
    /// The relation that leads here; none at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,
    /// Its direction, seen from the previous entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<RelationDirection>,
    /// Nobody recorded that relation: it is read from the code.
    #[serde(skip_serializing_if = "is_false")]
    pub derived: bool,
}

/// How two entities are connected.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PathOutcome {
    /// Whether there is a path.
    pub found: bool,
    /// Steps.
    pub length: u64,
    /// All entities on it, both ends included.
    pub path: Vec<PathStep>,
    /// Whether the search stopped before it was complete.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// The shortest way between two entities, along relations in either direction. Where nobody
/// recorded one, the links that the code shows count too.
pub fn path(
    code: Option<&CodeIndex>,
    view: &View<'_>,
    input: &PathInput,
    root: &ProjectRoot,
) -> Result<PathOutcome, Failure> {
    let most = fields::within("max_depth", input.max_depth, 6, limits::PATH_DEPTH)?;
    let kinds = relation_types(&input.relation_types)?;
    let from = resolve_or_derive(code, view, "from", &input.from, root)?;
    let to = resolve_or_derive(code, view, "to", &input.to, root)?;
    let [from, to] = [
        joined_entity(view, &from.id)?.unwrap_or(from),
        joined_entity(view, &to.id)?.unwrap_or(to),
    ];
    let mut search = PathSearch {
        view,
        kinds,
        reached: HashMap::from([(from.id.clone(), None)]),
        truncated: false,
    };
    let found = from.id == to.id || search.reach(&from.id, &to.id, most)?;
    if let Some(code) = code.filter(|_| !found && search.kinds.is_empty())
        && let Some(found) = derived_path(code, view, [&from, &to], most)?
    {
        return Ok(found);
    }
    let path = if found { search.way_to(to.id)? } else { Vec::new() };
    Ok(PathOutcome {
        found,
        length: path.len().saturating_sub(1) as u64,
        path,
        truncated: search.truncated,
    })
}

/// A search by steps from one end.
struct PathSearch<'a, 'v> {
    view: &'a View<'v>,
    kinds: Vec<String>,
    /// Every node met so far, with the step that led to it; none to the first.
    reached: HashMap<String, Option<PathHop>>,
    truncated: bool,
}

/// The step by which a node was reached.
#[derive(Clone)]
struct PathHop {
    from: String,
    relation: String,
    outgoing: bool,
}

impl PathSearch<'_, '_> {
    /// Whether the other end is reached within so many steps.
    fn reach(&mut self, from: &str, to: &str, most: usize) -> Result<bool, StoreError> {
        let mut frontier = vec![from.to_owned()];
        for _ in 0..most {
            for from in std::mem::take(&mut frontier) {
                let edges = joined_edges(self.view, &from, &self.kinds, limits::WALK_NODES)?;
                self.truncated |= edges.len() == limits::WALK_NODES;
                for edge in edges {
                    if self.reached.contains_key(&edge.other) {
                        continue;
                    }
                    let Some(other) = joined_entity(self.view, &edge.other)? else { continue };
                    let is_end = other.id == to;
                    if !is_end && self.reached.len() >= limits::WALK_NODES {
                        self.truncated = true;
                    } else if let Entry::Vacant(place) = self.reached.entry(other.id.clone()) {
                        let (relation, outgoing) = (edge.relation.kind, edge.outgoing);
                        place.insert(Some(PathHop { from: from.clone(), relation, outgoing }));
                        frontier.push(other.id);
                    }
                    if is_end {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// Every stop on the way to a node that was reached.
    fn way_to(&self, end: String) -> Result<Vec<PathStep>, StoreError> {
        let (mut steps, mut at) = (Vec::new(), Some(end));
        while let Some(id) = at {
            let hop = self.reached.get(&id).cloned().flatten();
            at = hop.as_ref().map(|hop| hop.from.clone());
            let Some(entity) = joined_entity(self.view, &id)? else { continue };
            let (relation, direction) =
                hop.map(|hop| (hop.relation, RelationDirection::of(hop.outgoing))).unzip();
            steps.push(PathStep { entity, relation, direction, derived: false });
        }
        steps.reverse();
        Ok(steps)
    }
}
