//! Statements into meaning: who exists, who is joined to whom, which attribute holds.
//!
//! A default applies to what is first mentioned after it, within its braces. A few
//! bytes can ask for a lot (`{a b c} -> {d e f}` is nine edges, a default of a
//! hundred attributes reaches every node), so work is metered against the length of
//! the file and a statement that asks for more is refused.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::diagnostics::{Diagnostic, Span};
use crate::graph::{
    Attribute, AttributeOrigin, Attributes, Edge, EdgeOrigin, Graph, Node, Subgraph,
};
use crate::id::DotId;
use crate::syntax::{
    Assign, AttrList, Body, Endpoint, GraphSyntax, NodeRef, Port, Statement, StatementKind,
    SubgraphSyntax, Target,
};

/// What any file may ask for: edges made and attributes handed down.
const ALLOWANCE: usize = 1 << 20;
/// What a file may ask for on top, for each byte of it.
const ALLOWANCE_A_BYTE: usize = 4;

pub(crate) fn graph(syntax: &GraphSyntax, length: usize, errors: &mut Vec<Diagnostic>) -> Graph {
    let mut builder = GraphBuilder {
        strict: syntax.strict,
        directed: syntax.directed,
        allowance: ALLOWANCE + length * ALLOWANCE_A_BYTE,
        exhausted: None,
        nodes: Vec::new(),
        index: HashMap::new(),
        edges: Vec::new(),
        known_edges: HashMap::new(),
        groups: Vec::new(),
        group_names: HashMap::new(),
        members: HashSet::new(),
        graph_attributes: Vec::new(),
    };
    let mut scope = DefaultScope { group: None, nodes: Arc::default(), edges: Arc::default() };
    builder.body(&syntax.body, &mut scope);
    if let Some(span) = builder.exhausted {
        errors.push(Diagnostic::new(
            span,
            "this expands the graph far beyond the size of its text; the rest is not read",
        ));
    }
    builder.finished(syntax, &scope)
}

type DefaultAttributes = Arc<Vec<Attribute>>;

/// What holds between two braces.
struct DefaultScope {
    group: Option<usize>,
    nodes: DefaultAttributes,
    edges: DefaultAttributes,
}

struct NodeDraft {
    id: DotId,
    defaults: DefaultAttributes,
    own: Vec<Attribute>,
    span: Span,
    group: Option<usize>,
}

struct EdgeDraft {
    from: usize,
    to: usize,
    from_port: Option<Port>,
    to_port: Option<Port>,
    key: Option<DotId>,
    defaults: DefaultAttributes,
    own: Vec<Arc<Vec<Attribute>>>,
    span: Span,
    origins: Vec<EdgeOrigin>,
}

struct SubgraphDraft {
    name: Option<DotId>,
    parent: Option<usize>,
    own: Vec<Attribute>,
    members: Vec<usize>,
    /// Its own defaults in order, applied again if it is opened again.
    defaults: Vec<(Target, Attribute)>,
    span: Span,
}

/// A node as the end of an edge.
type EdgeEnd<'a> = (usize, Option<&'a Port>);

struct GraphBuilder {
    strict: bool,
    directed: bool,
    allowance: usize,
    exhausted: Option<Span>,
    nodes: Vec<NodeDraft>,
    index: HashMap<DotId, usize>,
    edges: Vec<EdgeDraft>,
    known_edges: HashMap<(usize, usize, Option<DotId>), usize>,
    groups: Vec<SubgraphDraft>,
    group_names: HashMap<(Option<usize>, DotId), usize>,
    members: HashSet<(usize, usize)>,
    graph_attributes: Vec<Attribute>,
}

impl GraphBuilder {
    /// Takes from the allowance; false, and remembered, when it is used up.
    fn charge(&mut self, cost: usize, span: Span) -> bool {
        match self.allowance.checked_sub(cost) {
            Some(left) => self.allowance = left,
            None => self.exhausted = self.exhausted.or(Some(span)),
        }
        self.exhausted.is_none()
    }

    fn body(&mut self, body: &Body, scope: &mut DefaultScope) {
        for statement in &body.statements {
            if self.exhausted.is_some() {
                return;
            }
            match &statement.kind {
                StatementKind::Assign(assign) => self.graph_attribute(assign, scope),
                StatementKind::Defaults { target, lists } => {
                    for assign in lists.iter().flat_map(|list| &list.assigns) {
                        match target {
                            Target::Graph => self.graph_attribute(assign, scope),
                            Target::Node | Target::Edge => self.default(
                                *target,
                                attribute(assign, AttributeOrigin::Default),
                                scope,
                            ),
                        }
                    }
                }
                StatementKind::Chain { endpoints, lists } => {
                    self.chain(statement, endpoints, lists, scope);
                }
            }
        }
    }

    fn graph_attribute(&mut self, assign: &Assign, scope: &DefaultScope) {
        let attribute = attribute(assign, AttributeOrigin::Own);
        match scope.group {
            Some(group) => self.groups[group].own.push(attribute),
            None => self.graph_attributes.push(attribute),
        }
    }

