//! Edits that touch one statement and leave every other byte alone.

use super::apply::carry_out;

use super::plan::{EditPlan, NewStatement};

use crate::diagnostics::Diagnostic;
use crate::document::DotDocument;
use crate::graph::Edge;
use crate::id::DotId;

/// Why an edit was not made. The document is then as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The file must be right before it is edited.
    #[error("the file has an error at {line}:{column}: {message}", line = .0.line, column = .0.column, message = .0.message)]
    Broken(Diagnostic),
    /// There is no such node.
    #[error("there is no node {0}")]
    NoNode(DotId),
    /// A node that is to be added has a statement already.
    #[error("the node {0} exists already")]
    NodeExists(DotId),
    /// No edge is selected.
    #[error("there is no edge {from} -> {to} with these attributes")]
    NoEdge {
        /// Its tail.
        from: DotId,
        /// Its head.
        to: DotId,
    },
    /// The attribute to be removed is not there.
    #[error("there is no attribute `{0}` here")]
    NoAttribute(String),
    /// A default cannot be taken from one node alone.
    #[error("`{name}` comes from a default in line {line}; change it there, or set another value")]
    Inherited {
        /// The attribute.
        name: String,
        /// Where the default is set.
        line: usize,
    },
    /// The file is Latin-1 and has no such character.
    #[error("the file is Latin-1, which cannot hold `{0}`; save it as UTF-8 first")]
    Unwritable(char),
    /// The file would not read back as intended.
    #[error("the edit would break the file at {line}:{column}: {message}", line = .0.line, column = .0.column, message = .0.message)]
    WouldBreak(Diagnostic),
}

/// Which edges are meant: those between two nodes that have all these attributes.
#[derive(Clone, Debug)]
pub struct EdgeSelector {
    from: DotId,
    to: DotId,
    having: Vec<(String, DotId)>,
}

impl EdgeSelector {
    /// All edges from one node to another; both ways in an undirected graph.
    #[must_use]
    pub fn new(from: impl Into<DotId>, to: impl Into<DotId>) -> Self {
        Self { from: from.into(), to: to.into(), having: Vec::new() }
    }

    /// Only those with this attribute.
    #[must_use]
    pub fn having(mut self, name: impl Into<String>, value: impl Into<DotId>) -> Self {
        self.having.push((name.into(), value.into()));
        self
    }

    fn select<'a>(&self, document: &'a DotDocument) -> Vec<&'a Edge> {
        let has = |edge: &Edge| {
            self.having.iter().all(|(name, value)| {
                edge.attributes.get(name).is_some_and(|found| &found.value == value)
            })
        };
        let graph = document.graph();
        graph
            .edges
            .iter()
            .filter(|edge| graph.connects(edge, &self.from, &self.to) && has(edge))
            .collect()
    }
}

impl DotDocument {
    /// Adds a node. One that only edges mention so far gets its statement.
    ///
    /// # Errors
    /// The node has a statement already.
    pub fn add_node(
        &mut self,
        id: impl Into<DotId>,
        attributes: &[(&str, DotId)],
    ) -> Result<(), EditError> {
        let id = id.into();
        let attributes = owned(attributes);
        self.edit(|plan| {
            let mentions = plan.sites.mentioning(&id);
            if plan.sites.declares(&id) {
                return Err(EditError::NodeExists(id));
            }
            match mentions.first().copied() {
                Some(site) => plan.add(NewStatement::Node { id, attributes }, Some(site), 0),
                None => plan.add_node(id, attributes, 0),
            }
            Ok(())
        })
    }

    /// Sets an attribute of a node, where it is set already or in the node's own statement.
    ///
    /// # Errors
    /// There is no such node.
    pub fn set_node_attr(
        &mut self,
        id: impl Into<DotId>,
        name: &str,
        value: impl Into<DotId>,
    ) -> Result<(), EditError> {
        let (id, value) = (id.into(), value.into());
        self.edit(|plan| plan.set_node_attr(&id, name, &value))
    }

    /// Takes an attribute from a node.
    ///
    /// # Errors
    /// There is no such node or attribute, or a default gives it.
    pub fn remove_node_attr(&mut self, id: impl Into<DotId>, name: &str) -> Result<(), EditError> {
        let id = id.into();
        self.edit(|plan| plan.remove_node_attr(&id, name))
    }

    /// Removes a node from every statement that mentions it, and its edges with it.
    ///
    /// # Errors
    /// There is no such node.
    pub fn remove_node(&mut self, id: impl Into<DotId>) -> Result<(), EditError> {
        let id = id.into();
        if self.graph().node(&id).is_none() {
            return Err(EditError::NoNode(id));
        }
        self.edit(|plan| {
            plan.remove_node(&id);
            Ok(())
        })
    }

    /// Adds an edge, and its ends if they do not exist. A parallel one is no error:
    /// DOT makes a second edge of it, or in a `strict` graph sets the attributes of the first.
    ///
    /// # Errors
    /// The file has errors, or cannot hold the text.
    pub fn add_edge(
        &mut self,
        from: impl Into<DotId>,
        to: impl Into<DotId>,
        attributes: &[(&str, DotId)],
    ) -> Result<(), EditError> {
        let (from, to) = (from.into(), to.into());
        self.edit(|plan| {
            plan.add_edge((from, None), (to, None), owned(attributes), 0);
            Ok(())
        })
    }

    /// Removes every selected edge; the nodes stay. Returns the number removed.
    ///
    /// # Errors
    ///
    /// No edge is selected.
    pub fn remove_edge(&mut self, selector: &EdgeSelector) -> Result<usize, EditError> {
        let mut removed = 0;
        self.edit(|plan| {
            let edges = selector.select(plan.document);
            removed = edges.len();
            edges.iter().for_each(|edge| plan.remove_edge(edge));
            if edges.is_empty() {
                Err(EditError::NoEdge { from: selector.from.clone(), to: selector.to.clone() })
            } else {
                Ok(())
            }
        })?;
        Ok(removed)
    }

    fn edit(
        &mut self,
        change: impl FnOnce(&mut EditPlan<'_>) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        let mut plan = EditPlan::new(self)?;
        change(&mut plan)?;
        let edited = Self::parse(carry_out(&plan)?);
        if let Some(problem) = edited.errors.first() {
            return Err(EditError::WouldBreak(problem.clone()));
        }
        *self = edited;
        Ok(())
    }
}

pub(super) fn owned(attributes: &[(&str, DotId)]) -> Vec<(String, DotId)> {
    attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}
