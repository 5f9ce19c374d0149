//! What is to change, statement by statement, before a byte is touched.
//!
//! A plan is made against one reading of the document and may hold any number of
//! changes; [`super::render`] turns it into splices. Nothing here looks at layout.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::diagnostics::Span;
use crate::document::DotDocument;
use crate::graph::{AttributeOrigin, Attributes, Edge};
use crate::id::DotId;
use crate::syntax::{AttrList, Port, StatementKind, Target};

use super::attribute_lists::AttrChange;
use super::document_edits::EditError;
use super::statement_index::{StatementIndex, StatementShape, StatementSite, mentioned};

/// What happens to one statement.
#[derive(Default)]
pub(crate) struct StatementChanges {
    pub remove: bool,
    /// For a statement about a single item.
    pub attributes: AttrChange,
    /// For one node of a list.
    pub nodes: BTreeMap<DotId, AttrChange>,
    /// For one edge of a statement that makes several, by ordinal.
    pub edges: BTreeMap<usize, AttrChange>,
    pub removed_edges: BTreeSet<usize>,
    /// Written behind it.
    pub after: Vec<NewStatement>,
}

/// A statement to be written.
pub(crate) enum NewStatement {
    Node {
        id: DotId,
        attributes: Vec<(String, DotId)>,
    },
    Edge {
        from: (DotId, Option<Port>),
        to: (DotId, Option<Port>),
        attributes: Vec<(String, DotId)>,
    },
    /// `subgraph name {..}` with what it holds.
    Group {
        name: DotId,
        body: Vec<NewStatement>,
    },
    /// Verbatim text, without semicolon.
    Text(String),
    /// Copied source, without its first line's indentation and the semicolon.
    SourceCopier(String),
}

pub(crate) struct EditPlan<'a> {
    pub document: &'a DotDocument,
    pub sites: StatementIndex<'a>,
    pub changes: BTreeMap<usize, StatementChanges>,
    pub removed_nodes: HashSet<DotId>,
    /// Written at the start of a body.
    pub first: BTreeMap<usize, Vec<NewStatement>>,
    /// Written at the end of a body.
    pub last: BTreeMap<usize, Vec<NewStatement>>,
}

