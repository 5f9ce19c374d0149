//! Paths: how two entities hang together, by the fewest steps.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Entity, ProjectRoot, limits};
use twining_store::{StoreError, View};

use crate::failure::Failure;
use crate::fields;
use crate::fields::is_false;
use crate::graph::entities::{relation_types, resolve};
use crate::graph::namesakes;
use crate::graph::neighbors::RelationDirection;
use crate::input::RELATION_TYPES;

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
    #[schemars(extend("x-offered" = RELATION_TYPES))]
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

/// The shortest way between two entities, along relations in either direction.
pub fn path(
    view: &View<'_>,
    input: &PathInput,
    root: &ProjectRoot,
) -> Result<PathOutcome, Failure> {
    let most = fields::within("max_depth", input.max_depth, 6, limits::PATH_DEPTH)?;
    let kinds = relation_types(&input.relation_types)?;
    let from = resolve(view, "from", &input.from, root)?;
    let to = resolve(view, "to", &input.to, root)?;
    let [from, to] = [
        namesakes::one(view, &from.id)?.unwrap_or(from),
        namesakes::one(view, &to.id)?.unwrap_or(to),
    ];
    let mut search = PathSearch {
        view,
        kinds,
        sides: [SearchSide::at(&from.id), SearchSide::at(&to.id)],
        truncated: false,
    };
    let meeting = if from.id == to.id { Some(from.id) } else { search.meet(most)? };
    let path = match &meeting {
        Some(id) => search.way_through(id)?,
        None => Vec::new(),
    };
    Ok(PathOutcome {
        found: meeting.is_some(),
        length: path.len().saturating_sub(1) as u64,
        path,
        truncated: search.truncated,
    })
}

/// A search from both ends at once: each explores half the way, which in a
/// branching graph is far less than the whole.
struct PathSearch<'a, 'v> {
    view: &'a View<'v>,
    kinds: Vec<String>,
    sides: [SearchSide; 2],
    truncated: bool,
}

struct SearchSide {
    /// Every node met so far, with the step that led to it; none to the first.
    reached: HashMap<String, Option<PathHop>>,
    frontier: Vec<String>,
    depth: usize,
}

/// The step by which a node was reached.
#[derive(Clone)]
struct PathHop {
    from: String,
    relation: String,
    outgoing: bool,
}

impl SearchSide {
    fn at(id: &str) -> Self {
        let reached = HashMap::from([(id.to_owned(), None)]);
        Self { reached, frontier: vec![id.to_owned()], depth: 0 }
    }

    /// The hops from the side's own end to a node, nearest to that end first.
    fn hops_to(&self, id: &str) -> Vec<(String, PathHop)> {
        let mut hops = Vec::new();
        let mut at = id.to_owned();
        while let Some(hop) = self.reached.get(&at).cloned().flatten() {
            let from = hop.from.clone();
            hops.push((at, hop));
            at = from;
        }
        hops.reverse();
        hops
    }
}

impl PathSearch<'_, '_> {
    /// A node on a shortest way, if the two sides meet within `most` steps.
    fn meet(&mut self, most: usize) -> Result<Option<String>, StoreError> {
        while !self.truncated && self.sides[0].depth + self.sides[1].depth < most {
            let near = usize::from(self.sides[1].frontier.len() < self.sides[0].frontier.len());
            if self.sides[near].frontier.is_empty() {
                return Ok(None);
            }
            if let Some(id) = self.expand(near)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Takes one side a step further, and returns the first node on the way that
    /// the other side has reached too. Any such node lies on a shortest way: had
    /// the other side come nearer, the two would have met a step ago.
    fn expand(&mut self, near: usize) -> Result<Option<String>, StoreError> {
        let frontier = std::mem::take(&mut self.sides[near].frontier);
        self.sides[near].depth += 1;
        for from in frontier {
            let edges = namesakes::edges(self.view, &from, &self.kinds, limits::WALK_NODES)?;
            self.truncated |= edges.len() == limits::WALK_NODES;
            for mut edge in edges {
                if self.sides[near].reached.contains_key(&edge.other) {
                    continue;
                }
                let Some(other) = namesakes::one(self.view, &edge.other)? else { continue };
                edge.other = other.id;
                if self.sides[near].reached.contains_key(&edge.other) {
                    continue;
                }
                let met = self.sides[1 - near].reached.contains_key(&edge.other);
                if !met && self.sides[near].reached.len() >= limits::WALK_NODES {
                    self.truncated = true;
                    continue;
                }
                let hop = PathHop {
                    from: from.clone(),
                    relation: edge.relation.kind,
                    outgoing: edge.outgoing,
                };
                self.sides[near].reached.insert(edge.other.clone(), Some(hop));
                if met {
                    return Ok(Some(edge.other));
                }
                self.sides[near].frontier.push(edge.other);
            }
        }
        Ok(None)
    }

    fn way_through(&self, meeting: &str) -> Result<Vec<PathStep>, StoreError> {
        let [start, end] = &self.sides;
        let there = start.hops_to(meeting);
        let first = there.first().map_or(meeting, |(_, hop)| hop.from.as_str());
        let mut stops: Vec<(String, Option<(String, bool)>)> = vec![(first.to_owned(), None)];
        stops.extend(there.into_iter().map(|(id, hop)| (id, Some((hop.relation, hop.outgoing)))));
        // The far side walked from the end: each of its hops is taken backwards.
        stops.extend(
            end.hops_to(meeting)
                .into_iter()
                .rev()
                .map(|(_, hop)| (hop.from, Some((hop.relation, !hop.outgoing)))),
        );
        let mut steps = Vec::with_capacity(stops.len());
        for (id, by) in stops {
            let Some(entity) = namesakes::one(self.view, &id)? else { continue };
            let (relation, direction) =
                by.map(|(relation, outgoing)| (relation, RelationDirection::of(outgoing))).unzip();
            steps.push(PathStep { entity, relation, direction });
        }
        Ok(steps)
    }
}
