//! One side of a merge: what it means, by name, ready to be compared.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::document::DotDocument;
use crate::graph::{Attribute, Attributes, Edge, Graph};
use crate::id::DotId;
use crate::syntax::Port;

use super::three_way::AttributeAction;

/// Attribute values by name, without their origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OwnAttributes(Vec<(Arc<str>, DotId)>);

impl OwnAttributes {
    /// Of attributes, which are sorted by name.
    pub(super) fn of<'a>(attributes: impl Iterator<Item = &'a Attribute>) -> Self {
        Self(
            attributes
                .map(|attribute| (Arc::clone(&attribute.name), attribute.value.clone()))
                .collect(),
        )
    }

    pub(super) fn get(&self, name: &str) -> Option<&DotId> {
        self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok().map(|index| &self.0[index].1)
    }

    /// What it is after a verdict on one of them.
    pub(super) fn apply(&mut self, name: &Arc<str>, verdict: AttributeAction) {
        let found = self.0.binary_search_by(|(known, _)| (**known).cmp(name));
        match (verdict, found) {
            (AttributeAction::Set(value), Ok(index)) => self.0[index].1 = value,
            (AttributeAction::Set(value), Err(index)) => {
                self.0.insert(index, (Arc::clone(name), value));
            }
            (AttributeAction::Unset, Ok(index)) => _ = self.0.remove(index),
            (AttributeAction::Unset, Err(_)) | (AttributeAction::Keep, _) => {}
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &DotId)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.iter().map(|(name, _)| name)
    }
}

/// Identity of an edge. Ports count: an edge moved to another port is another edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EdgeKey {
    pub from: (DotId, Option<Port>),
    pub to: (DotId, Option<Port>),
    pub identity: Vec<Option<DotId>>,
    /// Index among edges with equal identity.
    pub ordinal: usize,
}

/// Criteria that distinguish edges.
#[derive(Clone, Copy)]
pub(crate) struct EdgeIdentity<'a> {
    /// Between two nodes there is one edge at most.
    pub strict: bool,
    pub attributes: &'a [&'a str],
}

pub(crate) struct MergeSide<'a> {
    pub document: &'a DotDocument,
    pub nodes: HashMap<&'a DotId, OwnAttributes>,
    /// In file order.
    pub edges: Vec<(EdgeKey, &'a Edge, OwnAttributes)>,
    pub edge_index: HashMap<EdgeKey, usize>,
    pub groups: BTreeMap<Vec<DotId>, usize>,
}

impl<'a> MergeSide<'a> {
    /// `base` disambiguates equal edges: an unchanged one keeps its ordinal.
    pub(super) fn of(
        document: &'a DotDocument,
        identity: EdgeIdentity<'_>,
        base: Option<&MergeSide<'_>>,
    ) -> Self {
        let graph = document.graph();
        let nodes = graph.nodes.iter().map(|node| (&node.id, all(&node.attributes))).collect();
        let edges = named_edges(graph, identity, base);
        let edge_index =
            edges.iter().enumerate().map(|(index, (name, ..))| (name.clone(), index)).collect();
        Self { document, nodes, edges, edge_index, groups: groups(graph) }
    }

    pub(super) fn edge(&self, name: &EdgeKey) -> Option<&(EdgeKey, &'a Edge, OwnAttributes)> {
        self.edge_index.get(name).map(|&index| &self.edges[index])
    }
}

/// What something means: its own attributes and those that defaults give it.
pub(crate) fn all(attributes: &Attributes) -> OwnAttributes {
    OwnAttributes::of(attributes.iter())
}

/// What something says itself.
pub(crate) fn own(attributes: &Attributes) -> OwnAttributes {
    OwnAttributes::of(attributes.own())
}

fn named_edges<'a>(
    graph: &'a Graph,
    identity: EdgeIdentity<'_>,
    base: Option<&MergeSide<'_>>,
) -> Vec<(EdgeKey, &'a Edge, OwnAttributes)> {
    let mut unnumbered: HashMap<EdgeKey, Vec<usize>> = HashMap::new();
    let mut edges: Vec<(EdgeKey, &Edge, OwnAttributes)> = Vec::new();
    for edge in &graph.edges {
        let attributes = all(&edge.attributes);
        let mut ends =
            [(edge.from.clone(), edge.from_port.clone()), (edge.to.clone(), edge.to_port.clone())];
        if !graph.directed {
            ends.sort();
        }
        let [from, to] = ends;
        let ignores_ports = identity.strict || edge.key.is_some();
        let [from, to] = if ignores_ports { [(from.0, None), (to.0, None)] } else { [from, to] };
        let names = if identity.strict { &[] } else { identity.attributes };
        let identity = names.iter().map(|name| attributes.get(name).cloned()).collect();
        let name = EdgeKey { from, to, identity, ordinal: 0 };
        unnumbered.entry(name.clone()).or_default().push(edges.len());
        edges.push((name, edge, attributes));
    }
    for (name, indices) in
        unnumbered.into_iter().filter(|(_, indices)| indices.len() > 1 || base.is_some())
    {
        number(&name, &indices, &mut edges, base);
    }
    edges
}

fn number(
    name: &EdgeKey,
    indices: &[usize],
    edges: &mut [(EdgeKey, &Edge, OwnAttributes)],
    base: Option<&MergeSide<'_>>,
) {
    // What is in the base under this name, in order, with its attributes.
    let mut taken: Vec<Option<&OwnAttributes>> = Vec::new();
    while let Some((.., known)) =
        base.and_then(|base| base.edge(&EdgeKey { ordinal: taken.len(), ..name.clone() }))
    {
        taken.push(Some(known));
    }
    if indices.len() == 1 && taken.len() <= 1 {
        return;
    }
    let mut by_content: HashMap<&OwnAttributes, Vec<usize>> = HashMap::new();
    for (ordinal, known) in taken.iter().enumerate().rev() {
        if let Some(known) = known {
            by_content.entry(known).or_default().push(ordinal);
        }
    }
    let mut free = vec![true; taken.len()];
    let mut left = Vec::new();
    for &index in indices {
        match by_content.get_mut(&edges[index].2).and_then(Vec::pop) {
            Some(ordinal) => {
                edges[index].0.ordinal = ordinal;
                free[ordinal] = false;
            }
            None => left.push(index),
        }
    }
    let mut ordinals = (0..).filter(|&ordinal: &usize| free.get(ordinal).copied().unwrap_or(true));
    for index in left {
        edges[index].0.ordinal = ordinals.next().unwrap_or_default();
    }
}

/// Subgraphs by the names from the outermost to their own; those without a name, or in one without, are not compared.
fn groups(graph: &Graph) -> BTreeMap<Vec<DotId>, usize> {
    let mut paths: Vec<Option<Vec<DotId>>> = Vec::new();
    for subgraph in &graph.subgraphs {
        let around =
            subgraph.parent.map_or_else(|| Some(Vec::new()), |parent| paths[parent].clone());
        paths.push(around.zip(subgraph.name.as_ref().cloned()).map(|(mut path, name)| {
            path.push(name);
            path
        }));
    }
    paths.into_iter().enumerate().filter_map(|(index, path)| Some((path?, index))).collect()
}