impl<'a> EditPlan<'a> {
    pub(crate) fn new(document: &'a DotDocument) -> Result<Self, EditError> {
        if let Some(problem) = document.errors.first() {
            return Err(EditError::Broken(problem.clone()));
        }
        let (changes, first, last) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Self {
            document,
            sites: StatementIndex::of(document),
            changes,
            removed_nodes: HashSet::new(),
            first,
            last,
        })
    }

    pub(crate) fn site(&self, site: usize) -> &StatementSite<'a> {
        &self.sites.all[site]
    }

    fn change(&mut self, site: usize) -> &mut StatementChanges {
        self.changes.entry(site).or_default()
    }

    /// A new node goes behind the last one of its body that has a statement of its own.
    pub(crate) fn add_node(&mut self, id: DotId, attributes: Vec<(String, DotId)>, body: usize) {
        let behind = self.sites.bodies[body].last_node;
        self.add(NewStatement::Node { id, attributes }, behind, body);
    }

    /// A new edge goes to the end of its body.
    pub(crate) fn add_edge(
        &mut self,
        from: (DotId, Option<Port>),
        to: (DotId, Option<Port>),
        attributes: Vec<(String, DotId)>,
        body: usize,
    ) {
        self.last.entry(body).or_default().push(NewStatement::Edge { from, to, attributes });
    }

    pub(crate) fn add(&mut self, statement: NewStatement, behind: Option<usize>, body: usize) {
        match behind {
            Some(site) => self.change(site).after.push(statement),
            None => self.last.entry(body).or_default().push(statement),
        }
    }

    pub(crate) fn set_node_attr(
        &mut self,
        id: &DotId,
        name: &str,
        value: &DotId,
    ) -> Result<(), EditError> {
        let node = self.document.graph().node(id).ok_or_else(|| EditError::NoNode(id.clone()))?;
        let current = node.attributes.get(name);
        let holder = current
            .filter(|attribute| attribute.origin == AttributeOrigin::Own)
            .and_then(|attribute| self.holding(id, attribute.span));
        let alone = |site: &usize| self.sites.all[*site].shape == StatementShape::Node;
        let mentions = self.sites.mentioning(id);
        // A statement of its own may take it, if no list that says otherwise comes later.
        let own = match holder {
            Some(site) if alone(&site) => Some(site),
            Some(shared) => mentions.iter().copied().filter(|site| *site > shared).find(alone),
            None => mentions
                .iter()
                .copied()
                .filter(alone)
                .max_by_key(|site| (!self.lists(*site).is_empty(), std::cmp::Reverse(*site))),
        };
        if let Some(site) = own {
            self.change(site).attributes.set.insert(name.to_owned(), value.clone());
            return Ok(());
        }
        let behind = holder.or_else(|| mentions.first().copied());
        let Some(behind) = behind else { return Err(EditError::NoNode(id.clone())) };
        let pending = self.change(behind).after.iter_mut().find_map(|statement| match statement {
            NewStatement::Node { id: other, attributes } if other == id => Some(attributes),
            _ => None,
        });
        let attribute = (name.to_owned(), value.clone());
        match pending {
            Some(attributes) => attributes.push(attribute),
            None => self
                .change(behind)
                .after
                .push(NewStatement::Node { id: id.clone(), attributes: vec![attribute] }),
        }
        Ok(())
    }

    pub(crate) fn remove_node_attr(&mut self, id: &DotId, name: &str) -> Result<(), EditError> {
        let node = self.document.graph().node(id).ok_or_else(|| EditError::NoNode(id.clone()))?;
        self.must_be_own(&node.attributes, name)?;
        for site in self.sites.mentioning(id).to_vec() {
            if !says(self.lists(site), name) {
                continue;
            }
            let shape = self.site(site).shape;
            let changes = self.change(site);
            let change = match shape {
                StatementShape::Node => &mut changes.attributes,
                StatementShape::Nodes => changes.nodes.entry(id.clone()).or_default(),
                _ => continue,
            };
            change.unset.insert(name.to_owned());
        }
        Ok(())
    }

    /// Takes a node out of every statement, and its edges with it.
    pub(crate) fn remove_node(&mut self, id: &DotId) {
        self.removed_nodes.insert(id.clone());
        for site in self.sites.mentioning(id).to_vec() {
            let changes = self.changes.entry(site).or_default();
            changes.remove |= self.sites.all[site].shape == StatementShape::Node;
        }
    }

    pub(crate) fn remove_edge(&mut self, edge: &Edge) {
        for origin in &edge.origins {
            if let Some(site) = self.sites.at(origin.statement) {
                self.change(site).removed_edges.insert(origin.ordinal);
            }
        }
    }

    pub(crate) fn set_edge_attr(&mut self, edge: &Edge, name: &str, value: &DotId) {
        let span = edge
            .attributes
            .get(name)
            .filter(|attribute| attribute.origin == AttributeOrigin::Own)
            .map(|attribute| attribute.span);
        let holds = |start: usize| {
            self.sites.at(start).is_some_and(|site| {
                span.is_some_and(|span| within(span, self.site(site).statement.span))
            })
        };
        let origin = edge
            .origins
            .iter()
            .rev()
            .find(|origin| holds(origin.statement))
            .or(edge.origins.last());
        let Some((site, ordinal)) =
            origin.and_then(|origin| Some((self.sites.at(origin.statement)?, origin.ordinal)))
        else {
            return;
        };
        self.edge_change(site, ordinal).set.insert(name.to_owned(), value.clone());
    }

    pub(crate) fn remove_edge_attr(&mut self, edge: &Edge, name: &str) -> Result<(), EditError> {
        self.must_be_own(&edge.attributes, name)?;
        for origin in &edge.origins {
            if let Some(site) = self.sites.at(origin.statement)
                && says(self.lists(site), name)
            {
                self.edge_change(site, origin.ordinal).unset.insert(name.to_owned());
            }
        }
        Ok(())
    }

    fn edge_change(&mut self, site: usize, ordinal: usize) -> &mut AttrChange {
        let alone = self.site(site).shape == StatementShape::Edge;
        let changes = self.change(site);
        if alone { &mut changes.attributes } else { changes.edges.entry(ordinal).or_default() }
    }

    /// An attribute of the graph or of a subgraph (`Target::Graph`), or a default set in it.
    pub(crate) fn set_body_attr(
        &mut self,
        target: Target,
        body: usize,
        span: Option<Span>,
        name: &str,
        value: &DotId,
    ) {
        let holder = span.and_then(|span| self.body_site(span));
        let listed = || {
            self.sites.all.iter().position(|site| {
                site.body == body && site.shape == StatementShape::Defaults(target)
            })
        };
        if let Some(site) = holder.or_else(|| if target == Target::Graph { None } else { listed() })
        {
            self.change(site).attributes.set.insert(name.to_owned(), value.clone());
            return;
        }
        let assign = format!("{}={value}", DotId::new(name));
        let text = match target {
            Target::Graph => assign,
            Target::Node => format!("node [{assign}]"),
            Target::Edge => format!("edge [{assign}]"),
        };
        self.first.entry(body).or_default().push(NewStatement::Text(text));
    }

    /// Takes every word on an attribute out of the statements of a body.
    pub(crate) fn remove_body_attr(&mut self, target: Target, body: usize, name: &str) {
        for site in 0..self.sites.all.len() {
            if self.sites.all[site].body != body {
                continue;
            }
            match &self.sites.all[site].statement.kind {
                StatementKind::Assign(assign)
                    if target == Target::Graph && assign.name.id.as_str() == name =>
                {
                    self.change(site).remove = true;
                }
                StatementKind::Defaults { target: other, lists }
                    if *other == target && says(lists, name) =>
                {
                    self.change(site).attributes.unset.insert(name.to_owned());
                }
                _ => {}
            }
        }
    }

    /// Removes the statements of a subgraph, those of its nodes with them; false if one also makes edges.
    pub(crate) fn remove_group(&mut self, group: usize) -> bool {
        let parts: Vec<usize> = self
            .sites
            .bodies
            .iter()
            .filter(|body| body.group == Some(group))
            .filter_map(|body| body.statement)
            .collect();
        if parts.iter().any(|site| self.site(*site).shape != StatementShape::Subgraph) {
            return false;
        }
        parts.into_iter().for_each(|site| self.change(site).remove = true);
        true
    }

    /// How often each node is mentioned in each body.
    pub(crate) fn mention_counts(&self) -> HashMap<(usize, &'a DotId), usize> {
        let mut counts = HashMap::new();
        for site in &self.sites.all {
            for node in mentioned(site.statement) {
                *counts.entry((site.body, &node.id.id)).or_default() += 1;
            }
        }
        counts
    }

    pub(crate) fn lists(&self, site: usize) -> &'a [AttrList] {
        match &self.sites.all[site].statement.kind {
            StatementKind::Chain { lists, .. } | StatementKind::Defaults { lists, .. } => lists,
            StatementKind::Assign(_) => &[],
        }
    }

    fn holding(&self, id: &DotId, span: Span) -> Option<usize> {
        self.sites
            .mentioning(id)
            .iter()
            .copied()
            .find(|site| within(span, self.site(*site).statement.span))
    }

    fn body_site(&self, span: Span) -> Option<usize> {
        let holds = |site: &StatementSite<'_>| {
            matches!(site.shape, StatementShape::Assign | StatementShape::Defaults(_))
                && within(span, site.statement.span)
        };
        self.sites.all.iter().position(holds)
    }

    fn must_be_own(&self, attributes: &Attributes, name: &str) -> Result<(), EditError> {
        match attributes.get(name) {
            None => Err(EditError::NoAttribute(name.to_owned())),
            Some(attribute) if attribute.origin == AttributeOrigin::Default => {
                let line = self.document.position(attribute.span.start).line;
                Err(EditError::Inherited { name: name.to_owned(), line })
            }
            Some(_) => Ok(()),
        }
    }
}

fn says(lists: &[AttrList], name: &str) -> bool {
    lists.iter().flat_map(|list| &list.assigns).any(|assign| assign.name.id.as_str() == name)
}

fn within(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