    fn default(&mut self, target: Target, attribute: Attribute, scope: &mut DefaultScope) {
        if let Some(group) = scope.group {
            self.groups[group].defaults.push((target, attribute.clone()));
        }
        self.apply_default(target, attribute, scope);
    }

    fn apply_default(&mut self, target: Target, attribute: Attribute, scope: &mut DefaultScope) {
        let defaults = if target == Target::Node { &mut scope.nodes } else { &mut scope.edges };
        // A list that a node or edge holds on to is copied before it changes.
        let copied = if Arc::strong_count(defaults) > 1 { defaults.len() } else { 0 };
        let defaults = Arc::make_mut(defaults);
        match defaults.binary_search_by(|known| known.name.cmp(&attribute.name)) {
            Ok(index) => defaults[index] = attribute,
            Err(index) => defaults.insert(index, attribute),
        }
        let moved = defaults.len() / 64;
        let span = defaults.first().map_or_else(Span::default, |first| first.span);
        self.charge(copied + moved, span);
    }

    fn chain(
        &mut self,
        statement: &Statement,
        endpoints: &[Endpoint],
        lists: &[AttrList],
        scope: &mut DefaultScope,
    ) {
        let own: Vec<Attribute> = lists
            .iter()
            .flat_map(|list| &list.assigns)
            .map(|assign| attribute(assign, AttributeOrigin::Own))
            .collect();
        if let [Endpoint::Nodes(nodes)] = endpoints {
            return self.node_statement(nodes, own, scope);
        }
        // Alone it makes no edges, so nobody asks who is in it: one that is opened again for each node costs nothing.
        if let [Endpoint::Subgraph(subgraph)] = endpoints {
            self.group(subgraph, scope);
            return;
        }
        let key = own
            .iter()
            .rev()
            .find(|attribute| &*attribute.name == "key")
            .map(|attribute| attribute.value.clone());
        let own = Arc::new(own);
        let mut before: Option<Vec<EdgeEnd<'_>>> = None;
        let mut origin = EdgeOrigin { statement: statement.span.start, ordinal: 0 };
        for endpoint in endpoints {
            let ends = self.ends(endpoint, scope);
            if let Some(tails) = &before {
                let many = tails.len().saturating_mul(ends.len());
                if !self.charge(if many > 1 { many } else { 0 }, statement.span) {
                    return;
                }
                for &tail in tails {
                    for &head in &ends {
                        self.edge(tail, head, key.as_ref(), &own, (statement.span, origin), scope);
                        origin.ordinal += 1;
                    }
                }
            }
            before = Some(ends);
        }
    }

    fn node_statement(&mut self, nodes: &[NodeRef], own: Vec<Attribute>, scope: &DefaultScope) {
        let Some((last, others)) = nodes.split_last() else { return };
        for reference in others {
            let node = self.mention(&reference.id.id, reference.span, scope);
            if !self.charge(own.len(), reference.span) {
                return;
            }
            self.nodes[node].own.extend(own.iter().cloned());
        }
        let node = self.mention(&last.id.id, last.span, scope);
        let known = &mut self.nodes[node].own;
        if known.is_empty() {
            *known = own;
        } else {
            known.extend(own);
        }
    }

