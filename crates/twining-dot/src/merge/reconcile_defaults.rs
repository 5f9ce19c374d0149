//! Intended meaning of the result, whatever its defaults provide.
//!
//! The sides may set defaults differently, or the same ones in other places. So the finished result
//! is parsed again, and where a node or an edge differs from its intended meaning the value is
//! written into its statement; an unwanted attribute from a default is set to the empty value,
//! which DOT treats as missing.

use std::collections::{HashMap, VecDeque};

use crate::document::DotDocument;
use crate::edit::{EditError, EditPlan, StatementIndex, carry_out};
use crate::graph::{Attributes, Edge, Graph};
use crate::id::DotId;

use super::policy::{DotClash, DotClashKind, Subject};
use super::side::OwnAttributes;

/// An edge by its ends, and what it is to mean.
type IntendedEdge = (DotId, DotId, OwnAttributes);

/// What is to be in the result.
#[derive(Default)]
pub(super) struct IntendedGraph {
    pub nodes: Vec<(DotId, OwnAttributes)>,
    /// Edges of ours that stay, in their order.
    pub remaining_edges: Vec<IntendedEdge>,
    /// Those that are written at the end, in their order.
    pub new_edges: Vec<IntendedEdge>,
}

/// The result with its values.
pub(super) struct CorrectedText {
    pub text: Vec<u8>,
    /// How many values were written out.
    pub values: usize,
    /// How many of them say nothing, against a default that says something.
    pub blanked: usize,
    /// What could not be made to mean what it should.
    pub mismatches: Vec<DotClash>,
}

/// Taking a statement apart may move the first mention of a node; so often it is looked at again.
const ROUNDS: usize = 3;

impl IntendedGraph {
    /// Reads the result and writes out what its defaults do not give.
    pub(super) fn corrected(&self, mut text: Vec<u8>) -> Result<CorrectedText, EditError> {
        let (mut values, mut blanked, mut round) = (0, 0, 0);
        loop {
            let document = DotDocument::parse(text.as_slice());
            if let Some(problem) = document.errors.first() {
                return Err(EditError::WouldBreak(problem.clone()));
            }
            let mut plan = EditPlan::new(&document)?;
            let wrong = self.wrong(&document, &plan.sites);
            let to_write = wrong.iter().flat_map(ValueMismatch::values).count();
            if to_write == 0 || round == ROUNDS {
                let mismatches = wrong.into_iter().map(ValueMismatch::into_clash).collect();
                return Ok(CorrectedText { text, values, blanked, mismatches });
            }
            values += to_write;
            blanked += wrong
                .iter()
                .flat_map(ValueMismatch::values)
                .filter(|(_, value)| is_nothing(value))
                .count();
            for wrong in &wrong {
                wrong.put_right(&mut plan)?;
            }
            text = carry_out(&plan)?;
            round += 1;
        }
    }

    fn wrong<'d>(
        &self,
        document: &'d DotDocument,
        sites: &StatementIndex<'_>,
    ) -> Vec<ValueMismatch<'d>> {
        let graph: &'d Graph = document.graph();
        let mut wrong = Vec::new();
        for (id, intended) in &self.nodes {
            // A node that only edges mention is written by nobody, and not by the merge either.
            let differs =
                graph.node(id).map_or_else(Vec::new, |node| differing(&node.attributes, intended));
            if !differs.is_empty() && sites.declares(id) {
                wrong.push(ValueMismatch::Node(id.clone(), differs));
            }
        }
        // Edges between two nodes keep their intended order.
        let mut intended: HashMap<(&DotId, &DotId), VecDeque<&OwnAttributes>> = HashMap::new();
        for (from, to, attributes) in self.remaining_edges.iter().chain(&self.new_edges) {
            intended.entry((from, to)).or_default().push_back(attributes);
        }
        for edge in &graph.edges {
            let Some(intended) =
                intended.get_mut(&(&edge.from, &edge.to)).and_then(VecDeque::pop_front)
            else {
                wrong.push(ValueMismatch::Edges);
                return wrong;
            };
            let differs = differing(&edge.attributes, intended);
            if !differs.is_empty() {
                wrong.push(ValueMismatch::Edge(edge, differs));
            }
        }
        if intended.values().any(|left| !left.is_empty()) {
            wrong.push(ValueMismatch::Edges);
        }
        wrong
    }
}

/// Values that are to be others.
type AttributeValues = Vec<(String, DotId)>;

enum ValueMismatch<'d> {
    Node(DotId, AttributeValues),
    Edge(&'d Edge, AttributeValues),
    /// Other edges than there should be.
    Edges,
}

impl ValueMismatch<'_> {
    fn values(&self) -> &[(String, DotId)] {
        match self {
            Self::Node(_, values) | Self::Edge(_, values) => values,
            Self::Edges => &[],
        }
    }

    fn put_right(&self, plan: &mut EditPlan<'_>) -> Result<(), EditError> {
        self.values().iter().try_for_each(|(name, value)| match self {
            Self::Node(id, _) => plan.set_node_attr(id, name, value),
            Self::Edge(edge, _) => {
                plan.set_edge_attr(edge, name, value);
                Ok(())
            }
            Self::Edges => Ok(()),
        })
    }

    fn into_clash(self) -> DotClash {
        let named = |values: &AttributeValues| {
            values.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let (subject, what) = match self {
            Self::Node(id, values) => (Subject::Node(id), named(&values)),
            Self::Edge(edge, values) => (
                Subject::Edge {
                    from: edge.from.clone(),
                    to: edge.to.clone(),
                    identity: Vec::new(),
                },
                named(&values),
            ),
            Self::Edges => (Subject::Graph, "edges".to_owned()),
        };
        DotClash {
            subject,
            kind: DotClashKind::NotCarriedOver(format!(
                "the defaults of the two sides conflict: {what}"
            )),
        }
    }
}

/// What must be written for attributes to mean this.
fn differing(attributes: &Attributes, intended: &OwnAttributes) -> AttributeValues {
    let says = |name: &str| attributes.get(name).map(|attribute| &attribute.value);
    let missing = intended.iter().filter(|(name, value)| {
        says(name) != Some(value) && !(says(name).is_none() && is_nothing(value))
    });
    let mut values: AttributeValues =
        missing.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let surplus = attributes.iter().filter(|attribute| {
        intended.get(attribute.name()).is_none() && !is_nothing(&attribute.value)
    });
    values.extend(surplus.map(|attribute| (attribute.name().to_owned(), DotId::new(""))));
    values
}

fn is_nothing(value: &DotId) -> bool {
    value.as_str().is_empty() && !value.is_html()
}
