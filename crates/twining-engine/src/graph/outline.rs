//! The outline of the graph: every node and edge in memory, without what the records say.
//!
//! The observed graph and the reviewed one are one outline here. A decision is the node that its
//! links made of it; a reviewed node hangs on the files that it names by their whole path.

use std::collections::{BTreeSet, HashMap};

use twining_model::{CaseFolding, EntityType, Id, ProjectRoot, Scope, text};
use twining_store::{DecisionState, StoreError, Via, View};

use crate::failure::Failure;
use crate::knowledge::KnowledgeGraph;
use crate::suggestions;

/// The relation of a reviewed node with a file that it names.
const PATH: &str = "path";
/// Decisions that a scope is the middle of.
const DECISIONS: usize = 100;
/// Names that are suggested for one that leads nowhere.
const SUGGESTED: usize = 3;

/// Where a node comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeSource {
    /// The observed graph.
    Entity,
    /// The decisions.
    Decision,
    /// The reviewed graph.
    Knowledge,
    /// Nodes that were put together.
    Folder,
}

/// A node of the outline.
#[derive(Clone, Debug)]
pub(super) struct OutlineNode {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) source: NodeSource,
    /// Files and folders that a reviewed node names.
    pub(super) paths: Vec<String>,
    pub(super) detail: Option<String>,
    /// Edges in the whole graph.
    pub(super) degree: usize,
}

/// An edge between two nodes, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OutlineEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Its place in [`GraphOutline::kinds`].
    pub(super) kind: usize,
}

/// A graph, or a part of one.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphOutline {
    pub(super) nodes: Vec<OutlineNode>,
    /// Each once, in order.
    pub(super) edges: Vec<OutlineEdge>,
    /// Words for relations.
    pub(super) kinds: Vec<String>,
    /// Whether decisions belong to it.
    pub(super) has_decisions: bool,
}

impl OutlineNode {
    fn new(source: NodeSource, [id, name, kind]: [&str; 3]) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            kind: kind.to_owned(),
            source,
            paths: Vec::new(),
            detail: None,
            degree: 0,
        }
    }

    /// A decision, which has its id for a name until somebody looks it up.
    fn decision(id: &str) -> Self {
        Self::new(NodeSource::Decision, [id, id, "decision"])
    }

    /// A folder.
    pub(super) fn folder(name: &str, detail: String) -> Self {
        Self { detail: Some(detail), ..Self::new(NodeSource::Folder, [name, name, "folder"]) }
    }

    fn lies_in(&self, scope: &Scope, folding: CaseFolding) -> bool {
        match self.source {
            NodeSource::Entity => scope.covers(&Scope::read(&self.name), folding),
            NodeSource::Knowledge => {
                self.paths.iter().any(|path| Scope::read(path).overlaps(scope, folding))
            }
            NodeSource::Decision | NodeSource::Folder => false,
        }
    }
}

impl GraphOutline {
    /// Adds the observed graph. Two branches may each have made the entity of one name and
    /// type: they are one node.
    pub(super) fn add_observed(&mut self, view: &View<'_>) -> Result<(), StoreError> {
        self.has_decisions = true;
        let mut positions: HashMap<String, usize> = HashMap::new();
        let (mut last, start) = ((String::new(), String::new()), self.nodes.len());
        view.graph().each_entity(|[id, name, kind]| {
            if self.nodes.len() == start || last.0 != name || last.1 != kind {
                last = (name.to_owned(), kind.to_owned());
                let is_decision = kind == EntityType::Concept.as_str() && Id::read(name).is_some();
                self.nodes.push(if is_decision {
                    OutlineNode::decision(name)
                } else {
                    OutlineNode::new(NodeSource::Entity, [id, name, kind])
                });
            }
            positions.insert(id.to_owned(), self.nodes.len() - 1);
        })?;
        let mut kinds = KindNumbers::of(self);
        view.graph().each_relation(|[source, target, kind]| {
            // A relation whose end is missing leads nowhere; `status` reports it.
            if let (Some(&from), Some(&to)) = (positions.get(source), positions.get(target)) {
                let kind = kinds.number(self, kind);
                self.edges.push(OutlineEdge { from, to, kind });
            }
        })?;
        self.settle();
        Ok(())
    }

