//! Where in ours the new nodes of theirs go, and what becomes of subgraphs.

use std::collections::{BTreeSet, HashSet};

use super::policy::{DotClashKind, DotMergePolicy, Subject};
use super::side::{MergeSide, OwnAttributes, all, own};
use super::three_way::{Merger, NodesBySubgraph, in_order};
use crate::diagnostics::Span;
use crate::document::DotDocument;
use crate::edit::{FileStyle, NewStatement, StatementIndex, StatementShape, line_end_of};
use crate::graph::Graph;
use crate::id::DotId;
use crate::syntax::Target;

impl<'a, P: DotMergePolicy + ?Sized> Merger<'a, P> {
    /// Puts new nodes into the subgraph they have in theirs, and makes those that ours lacks.
    pub(super) fn groups(&mut self, fresh: Vec<&'a DotId>) {
        let theirs: &'a Graph = self.theirs.document.graph();
        let mut placed = NodesBySubgraph::new();
        for id in &fresh {
            let group = theirs.node(*id).and_then(|node| node.subgraph);
            placed.entry(path_of(theirs, group)).or_default().push(id);
        }
        for id in placed.remove(&Vec::new()).unwrap_or_default() {
            self.add_fresh(id, 0);
        }
        let fresh: HashSet<&DotId> = fresh.into_iter().collect();
        let paths: Vec<(Vec<DotId>, usize)> =
            self.theirs.groups.iter().map(|(path, group)| (path.clone(), *group)).collect();
        for (path, group) in paths {
            let in_ours = self.ours.groups.get(&path).copied();
            match in_ours.and_then(|group| self.plan.sites.body_of(Some(group))) {
                Some(body) => self.known_group(&path, group, body, &fresh, &mut placed),
                None => self.new_group(&path, group, &mut placed),
            }
        }
        // Contents of an unnamed subgraph have no location of their own in ours.
        let mut homeless: Vec<&DotId> = placed.into_values().flatten().collect();
        homeless.sort();
        homeless.into_iter().for_each(|id| self.add_fresh(id, 0));
        let mut unhoused: Vec<(Vec<DotId>, Vec<NewStatement>)> = self.housed.drain().collect();
        unhoused.sort_by(|(one, _), (other, _)| one.cmp(other));
        unhoused
            .into_iter()
            .flat_map(|(_, edges)| edges)
            .for_each(|edge| self.plan.add(edge, None, 0));
        self.left_groups();
        self.unnamed_groups();
    }

    /// A node as theirs wrote it, with the comment above it, if it has one statement to itself.
    fn add_fresh(&mut self, id: &'a DotId, body: usize) {
        let Some(node) = self.theirs.document.graph().node(id) else { return };
        let behind = self.plan.sites.bodies[body].last_node;
        let copy = self.verbatim.as_ref().and_then(|theirs| theirs.statement(id));
        let statement = copy.unwrap_or_else(|| NewStatement::Node {
            id: id.clone(),
            attributes: in_order(&node.attributes),
        });
        self.plan.add(statement, behind, body);
    }

    fn known_group(
        &mut self,
        path: &[DotId],
        group: usize,
        body: usize,
        fresh: &HashSet<&DotId>,
        placed: &mut NodesBySubgraph<'a>,
    ) {
        for id in placed.remove(path).unwrap_or_default() {
            self.add_fresh(id, body);
        }
        for edge in self.housed.remove(path).unwrap_or_default() {
            self.plan.add(edge, None, body);
        }
        let theirs = &self.theirs.document.graph().subgraphs[group];
        let ours_graph = self.ours.document.graph();
        let base =
            self.base.groups.get(path).map(|group| &self.base.document.graph().subgraphs[*group]);
        let Some(ours) = self.ours.groups.get(path).map(|group| &ours_graph.subgraphs[*group])
        else {
            return;
        };
        let nothing = Default::default();
        let attributes =
            [base.map_or(&nothing, |base| &base.attributes), &ours.attributes, &theirs.attributes];
        self.body(&Subject::Subgraph(path.to_vec()), Target::Graph, body, attributes);
        let before: HashSet<&DotId> =
            base.map(|base| base.nodes.iter().collect()).unwrap_or_default();
        let present: HashSet<&DotId> = ours.nodes.iter().collect();
        for id in &theirs.nodes {
            let joins = !before.contains(id) && !present.contains(id) && !fresh.contains(id);
            if joins && !self.plan.removed_nodes.contains(id) && ours_graph.node(id).is_some() {
                self.plan.add_node(id.clone(), Vec::new(), body);
            }
        }
        let still: HashSet<&DotId> = theirs.nodes.iter().collect();
        let stuck = |id: &&&DotId| present.contains(**id) && self.theirs.nodes.contains_key(**id);
        let left = before.iter().filter(|id| !still.contains(**id)).filter(stuck).count();
        if left > 0 {
            self.clash(
                Subject::Subgraph(path.to_vec()),
                DotClashKind::NotCarriedOver(format!(
                    "{left} nodes were taken out of it in theirs"
                )),
            );
        }
    }

