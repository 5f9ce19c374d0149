//! Edges, identified by their endpoints and the policy's attributes, including those from defaults.

use std::collections::HashSet;
use std::sync::Arc;

use crate::edit::NewStatement;
use crate::graph::Edge;
use crate::id::DotId;

use super::policy::{DotClashKind, DotMergePolicy, Subject};
use super::side::{EdgeKey, OwnAttributes};
use super::subgraphs::path_of;
use super::three_way::{AttributeAction, MergeError, Merger, by_statement, in_order};

impl<'a, P: DotMergePolicy + ?Sized> Merger<'a, P> {
    /// Settles the edges and returns the nodes they need.
    pub(super) fn edges(&mut self) -> Result<HashSet<DotId>, MergeError> {
        let mut joined: HashSet<DotId> = HashSet::new();
        let mut join = |edge: &Edge| {
            joined.insert(edge.from.clone());
            joined.insert(edge.to.clone());
        };
        for index in 0..self.ours.edges.len() {
            let (name, edge, mut intended) = self.ours.edges[index].clone();
            let base = self.base.edge(&name).map(|(.., attributes)| attributes.clone());
            let theirs =
                self.theirs.edge(&name).map(|(_, edge, attributes)| (*edge, attributes.clone()));
            let subject = self.edge_subject(&name);
            match (base, theirs) {
                (base, Some((other, attributes))) => {
                    let verdicts =
                        self.compared(&subject, &base.unwrap_or_default(), &intended, &attributes);
                    let ports = |edge: &Edge| (edge.from_port.clone(), edge.to_port.clone());
                    let before = self.base.edge(&name).map(|(_, edge, _)| ports(edge));
                    if ports(other) != ports(edge) && Some(ports(other)) != before {
                        if before == Some(ports(edge)) {
                            self.replace_edge(edge, other, verdicts, intended);
                            join(edge);
                            continue;
                        }
                        let what = "its ports differ in theirs".to_owned();
                        self.clash(subject, DotClashKind::NotCarriedOver(what));
                    }
                    for (name, verdict) in verdicts {
                        match by_statement(&name, &verdict, &edge.attributes, &other.attributes) {
                            AttributeAction::Keep => {}
                            AttributeAction::Set(value) => {
                                self.plan.set_edge_attr(edge, &name, &value);
                            }
                            AttributeAction::Unset => self.plan.remove_edge_attr(edge, &name)?,
                        }
                        intended.apply(&name, verdict);
                    }
                }
                (Some(base), None) if base == intended => {
                    self.plan.remove_edge(edge);
                    continue;
                }
                (Some(_), None) => self.clash(subject, DotClashKind::RemovedByTheirs),
                (None, None) => {}
            }
            self.intended.remaining_edges.push((edge.from.clone(), edge.to.clone(), intended));
            join(edge);
        }
        for index in 0..self.theirs.edges.len() {
            let (name, edge, intended) = self.theirs.edges[index].clone();
            if self.ours.edge_index.contains_key(&name) {
                continue;
            }
            match self.base.edge(&name) {
                Some((.., base)) if *base == intended => continue,
                Some(_) => {
                    let subject = self.edge_subject(&name);
                    self.clash(subject, DotClashKind::RemovedByOurs);
                }
                None => {}
            }
            self.add_edge(edge, in_order(&edge.attributes), intended);
            join(edge);
        }
        Ok(joined)
    }

    /// Only theirs moved an edge to other ports: it is written anew, as theirs, with the attributes
    /// of both.
    fn replace_edge(
        &mut self,
        ours: &'a Edge,
        theirs: &Edge,
        verdicts: Vec<(Arc<str>, AttributeAction)>,
        mut intended: OwnAttributes,
    ) {
        let mut attributes = in_order(&ours.attributes);
        for (name, verdict) in verdicts {
            match by_statement(&name, &verdict, &ours.attributes, &theirs.attributes) {
                AttributeAction::Keep => {}
                AttributeAction::Set(value) => {
                    match attributes.iter_mut().find(|(known, _)| **known == *name) {
                        Some((_, known)) => *known = value,
                        None => attributes.push((name.to_string(), value)),
                    }
                }
                AttributeAction::Unset => attributes.retain(|(known, _)| **known != *name),
            }
            intended.apply(&name, verdict);
        }
        self.plan.remove_edge(ours);
        self.add_edge(theirs, attributes, intended);
    }

    fn add_edge(&mut self, edge: &Edge, attributes: Vec<(String, DotId)>, intended: OwnAttributes) {
        let from = (edge.from.clone(), edge.from_port.clone());
        let to = (edge.to.clone(), edge.to_port.clone());
        match self.home_of(edge) {
            Some(path) => self.housed.entry(path).or_default().push(NewStatement::Edge {
                from,
                to,
                attributes,
            }),
            None => self.plan.add_edge(from, to, attributes, 0),
        }
        self.intended.new_edges.push((edge.from.clone(), edge.to.clone(), intended));
    }

    /// Subgraph of theirs that must contain an edge, because only its mention places an endpoint
    /// there.
    fn home_of(&self, edge: &Edge) -> Option<Vec<DotId>> {
        let comes_along =
            |id: &DotId| !self.ours.nodes.contains_key(id) && !self.their_sites.declares(id);
        if !comes_along(&edge.from) && !comes_along(&edge.to) {
            return None;
        }
        let site = edge.origins.first().and_then(|origin| self.their_sites.at(origin.statement))?;
        let group = self.their_sites.bodies[self.their_sites.all[site].body].group;
        Some(path_of(self.theirs.document.graph(), group)).filter(|path| !path.is_empty())
    }

    fn edge_subject(&self, name: &EdgeKey) -> Subject {
        let values = self.policy.edge_identity().iter().zip(&name.identity);
        let identity = values
            .filter_map(|(attribute, value)| Some(((*attribute).to_owned(), value.clone()?)))
            .collect();
        Subject::Edge { from: name.from.0.clone(), to: name.to.0.clone(), identity }
    }
}
