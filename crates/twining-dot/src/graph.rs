//! What a graph means: nodes, edges and subgraphs with their attributes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostics::Span;
use crate::id::DotId;
use crate::syntax::Port;

/// A graph with every statement applied.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Graph {
    /// Whether parallel edges are one.
    pub strict: bool,
    /// Whether edges have a direction.
    pub directed: bool,
    /// The graph's name.
    pub name: Option<DotId>,
    /// The attributes of the graph itself.
    pub attributes: Attributes,
    /// Attributes set by `node [..]` outside subgraphs; the last value of each wins.
    pub node_defaults: Attributes,
    /// Attributes set by `edge [..]` outside subgraphs; the last value of each wins.
    pub edge_defaults: Attributes,
    /// The nodes, in order of first mention.
    pub nodes: Vec<Node>,
    /// The edges, in order of first mention.
    pub edges: Vec<Edge>,
    /// The subgraphs, outer before inner.
    pub subgraphs: Vec<Subgraph>,
    pub(crate) index: HashMap<DotId, usize>,
}

impl Graph {
    /// The node of that id.
    #[must_use]
    pub fn node(&self, id: impl Into<DotId>) -> Option<&Node> {
        self.position_of(&id.into()).map(|index| &self.nodes[index])
    }

    /// Index of the node with that id in [`nodes`](Self::nodes).
    #[must_use]
    pub fn position_of(&self, id: &DotId) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// Whether this edge runs between these two; an undirected one does so both ways.
    #[must_use]
    pub fn connects(&self, edge: &Edge, from: &DotId, to: &DotId) -> bool {
        (edge.from == *from && edge.to == *to)
            || (!self.directed && edge.from == *to && edge.to == *from)
    }

    /// The part of the graph with the nodes that are kept and the edges between them.
    /// Subgraphs left without a node go.
    #[must_use]
    pub fn restricted(&self, keep: impl Fn(&Node) -> bool) -> Self {
        let nodes: Vec<Node> = self.nodes.iter().filter(|node| keep(node)).cloned().collect();
        let index: HashMap<DotId, usize> =
            nodes.iter().enumerate().map(|(position, node)| (node.id.clone(), position)).collect();
        let edges = self
            .edges
            .iter()
            .filter(|edge| index.contains_key(&edge.from) && index.contains_key(&edge.to))
            .cloned()
            .collect();
        let mut places = vec![None; self.subgraphs.len()];
        let mut subgraphs: Vec<Subgraph> = Vec::new();
        for (old, subgraph) in self.subgraphs.iter().enumerate() {
            let members: Vec<DotId> =
                subgraph.nodes.iter().filter(|id| index.contains_key(*id)).cloned().collect();
            if !members.is_empty() {
                places[old] = Some(subgraphs.len());
                let parent = subgraph.parent.and_then(|parent| places[parent]);
                subgraphs.push(Subgraph { nodes: members, parent, ..subgraph.clone() });
            }
        }
        let nodes = nodes
            .into_iter()
            .map(|node| Node { subgraph: node.subgraph.and_then(|old| places[old]), ..node })
            .collect();
        Self { nodes, edges, subgraphs, index, ..self.clone_without_contents() }
    }

    /// The nodes within so many steps of these, whichever way the edges point.
    #[must_use]
    pub fn around(&self, centres: &[DotId], depth: usize) -> Self {
        let mut reached = vec![false; self.nodes.len()];
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            if let (Some(from), Some(to)) =
                (self.position_of(&edge.from), self.position_of(&edge.to))
            {
                neighbours[from].push(to);
                neighbours[to].push(from);
            }
        }
        let mut frontier: Vec<usize> =
            centres.iter().filter_map(|id| self.position_of(id)).collect();
        frontier.iter().for_each(|&index| reached[index] = true);
        for _ in 0..depth {
            let mut next = Vec::new();
            for neighbour in frontier.iter().flat_map(|&index| &neighbours[index]) {
                if !std::mem::replace(&mut reached[*neighbour], true) {
                    next.push(*neighbour);
                }
            }
            frontier = next;
        }
        self.restricted(|node| self.position_of(&node.id).is_some_and(|index| reached[index]))
    }

    fn clone_without_contents(&self) -> Self {
        Self {
            strict: self.strict,
            directed: self.directed,
            name: self.name.clone(),
            attributes: self.attributes.clone(),
            node_defaults: self.node_defaults.clone(),
            edge_defaults: self.edge_defaults.clone(),
            ..Self::default()
        }
    }
}