    /// A subgraph that ours lacks: new in theirs, or removed in ours and of use still.
    fn new_group(&mut self, path: &[DotId], group: usize, placed: &mut NodesBySubgraph<'a>) {
        let parent = path.split_last().map(|(_, parent)| parent.to_vec()).unwrap_or_default();
        let known = |path: &Vec<DotId>, side: &MergeSide<'_>| {
            path.is_empty() || side.groups.contains_key(path)
        };
        if self.base.groups.contains_key(path) {
            // Ours removed it. Its nodes that are new in theirs still need a home.
            let fresh = placed.remove(path).unwrap_or_default();
            let theirs = &self.theirs.document.graph().subgraphs[group];
            let base = &self.base.document.graph().subgraphs[self.base.groups[path]];
            if !fresh.is_empty() || own(&theirs.attributes) != own(&base.attributes) {
                self.clash(
                    Subject::Subgraph(path.to_vec()),
                    DotClashKind::NotCarriedOver("ours removed it".to_owned()),
                );
            }
            for id in fresh {
                self.add_fresh(id, 0);
            }
            return;
        }
        if !known(&parent, &self.ours) {
            // Written with the one around it.
            return;
        }
        let around = self.ours.groups.get(&parent).copied();
        let body = self.plan.sites.body_of(around).unwrap_or_default();
        let statement = self.group_statement(path, group, placed);
        self.plan.add(statement, None, body);
    }

    fn group_statement(
        &mut self,
        path: &[DotId],
        group: usize,
        placed: &mut NodesBySubgraph<'a>,
    ) -> NewStatement {
        let theirs: &'a Graph = self.theirs.document.graph();
        let subgraph = &theirs.subgraphs[group];
        let assigns = in_order(&subgraph.attributes);
        let mut body: Vec<NewStatement> = assigns
            .iter()
            .map(|(name, value)| NewStatement::Text(format!("{}={value}", DotId::new(name))))
            .collect();
        let fresh = placed.remove(path).unwrap_or_default();
        let mut written: HashSet<&DotId> = fresh.iter().copied().collect();
        for id in fresh {
            let attributes =
                theirs.node(id).map(|node| in_order(&node.attributes)).unwrap_or_default();
            body.push(NewStatement::Node { id: id.clone(), attributes });
        }
        let below = self
            .theirs
            .groups
            .range(path.to_vec()..)
            .take_while(|(inner, _)| inner.starts_with(path));
        let next: Vec<(Vec<DotId>, usize)> = below
            .filter(|(inner, _)| inner.len() == path.len() + 1)
            .map(|(inner, index)| (inner.clone(), *index))
            .collect();
        for (inner, index) in next {
            body.push(self.group_statement(&inner, index, placed));
            written.extend(&theirs.subgraphs[index].nodes);
        }
        let edges = self.housed.remove(path).unwrap_or_default();
        let stays = |id: &&DotId| {
            self.ours.nodes.contains_key(*id) && !self.plan.removed_nodes.contains(*id)
        };
        let others = subgraph.nodes.iter().filter(|id| !written.contains(*id)).filter(stays);
        body.extend(others.map(|id| NewStatement::Node { id: id.clone(), attributes: Vec::new() }));
        body.extend(edges);
        NewStatement::Group { name: subgraph.name.clone().unwrap_or_else(|| DotId::new("")), body }
    }

    /// Drops subgraphs that theirs removed if nothing is left in them; otherwise keeps and reports
    /// them.
    fn left_groups(&mut self) {
        let gone: Vec<(Vec<DotId>, usize)> = self
            .ours
            .groups
            .iter()
            .filter(|(path, _)| {
                self.base.groups.contains_key(*path) && !self.theirs.groups.contains_key(*path)
            })
            .map(|(path, group)| (path.clone(), *group))
            .collect();
        for (path, group) in gone {
            let ours = &self.ours.document.graph().subgraphs[group];
            let base = &self.base.document.graph().subgraphs[self.base.groups[&path]];
            let empty = ours.nodes.iter().all(|id| self.plan.removed_nodes.contains(id));
            let untouched = own(&ours.attributes) == own(&base.attributes);
            if empty && untouched && self.plan.remove_group(group) {
                continue;
            }
            self.clash(
                Subject::Subgraph(path),
                DotClashKind::NotCarriedOver("theirs removed it".to_owned()),
            );
        }
    }

    /// `{rank=same; a; b}` has no name to be known by: a new one is told, not carried over.
    fn unnamed_groups(&mut self) {
        let known: HashSet<UnnamedSubgraph> = [&self.base, &self.ours]
            .iter()
            .flat_map(|side| unnamed(side.document.graph()))
            .collect();
        if unnamed(self.theirs.document.graph()).any(|subgraph| !known.contains(&subgraph)) {
            let what = "theirs adds a subgraph without a name".to_owned();
            self.clash(Subject::Graph, DotClashKind::NotCarriedOver(what));
        }
    }
}

