//! What the result is to mean, whatever its defaults give.
//!
//! The sides may set defaults differently, or the same at other places. So once the
//! result stands it is read back, and where a node or an edge does not mean what it
//! should the value is written into its statement; an attribute that a default gives
//! and that should not be there is set to nothing, which is what DOT takes a missing one for.

use std::collections::{HashMap, VecDeque};

use crate::document::Document;
use crate::edit::{EditError, Plan, Sites, carry_out};
use crate::graph::{Attributes, Edge, Graph};
use crate::id::Id;

use super::policy::{Clash, ClashKind, Subject};
use super::side::Own;

/// An edge by its ends, and what it is to mean.
type MeantEdge = (Id, Id, Own);

/// What is to be in the result.
#[derive(Default)]
pub(super) struct Meant {
    pub nodes: Vec<(Id, Own)>,
    /// Edges of ours that stay, in their order.
    pub kept_edges: Vec<MeantEdge>,
    /// Those that are written at the end, in their order.
    pub new_edges: Vec<MeantEdge>,
}

/// The result with its values.
pub(super) struct Written {
    pub text: Vec<u8>,
    /// How many values were written out.
    pub values: usize,
    /// How many of them say nothing, against a default that says something.
    pub blanks: usize,
    /// What could not be made to mean what it should.
    pub amiss: Vec<Clash>,
}

/// Taking a statement apart may move the first mention of a node; so often it is looked at again.
const ROUNDS: usize = 3;

impl Meant {
    /// Reads the result and writes out what its defaults do not give.
    pub fn written_out(&self, mut text: Vec<u8>) -> Result<Written, EditError> {
        let (mut values, mut blanks, mut round) = (0, 0, 0);
        loop {
            let document = Document::parse(text.as_slice());
            if let Some(problem) = document.errors().first() {
                return Err(EditError::WouldBreak(problem.clone()));
            }
            let mut plan = Plan::new(&document)?;
            let wrong = self.wrong(&document, &plan.sites);
            let to_write = wrong.iter().flat_map(Wrong::values).count();
            if to_write == 0 || round == ROUNDS {
                let amiss = wrong.into_iter().map(Wrong::told).collect();
                return Ok(Written { text, values, blanks, amiss });
            }
            values += to_write;
            blanks += wrong.iter().flat_map(Wrong::values).filter(|(_, value)| is_nothing(value)).count();
            for wrong in &wrong {
                wrong.put_right(&mut plan)?;
            }
            text = carry_out(&plan)?;
            round += 1;
        }
    }

    fn wrong<'d>(&self, document: &'d Document, sites: &Sites<'_>) -> Vec<Wrong<'d>> {
        let graph: &'d Graph = document.graph();
        let mut wrong = Vec::new();
        for (id, meant) in &self.nodes {
            // A node that only edges mention is written by nobody, and not by the merge either.
            let differs = graph.node(id).map_or_else(Vec::new, |node| differing(node.attributes(), meant));
            if !differs.is_empty() && sites.declares(id) {
                wrong.push(Wrong::Node(id.clone(), differs));
            }
        }
        // Between two nodes edges stand in the order in which they are meant.
        let mut meant: HashMap<(&Id, &Id), VecDeque<&Own>> = HashMap::new();
        for (from, to, attributes) in self.kept_edges.iter().chain(&self.new_edges) {
            meant.entry((from, to)).or_default().push_back(attributes);
        }
        for edge in graph.edges() {
            let Some(meant) = meant.get_mut(&(&edge.from, &edge.to)).and_then(VecDeque::pop_front) else {
                wrong.push(Wrong::Edges);
                return wrong;
            };
            let differs = differing(edge.attributes(), meant);
            if !differs.is_empty() {
                wrong.push(Wrong::Edge(edge, differs));
            }
        }
        if meant.values().any(|left| !left.is_empty()) {
            wrong.push(Wrong::Edges);
        }
        wrong
    }
}

/// Values that are to be others.
type Values = Vec<(String, Id)>;

enum Wrong<'d> {
    Node(Id, Values),
    Edge(&'d Edge, Values),
    /// Other edges than there should be.
    Edges,
}

impl Wrong<'_> {
    fn values(&self) -> &[(String, Id)] {
        match self {
            Self::Node(_, values) | Self::Edge(_, values) => values,
            Self::Edges => &[],
        }
    }

    fn put_right(&self, plan: &mut Plan<'_>) -> Result<(), EditError> {
        self.values().iter().try_for_each(|(name, value)| match self {
            Self::Node(id, _) => plan.set_node_attr(id, name, value),
            Self::Edge(edge, _) => {
                plan.set_edge_attr(edge, name, value);
                Ok(())
            }
            Self::Edges => Ok(()),
        })
    }

    fn told(self) -> Clash {
        let named = |values: &Values| values.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let (subject, what) = match self {
            Self::Node(id, values) => (Subject::Node(id), named(&values)),
            Self::Edge(edge, values) => {
                (Subject::Edge { from: edge.from.clone(), to: edge.to.clone(), identity: Vec::new() }, named(&values))
            }
            Self::Edges => (Subject::Graph, "edges".to_owned()),
        };
        Clash { subject, kind: ClashKind::NotCarriedOver(format!("the defaults of the two sides do not go together: {what}")) }
    }
}

/// What must be written for attributes to mean this.
fn differing(attributes: &Attributes, meant: &Own) -> Values {
    let says = |name: &str| attributes.get(name).map(|attribute| attribute.value());
    let missing = meant.iter().filter(|(name, value)| says(name) != Some(value) && !(says(name).is_none() && is_nothing(value)));
    let mut values: Values = missing.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let surplus = attributes.iter().filter(|attribute| meant.get(attribute.name()).is_none() && !is_nothing(attribute.value()));
    values.extend(surplus.map(|attribute| (attribute.name().to_owned(), Id::new(""))));
    values
}

fn is_nothing(value: &Id) -> bool {
    value.as_str().is_empty() && !value.is_html()
}