    /// Adds the reviewed graph.
    pub(super) fn add_knowledge(&mut self, known: &KnowledgeGraph) {
        let files: HashMap<String, usize> = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.kind == EntityType::File.as_str())
            .map(|(position, node)| (node.name.clone(), position))
            .collect();
        let mut kinds = KindNumbers::of(self);
        let mut positions: HashMap<&str, usize> = HashMap::new();
        for node in known.nodes() {
            let from = self.nodes.len();
            positions.insert(node.id(), from);
            let paths = node.paths();
            let paths = paths.split(',').map(str::trim);
            let paths: Vec<String> =
                paths.filter(|path| !path.is_empty()).map(str::to_owned).collect();
            for to in paths.iter().filter_map(|path| files.get(path).copied()) {
                let kind = kinds.number(self, PATH);
                self.edges.push(OutlineEdge { from, to, kind });
            }
            let detail = Some(node.field("description")).filter(|text| !text.is_empty());
            self.nodes.push(OutlineNode {
                paths,
                detail: detail.map(str::to_owned),
                ..OutlineNode::new(
                    NodeSource::Knowledge,
                    [node.id(), node.id(), node.field("type")],
                )
            });
        }
        for edge in known.valid_edges() {
            if let (Some(&from), Some(&to)) =
                (positions.get(edge.from.id()), positions.get(edge.to.id()))
            {
                let kind = kinds.number(self, edge.relation());
                self.edges.push(OutlineEdge { from, to, kind });
            }
        }
        self.settle();
    }

    /// Orders the edges, each once, and counts those of every node.
    pub(super) fn settle(&mut self) {
        self.edges.sort_unstable();
        self.edges.dedup();
        self.nodes.iter_mut().for_each(|node| node.degree = 0);
        for edge in &self.edges {
            self.nodes[edge.from].degree += 1;
            if edge.to != edge.from {
                self.nodes[edge.to].degree += 1;
            }
        }
    }

    /// The nodes that a text names: by id, by name, as a path, as a decision without links, or
    /// as a scope that they lie in.
    pub(super) fn find(
        &mut self,
        view: &View<'_>,
        given: &str,
        root: &ProjectRoot,
    ) -> Result<Vec<usize>, Failure> {
        let given = text::name("around", given)?;
        let id = Id::read(&given).map_or_else(|| given.clone(), String::from);
        let scope = Scope::parse("around", &given, root).ok();
        // Agents give files by absolute path; the graph knows them relative to the project.
        let path = scope.as_ref().map(Scope::as_str);
        let mut found = self.positions(|node| {
            node.id == id || node.name == given || Some(node.name.as_str()) == path
        });
        if found.is_empty() && self.has_decisions && view.decisions().title(&id)?.is_some() {
            self.nodes.push(OutlineNode::decision(&id));
            found.push(self.nodes.len() - 1);
        }
        if let Some(scope) = scope.filter(|_| found.is_empty() || given.ends_with('/')) {
            let inside = |node: &OutlineNode| node.lies_in(&scope, view.folding());
            found.extend(self.positions(inside));
            found.extend(self.decided_for(view, &scope)?);
            found.sort_unstable();
            found.dedup();
        }
        if found.is_empty() { Err(self.not_found(&given)) } else { Ok(found) }
    }

    fn positions(&self, wanted: impl Fn(&OutlineNode) -> bool) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&position| wanted(&self.nodes[position])).collect()
    }

    /// Decisions in force that bear on a scope, and not on the whole project; those without a
    /// link are added.
    fn decided_for(&mut self, view: &View<'_>, scope: &Scope) -> Result<Vec<usize>, StoreError> {
        if !self.has_decisions {
            return Ok(Vec::new());
        }
        let decided = view.decisions().nearest(scope, DecisionState::InForce, DECISIONS)?;
        let mut decided: BTreeSet<String> = decided
            .into_iter()
            .filter(|decision| decision.via != Via::Project)
            .map(|decision| decision.id.to_string())
            .collect();
        let mut found = self.positions(|node| decided.contains(&node.id));
        found.iter().for_each(|&position| _ = decided.remove(&self.nodes[position].id));
        found.extend(self.nodes.len()..self.nodes.len() + decided.len());
        self.nodes.extend(decided.iter().map(|id| OutlineNode::decision(id)));
        Ok(found)
    }

    /// Names that differ by a slip, then names that contain what was given.
    fn not_found(&self, given: &str) -> Failure {
        let wanted = given.to_lowercase();
        let names = || self.nodes.iter().map(|node| node.name.as_str());
        let slip = suggestions::nearest(given, names());
        let mut containing: Vec<&OutlineNode> =
            self.nodes.iter().filter(|node| node.name.to_lowercase().contains(&wanted)).collect();
        containing.sort_by(|a, b| b.degree.cmp(&a.degree).then(a.name.cmp(&b.name)));
        let mut near: Vec<&str> = slip.into_iter().collect();
        near.extend(containing.iter().map(|node| node.name.as_str()));
        let mut seen = BTreeSet::new();
        near.retain(|name| seen.insert(*name));
        near.truncate(SUGGESTED);
        let hint = if near.is_empty() {
            "give an entity, a decision's id, a path, or a node of knowledge.dot; \
             twining_graph_query finds entities by a part of their name"
                .to_owned()
        } else {
            let named: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
            format!("did you mean {}?", named.join(" or "))
        };
        Failure::NotFound { what: "node", id: text::excerpt(given, 80), hint }
    }

    /// The nodes within so many steps of these: nearest first, then those with most edges.
    pub(super) fn walk(&self, centres: Vec<usize>, depth: usize) -> Vec<usize> {
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            neighbours[edge.from].push(edge.to);
            neighbours[edge.to].push(edge.from);
        }
        let mut seen = vec![false; self.nodes.len()];
        centres.iter().for_each(|&centre| seen[centre] = true);
        let mut reached = Vec::new();
        let mut frontier = centres;
        for step in 0..=depth {
            self.most_connected_first(&mut frontier);
            let mut next = Vec::new();
            for &neighbour in frontier.iter().flat_map(|&node| &neighbours[node]) {
                if step < depth && !std::mem::replace(&mut seen[neighbour], true) {
                    next.push(neighbour);
                }
            }
            reached.append(&mut frontier);
            frontier = next;
        }
        reached
    }

    /// Every node, those with most edges first.
    pub(super) fn all(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.nodes.len()).collect();
        self.most_connected_first(&mut all);
        all
    }

    fn most_connected_first(&self, positions: &mut [usize]) {
        positions
            .sort_by_key(|&position| (std::cmp::Reverse(self.nodes[position].degree), position));
    }

    /// These nodes, in this order, and the edges between them.
    pub(super) fn restricted(&self, chosen: &[usize]) -> Self {
        let mut places = vec![None; self.nodes.len()];
        chosen.iter().enumerate().for_each(|(place, &position)| places[position] = Some(place));
        let nodes = chosen.iter().map(|&position| self.nodes[position].clone()).collect();
        let edges = self.edges.iter().filter_map(|edge| {
            Some(OutlineEdge { from: places[edge.from]?, to: places[edge.to]?, kind: edge.kind })
        });
        let mut edges: Vec<OutlineEdge> = edges.collect();
        edges.sort_unstable();
        Self { nodes, edges, kinds: self.kinds.clone(), has_decisions: self.has_decisions }
    }
}

/// The number of each word for a relation.
pub(super) struct KindNumbers(HashMap<String, usize>);

impl KindNumbers {
    pub(super) fn of(outline: &GraphOutline) -> Self {
        Self(
            outline.kinds.iter().enumerate().map(|(number, kind)| (kind.clone(), number)).collect(),
        )
    }

    pub(super) fn number(&mut self, outline: &mut GraphOutline, kind: &str) -> usize {
        if let Some(&number) = self.0.get(kind) {
            return number;
        }
        outline.kinds.push(kind.to_owned());
        self.0.insert(kind.to_owned(), outline.kinds.len() - 1);
        outline.kinds.len() - 1
    }
}
