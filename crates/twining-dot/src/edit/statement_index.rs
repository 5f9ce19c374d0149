//! Index of the file: statements by body, mentions by node.

use std::collections::HashMap;

use crate::document::DotDocument;
use crate::id::DotId;
use crate::syntax::{Body, Endpoint, NodeRef, Statement, StatementKind, Target};

/// A statement and its location.
pub(crate) struct StatementSite<'a> {
    pub statement: &'a Statement,
    /// The body around it, by position in [`Sites::bodies`].
    pub body: usize,
    pub shape: StatementShape,
}

/// Kind of statement for editing: what it declares, and whether one item only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementShape {
    /// `a [..]`
    Node,
    /// `a, b [..]`
    Nodes,
    /// `a -> b [..]`
    Edge,
    /// Any other edge statement: chains, lists and subgraphs as ends.
    Edges,
    /// A subgraph alone.
    Subgraph,
    Defaults(Target),
    Assign,
}

/// A body and the subgraph it belongs to.
pub(crate) struct BodyEntry<'a> {
    pub body: &'a Body,
    /// By position in [`crate::graph::Graph::subgraphs`]; none for the graph itself.
    pub group: Option<usize>,
    /// The statement it is part of; none for the graph itself.
    pub statement: Option<usize>,
    /// The last statement in it that is of one node alone.
    pub last_node: Option<usize>,
}

/// All statements of a document, in the order in which they take effect.
#[derive(Default)]
pub(crate) struct StatementIndex<'a> {
    pub all: Vec<StatementSite<'a>>,
    pub bodies: Vec<BodyEntry<'a>>,
    /// Whether any default for nodes is set anywhere: then it matters where a node is first mentioned.
    pub has_node_defaults: bool,
    by_start: HashMap<usize, usize>,
    mentions: HashMap<&'a DotId, Vec<usize>>,
    groups: usize,
    group_names: HashMap<(Option<usize>, &'a DotId), usize>,
}

impl<'a> StatementIndex<'a> {
    pub(crate) fn of(document: &'a DotDocument) -> Self {
        let mut sites = Self::default();
        if let Some(syntax) = document.syntax() {
            sites.walk(&syntax.body, None, None);
        }
        sites
    }

    /// The statement that starts at this byte.
    pub(crate) fn at(&self, start: usize) -> Option<usize> {
        self.by_start.get(&start).copied()
    }

    /// The statements that mention a node, in order.
    pub(crate) fn mentioning(&self, id: &DotId) -> &[usize] {
        self.mentions.get(id).map_or(&[], Vec::as_slice)
    }

    /// Whether a node has a statement of its own, alone or in a list.
    pub(crate) fn declares(&self, id: &DotId) -> bool {
        self.mentioning(id).iter().any(|site| {
            matches!(self.all[*site].shape, StatementShape::Node | StatementShape::Nodes)
        })
    }

    /// The first body of the graph or of one of its subgraphs.
    pub(crate) fn body_of(&self, group: Option<usize>) -> Option<usize> {
        self.bodies.iter().position(|body| body.group == group)
    }

    fn walk(&mut self, body: &'a Body, group: Option<usize>, around: Option<usize>) {
        let place = self.bodies.len();
        self.bodies.push(BodyEntry { body, group, statement: around, last_node: None });
        for statement in &body.statements {
            let site = self.all.len();
            self.by_start.insert(statement.span.start, site);
            let shape = shape(&statement.kind);
            self.all.push(StatementSite { statement, body: place, shape });
            match shape {
                StatementShape::Node => self.bodies[place].last_node = Some(site),
                StatementShape::Defaults(Target::Node) => self.has_node_defaults = true,
                _ => {}
            }
            let StatementKind::Chain { endpoints, .. } = &statement.kind else { continue };
            for endpoint in endpoints {
                match endpoint {
                    Endpoint::Nodes(nodes) => {
                        nodes.iter().for_each(|node| self.mention(&node.id.id, site));
                    }
                    Endpoint::Subgraph(subgraph) => {
                        let inner = self.group(group, subgraph.name.as_ref().map(|name| &name.id));
                        self.walk(&subgraph.body, Some(inner), Some(site));
                    }
                }
            }
        }
    }

    fn mention(&mut self, id: &'a DotId, site: usize) {
        let sites = self.mentions.entry(id).or_default();
        if sites.last() != Some(&site) {
            sites.push(site);
        }
    }

    /// Counts subgraphs as the meaning does: one that is opened again is the same.
    fn group(&mut self, parent: Option<usize>, name: Option<&'a DotId>) -> usize {
        if let Some(known) = name.and_then(|name| self.group_names.get(&(parent, name))) {
            return *known;
        }
        let group = self.groups;
        self.groups += 1;
        if let Some(name) = name {
            self.group_names.insert((parent, name), group);
        }
        group
    }
}

fn shape(kind: &StatementKind) -> StatementShape {
    match kind {
        StatementKind::Assign(_) => StatementShape::Assign,
        StatementKind::Defaults { target, .. } => StatementShape::Defaults(*target),
        StatementKind::Chain { endpoints, .. } => match endpoints.as_slice() {
            [Endpoint::Nodes(nodes)] if nodes.len() == 1 => StatementShape::Node,
            [Endpoint::Nodes(_)] => StatementShape::Nodes,
            [Endpoint::Subgraph(_)] => StatementShape::Subgraph,
            [Endpoint::Nodes(tails), Endpoint::Nodes(heads)]
                if tails.len() == 1 && heads.len() == 1 =>
            {
                StatementShape::Edge
            }
            _ => StatementShape::Edges,
        },
    }
}

/// The nodes a statement mentions itself, those in subgraphs not.
pub(crate) fn mentioned(statement: &Statement) -> impl Iterator<Item = &NodeRef> {
    let endpoints = match &statement.kind {
        StatementKind::Chain { endpoints, .. } => endpoints.as_slice(),
        _ => &[],
    };
    endpoints.iter().flat_map(|endpoint| match endpoint {
        Endpoint::Nodes(nodes) => nodes.as_slice(),
        Endpoint::Subgraph(_) => &[],
    })
}