    fn ends<'a>(&mut self, endpoint: &'a Endpoint, scope: &DefaultScope) -> Vec<EdgeEnd<'a>> {
        match endpoint {
            Endpoint::Nodes(nodes) => nodes
                .iter()
                .map(|reference| {
                    (self.mention(&reference.id.id, reference.span, scope), reference.port.as_ref())
                })
                .collect(),
            Endpoint::Subgraph(subgraph) => {
                let group = self.group(subgraph, scope);
                let size = self.groups[group].members.len();
                if subgraph.name.is_some() && !self.charge(size, subgraph.span) {
                    return Vec::new();
                }
                self.groups[group].members.iter().map(|&node| (node, None)).collect()
            }
        }
    }

    /// Reads a subgraph and returns its index; reopening one returns the same index.
    fn group(&mut self, syntax: &SubgraphSyntax, scope: &DefaultScope) -> usize {
        let name = syntax.name.as_ref().map(|name| name.id.clone());
        let known = name
            .as_ref()
            .and_then(|name| self.group_names.get(&(scope.group, name.clone())).copied());
        let group = known.unwrap_or_else(|| {
            let (members, defaults) = (Vec::new(), Vec::new());
            self.groups.push(SubgraphDraft {
                name: name.clone(),
                parent: scope.group,
                own: Vec::new(),
                members,
                defaults,
                span: syntax.span,
            });
            self.groups.len() - 1
        });
        if let (None, Some(name)) = (known, name) {
            self.group_names.insert((scope.group, name), group);
        }
        let mut inner = DefaultScope {
            group: Some(group),
            nodes: Arc::clone(&scope.nodes),
            edges: Arc::clone(&scope.edges),
        };
        let again = if known.is_some() { self.groups[group].defaults.clone() } else { Vec::new() };
        if self.charge(again.len(), syntax.span) {
            for (target, attribute) in again {
                self.apply_default(target, attribute, &mut inner);
            }
        }
        self.body(&syntax.body, &mut inner);
        group
    }

    fn mention(&mut self, id: &DotId, span: Span, scope: &DefaultScope) -> usize {
        let node = match self.index.get(id) {
            Some(&node) => node,
            None => {
                let node = self.nodes.len();
                self.index.insert(id.clone(), node);
                let defaults = Arc::clone(&scope.nodes);
                self.charge(defaults.len(), span);
                self.nodes.push(NodeDraft {
                    id: id.clone(),
                    defaults,
                    own: Vec::new(),
                    span,
                    group: scope.group,
                });
                node
            }
        };
        let mut group = scope.group;
        while let Some(inside) = group {
            // Who is a member here is one of every group around it.
            if !self.members.insert((inside, node)) {
                break;
            }
            self.groups[inside].members.push(node);
            group = self.groups[inside].parent;
        }
        node
    }

    fn edge(
        &mut self,
        tail: EdgeEnd<'_>,
        head: EdgeEnd<'_>,
        key: Option<&DotId>,
        own: &Arc<Vec<Attribute>>,
        at: (Span, EdgeOrigin),
        scope: &DefaultScope,
    ) {
        let (span, origin) = at;
        let ((from, from_port), (to, to_port)) = (tail, head);
        let place = self.place_of_edge(from, to, key);
        let known = place.as_ref().and_then(|place| self.known_edges.get(place).copied());
        if own.len() > 1 && !self.charge(own.len() - 1, span) {
            return;
        }
        if let Some(edge) = known {
            let edge = &mut self.edges[edge];
            edge.own.push(Arc::clone(own));
            edge.origins.push(origin);
            edge.from_port = from_port.cloned().or_else(|| edge.from_port.take());
            edge.to_port = to_port.cloned().or_else(|| edge.to_port.take());
            return;
        }
        let defaults = Arc::clone(&scope.edges);
        if !self.charge(defaults.len(), span) {
            return;
        }
        if let Some(place) = place {
            self.known_edges.insert(place, self.edges.len());
        }
        let own = if own.is_empty() { Vec::new() } else { vec![Arc::clone(own)] };
        let (from_port, to_port) = (from_port.cloned(), to_port.cloned());
        self.edges.push(EdgeDraft {
            from,
            to,
            from_port,
            to_port,
            key: key.cloned(),
            defaults,
            own,
            span,
            origins: vec![origin],
        });
    }

    /// What makes two edges one: their ends in a strict graph, their ends and key in any other.
    fn place_of_edge(
        &self,
        from: usize,
        to: usize,
        key: Option<&DotId>,
    ) -> Option<(usize, usize, Option<DotId>)> {
        let (from, to) = if self.directed { (from, to) } else { (from.min(to), from.max(to)) };
        match (self.strict, key) {
            (true, _) => Some((from, to, None)),
            (false, Some(key)) => Some((from, to, Some(key.clone()))),
            (false, None) => None,
        }
    }

    fn finished(self, syntax: &GraphSyntax, scope: &DefaultScope) -> Graph {
        let Self { nodes, index, edges, groups, graph_attributes, .. } = self;
        let ids: Vec<DotId> = nodes.iter().map(|node| node.id.clone()).collect();
        let nodes = nodes
            .into_iter()
            .map(|NodeDraft { id, defaults, own, span, group }| {
                let attributes = inherited(&defaults, own);
                Node { id, attributes, span, subgraph: group }
            })
            .collect();
        let edges = edges
            .into_iter()
            .map(|EdgeDraft { from, to, from_port, to_port, key, defaults, own, span, origins }| {
                let own = own.iter().flat_map(|list| list.iter().cloned()).collect();
                let attributes = inherited(&defaults, own);
                Edge {
                    from: ids[from].clone(),
                    to: ids[to].clone(),
                    from_port,
                    to_port,
                    key,
                    attributes,
                    span,
                    origins,
                }
            })
            .collect();
        let subgraphs = groups
            .into_iter()
            .map(|SubgraphDraft { name, parent, own, members, span, .. }| {
                let nodes = members.into_iter().map(|node| ids[node].clone()).collect();
                Subgraph { name, parent, attributes: Attributes::resolved(own), nodes, span }
            })
            .collect();
        Graph {
            strict: syntax.strict,
            directed: syntax.directed,
            name: syntax.name.as_ref().map(|name| name.id.clone()),
            attributes: Attributes::resolved(graph_attributes),
            node_defaults: Attributes::resolved(scope.nodes.to_vec()),
            edge_defaults: Attributes::resolved(scope.edges.to_vec()),
            nodes,
            edges,
            subgraphs,
            index,
        }
    }
}

fn inherited(defaults: &[Attribute], own: Vec<Attribute>) -> Attributes {
    if defaults.is_empty() {
        return Attributes::resolved(own);
    }
    let mut assigned = defaults.to_vec();
    assigned.extend(own);
    Attributes::resolved(assigned)
}

fn attribute(assign: &Assign, origin: AttributeOrigin) -> Attribute {
    Attribute {
        name: assign.name.id.shared(),
        value: assign.value.id.clone(),
        span: assign.span,
        origin,
    }
}
