//! Statements: which nodes the file declares, and where two statements of one
//! node say different things. Meaning alone cannot tell: an edge makes its ends,
//! and of two values the last one stands.

use std::collections::HashMap;

use twining_dot::{
    AttrList, Body, DotDocument, DotId, Endpoint, NodeRef, Span, Statement, StatementKind,
};

/// What the statements say that the graph does not show.
#[derive(Debug, Default)]
pub(super) struct GraphStatements<'d> {
    /// Where each node that has a statement of its own is first declared.
    pub declared: HashMap<&'d DotId, Span>,
    /// Where a node says two things.
    pub clashes: Vec<Contradiction<'d>>,
    values: HashMap<(&'d DotId, &'d str), (&'d DotId, Span)>,
}

/// One attribute of one node with two values.
#[derive(Debug)]
pub(super) struct Contradiction<'d> {
    pub node: &'d DotId,
    pub name: &'d str,
    pub first: (&'d DotId, Span),
    pub second: (&'d DotId, Span),
}

impl<'d> GraphStatements<'d> {
    pub(super) fn of(document: &'d DotDocument) -> Self {
        let mut statements = Self::default();
        if let Some(graph) = document.syntax() {
            statements.body(&graph.body, NodeMention::Declare);
        }
        statements
    }

    fn body(&mut self, body: &'d Body, bare: NodeMention) {
        for Statement { kind, .. } in &body.statements {
            let StatementKind::Chain { endpoints, lists } = kind else { continue };
            match endpoints.as_slice() {
                [Endpoint::Nodes(nodes)] => self.nodes(nodes, lists, bare),
                [Endpoint::Subgraph(subgraph)] => self.body(&subgraph.body, bare),
                // `a -> { b c }` names b and c, and declares neither.
                several => several.iter().for_each(|endpoint| {
                    if let Endpoint::Subgraph(subgraph) = endpoint {
                        self.body(&subgraph.body, NodeMention::Name);
                    }
                }),
            }
        }
    }

    fn nodes(&mut self, nodes: &'d [NodeRef], lists: &'d [AttrList], bare: NodeMention) {
        if lists.is_empty() && bare == NodeMention::Name {
            return;
        }
        for NodeRef { id, .. } in nodes {
            self.declared.entry(&id.id).or_insert(id.span);
            for assign in lists.iter().flat_map(|list| &list.assigns) {
                let second = (&assign.value.id, assign.span);
                let first = *self.values.entry((&id.id, assign.name.id.as_str())).or_insert(second);
                if first.0 != second.0 {
                    self.clashes.push(Contradiction {
                        node: &id.id,
                        name: assign.name.id.as_str(),
                        first,
                        second,
                    });
                }
            }
        }
    }
}

/// What a node statement without attributes does.
#[derive(Clone, Copy, PartialEq)]
enum NodeMention {
    Declare,
    Name,
}