/// A node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node {
    /// Its id.
    pub id: DotId,
    /// Its attributes, its own and those that defaults gave it.
    pub attributes: Attributes,
    /// Where it is first mentioned.
    pub span: Span,
    /// The innermost subgraph of its first mention, by position in [`Graph::subgraphs`].
    pub subgraph: Option<usize>,
}

impl Node {
    /// The text of an attribute.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.text(name)
    }
}

/// An edge.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Edge {
    /// The tail; in an undirected graph what is written first.
    pub from: DotId,
    /// The head; in an undirected graph what is written last.
    pub to: DotId,
    /// Where on the tail it starts.
    pub from_port: Option<Port>,
    /// Where on the head it ends.
    pub to_port: Option<Port>,
    /// Its attribute `key`, which distinguishes it from parallel edges.
    pub key: Option<DotId>,
    /// Its attributes, its own and those that defaults gave it.
    pub attributes: Attributes,
    /// The statement that first makes it.
    pub span: Span,
    pub(crate) origins: Vec<EdgeOrigin>,
}

/// Which edge of which statement this is; several where edges are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeOrigin {
    /// The first byte of the statement.
    pub statement: usize,
    /// Counted over the statement's hops, tails and heads.
    pub ordinal: usize,
}

impl Edge {
    /// The text of an attribute.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.text(name)
    }
}

/// A subgraph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Subgraph {
    /// Its name.
    pub name: Option<DotId>,
    /// The subgraph around it, by position in [`Graph::subgraphs`].
    pub parent: Option<usize>,
    /// What it says of itself; nothing is inherited from the graph around it.
    pub attributes: Attributes,
    /// Its nodes, those of the subgraphs within it too.
    pub nodes: Vec<DotId>,
    /// Its first occurrence.
    pub span: Span,
}

/// Origin of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeOrigin {
    /// The statement of the node, edge or graph itself.
    Own,
    /// A `node [..]` or `edge [..]` before it.
    Default,
}

/// An attribute with its value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attribute {
    pub(crate) name: Arc<str>,
    /// Its value.
    pub value: DotId,
    /// The `name=value` that says so.
    pub span: Span,
    /// Who says so.
    pub origin: AttributeOrigin,
}

impl Attribute {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Attributes, sorted by name, each name once.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Option<Arc<[Attribute]>>);

impl Attributes {
    /// Of assignments in file order: the last of a name wins.
    pub(crate) fn resolved(mut assigned: Vec<Attribute>) -> Self {
        if assigned.is_empty() {
            return Self::default();
        }
        assigned.sort_by(|left, right| left.name.cmp(&right.name));
        assigned.reverse();
        assigned.dedup_by(|later, kept| later.name == kept.name);
        assigned.reverse();
        Self(Some(assigned.into()))
    }

    /// The attribute of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        let all = self.as_slice();
        all.binary_search_by(|attribute| (*attribute.name).cmp(name)).ok().map(|index| &all[index])
    }

    /// The text of the attribute of that name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(|attribute| attribute.value.as_str())
    }

    /// All of them, by name.
    pub fn iter(&self) -> std::slice::Iter<'_, Attribute> {
        self.as_slice().iter()
    }

    fn as_slice(&self) -> &[Attribute] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Attributes not inherited from defaults.
    pub fn own(&self) -> impl Iterator<Item = &Attribute> {
        self.iter().filter(|attribute| attribute.origin == AttributeOrigin::Own)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl<'a> IntoIterator for &'a Attributes {
    type Item = &'a Attribute;
    type IntoIter = std::slice::Iter<'a, Attribute>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
