//! Nodes that theirs took out of a subgraph: in ours they leave it too.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::edit::{NewStatement, StatementShape};
use crate::graph::Graph;
use crate::id::DotId;

use super::Merger;
use super::groups::path_of;
use super::policy::DotMergePolicy;

/// Nodes that leave a subgraph, and the body of ours they stand in from now on.
pub(super) type MovedNodes<'a> = HashMap<&'a DotId, usize>;

impl<'a, P: DotMergePolicy + ?Sized> Merger<'a, P> {
    /// Moves every node out of the subgraphs that theirs took it out of, where
    /// statements of its own are all that keeps it there in ours.
    pub(super) fn move_out_of_subgraphs(&mut self) -> MovedNodes<'a> {
        let ours: &'a Graph = self.ours.document.graph();
        let mut from: BTreeMap<&'a DotId, HashSet<usize>> = BTreeMap::new();
        for (path, &group) in &self.ours.groups {
            let Some(&before) = self.base.groups.get(path) else { continue };
            let before: HashSet<&DotId> = self.base.document.graph().subgraphs()[before].nodes().iter().collect();
            let after: HashSet<&DotId> = match self.theirs.groups.get(path) {
                Some(&group) => self.theirs.document.graph().subgraphs()[group].nodes().iter().collect(),
                None => HashSet::new(),
            };
            for id in ours.subgraphs()[group].nodes() {
                let leaves = before.contains(id) && !after.contains(id) && self.theirs.nodes.contains_key(id);
                if leaves && !self.plan.removed_nodes.contains(id) {
                    from.entry(id).or_default().insert(group);
                }
            }
        }
        let mut left = MovedNodes::new();
        for (id, groups) in from {
            if let Some(body) = self.leave(id, &groups) {
                left.insert(id, body);
            }
        }
        left
    }

    /// Moves one node out of these subgraphs; the body it moved to, if it could.
    fn leave(&mut self, id: &'a DotId, groups: &HashSet<usize>) -> Option<usize> {
        let inside: Vec<usize> = self.plan.sites.mentioning(id).iter().copied().filter(|site| self.is_inside(*site, groups)).collect();
        if inside.iter().any(|site| self.plan.site(*site).shape != StatementShape::Node) {
            return None;
        }
        let mut attributes: Vec<(String, DotId)> = Vec::new();
        for &site in &inside {
            for assign in self.plan.lists(site).iter().flat_map(|list| &list.assigns) {
                put(&mut attributes, assign.name.id.as_str(), assign.value.id.clone());
            }
            if let Some(change) = self.plan.changes.get(&site).map(|changes| &changes.attributes) {
                attributes.retain(|(name, _)| !change.unset.contains(name));
                change.set.iter().for_each(|(name, value)| put(&mut attributes, name, value.clone()));
            }
        }
        let body = self.home_in_ours(id);
        for site in inside {
            self.plan.changes.entry(site).or_default().remove = true;
        }
        let behind = self.plan.sites.bodies[body].last_node;
        self.plan.add(NewStatement::Node { id: id.clone(), attributes }, behind, body);
        Some(body)
    }

    fn is_inside(&self, site: usize, groups: &HashSet<usize>) -> bool {
        let graph = self.ours.document.graph();
        let mut at = self.plan.sites.bodies[self.plan.site(site).body].group;
        while let Some(group) = at {
            if groups.contains(&group) {
                return true;
            }
            at = graph.subgraphs()[group].parent();
        }
        false
    }

    /// The body of ours that is nearest to where theirs has a node.
    fn home_in_ours(&self, id: &DotId) -> usize {
        let theirs = self.theirs.document.graph();
        let mut path = path_of(theirs, theirs.node(id).and_then(|node| node.subgraph()));
        while !path.is_empty() {
            let group = self.ours.groups.get(&path).copied();
            if let Some(body) = group.and_then(|group| self.plan.sites.body_of(Some(group))) {
                return body;
            }
            path.pop();
        }
        0
    }
}

/// Sets an attribute, at the end if it is new.
fn put(attributes: &mut Vec<(String, DotId)>, name: &str, value: DotId) {
    match attributes.iter_mut().find(|(known, _)| known == name) {
        Some((_, known)) => *known = value,
        None => attributes.push((name.to_owned(), value)),
    }
}