/// Theirs as it is written, for copying; only where lines end alike on both sides.
pub(super) struct SourceCopier<'a> {
    sites: StatementIndex<'a>,
    style: FileStyle<'a>,
    document: &'a DotDocument,
}

impl<'a> SourceCopier<'a> {
    pub(super) fn of(theirs: &'a DotDocument, ours: &DotDocument) -> Option<Self> {
        if line_end_of(theirs.bytes()) != line_end_of(ours.bytes()) {
            return None;
        }
        let sites = StatementIndex::of(theirs);
        let style = FileStyle::of(theirs, &sites);
        Some(Self { sites, style, document: theirs })
    }

    fn statement(&self, id: &DotId) -> Option<NewStatement> {
        let mut alone = self.sites.mentioning(id).iter().filter(|site| {
            matches!(self.sites.all[**site].shape, StatementShape::Node | StatementShape::Nodes)
        });
        let (Some(&site), None) = (alone.next(), alone.next()) else { return None };
        let site = &self.sites.all[site];
        if site.shape != StatementShape::Node
            || self.style.indent(site.statement.span.start).is_none()
        {
            return None;
        }
        let body = self.sites.bodies[site.body].body;
        let before =
            body.statements.partition_point(|other| other.span.start < site.statement.span.start);
        let floor = before
            .checked_sub(1)
            .map_or(body.span.start + 1, |before| body.statements[before].span.end);
        let from = self.style.commented_from(site.statement.span.start, floor);
        let text = Span::new(from, site.statement.bare.end).of(self.document.bytes());
        Some(NewStatement::SourceCopier(self.document.charset.decode(text).into_owned()))
    }
}

type UnnamedSubgraph = (OwnAttributes, BTreeSet<DotId>);

fn unnamed(graph: &Graph) -> impl Iterator<Item = UnnamedSubgraph> {
    let unnamed = graph.subgraphs.iter().filter(|subgraph| subgraph.name.is_none());
    unnamed
        .map(|subgraph| (all(&subgraph.attributes), subgraph.nodes.iter().cloned().collect()))
        .filter(|(attributes, _): &UnnamedSubgraph| *attributes != OwnAttributes::default())
}

/// The names from the outermost subgraph to this one; those without a name are left out.
pub(super) fn path_of(graph: &Graph, group: Option<usize>) -> Vec<DotId> {
    let mut path = Vec::new();
    let mut at = group;
    while let Some(index) = at {
        let subgraph = &graph.subgraphs[index];
        path.extend(subgraph.name.clone());
        at = subgraph.parent;
    }
    path.reverse();
    path
}
