//! The file as it is served: every valid node and edge, and a report of everything else.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use twining_dot::{DotDocument, Edge, Graph, Node};
use twining_model::knowledge_vocabulary::{Level, Link, NodeType, Priority, RELATED_TO, Standing};
use twining_store::{KnowledgeFile, NodeIndex, Store, StoreError};

use super::check::{self, GraphFinding};
use super::merge::{merged_markers, unresolved_merge};
use crate::anchors::symbol;

/// A knowledge graph that was read.
#[derive(Debug)]
pub struct KnowledgeGraph {
    document: DotDocument,
    sound: Vec<usize>,
    valid_edges: Vec<[usize; 3]>,
    /// Nodes that the file declares, right or wrong.
    pub declared: usize,
    /// What is wrong.
    pub errors: Vec<GraphFinding>,
    /// What is doubtful.
    pub warnings: Vec<GraphFinding>,
    /// Findings beyond these.
    pub dropped_findings: usize,
}

/// A node that is served.
#[derive(Clone, Copy, Debug)]
pub struct KnowledgeNode<'k> {
    /// Its index in [`KnowledgeGraph`].
    pub position: usize,
    node: &'k Node,
}

/// An edge that is served.
#[derive(Clone, Copy, Debug)]
pub struct KnowledgeEdge<'k> {
    /// Its tail.
    pub from: KnowledgeNode<'k>,
    /// Its head.
    pub to: KnowledgeNode<'k>,
    edge: &'k Edge,
}

impl KnowledgeGraph {
    /// Reads a file. Anything can be read; a blank file is an empty graph.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let document = DotDocument::parse(bytes);
        let check::CheckResult {
            unsound,
            unsound_edges,
            declared,
            errors,
            warnings,
            dropped_findings,
        } = check::examine(&document);
        let graph = document.graph();
        let sound: Vec<usize> =
            (0..graph.nodes.len()).filter(|position| !unsound.contains(position)).collect();
        let served: HashSet<usize> = sound.iter().copied().collect();
        let valid_edges = graph
            .edges
            .iter()
            .enumerate()
            .filter(|(index, _)| !unsound_edges.contains(index))
            .filter_map(|(index, edge)| {
                let (from, to) = (graph.position_of(&edge.from)?, graph.position_of(&edge.to)?);
                (served.contains(&from) && served.contains(&to)).then_some([from, to, index])
            });
        let valid_edges = valid_edges.collect();
        Self { sound, valid_edges, declared, errors, warnings, dropped_findings, document }
    }

    /// Everything the file holds, as DOT means it.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        self.document.graph()
    }

    /// The file with its statements.
    #[must_use]
    pub fn document(&self) -> &DotDocument {
        &self.document
    }

    /// How many edges the file has, right or wrong.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.graph().edges.len()
    }

    /// How many nodes are wrong and not served.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.declared - self.sound.len()
    }

    /// The nodes that are right, in the order of the file.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = KnowledgeNode<'_>> {
        self.sound.iter().map(|&position| self.at(position))
    }

    /// The node of that id, if it is served.
    #[must_use]
    pub fn node(&self, id: &str) -> Option<KnowledgeNode<'_>> {
        let position = self.graph().position_of(&id.into())?;
        self.sound.binary_search(&position).is_ok().then(|| self.at(position))
    }

    /// The node at a position of the graph.
    pub(super) fn at(&self, position: usize) -> KnowledgeNode<'_> {
        KnowledgeNode { position, node: &self.graph().nodes[position] }
    }

    /// The edges that are right, in the order of the file.
    pub fn valid_edges(&self) -> impl ExactSizeIterator<Item = KnowledgeEdge<'_>> {
        self.valid_edges.iter().map(|&[from, to, edge]| KnowledgeEdge {
            from: self.at(from),
            to: self.at(to),
            edge: &self.graph().edges[edge],
        })
    }
}

impl<'k> KnowledgeNode<'k> {
    /// Its id.
    #[must_use]
    pub fn id(self) -> &'k str {
        self.node.id.as_str()
    }

    /// The node as DOT has it.
    #[must_use]
    pub fn node(self) -> &'k Node {
        self.node
    }

    /// What it says in a field; empty if nothing.
    #[must_use]
    pub fn field(self, name: &str) -> &'k str {
        self.node.get(name).unwrap_or_default()
    }

    /// Its `path` without the definitions in it: `src/a.rs` of `src/a.rs#Signer`.
    #[must_use]
    pub fn paths(self) -> String {
        let file = |path: &'k str| match path.split_once('#') {
            Some((file, name)) if !file.is_empty() && symbol(name).is_some() => file,
            _ => path,
        };
        self.field("path").split(',').map(file).collect::<Vec<_>>().join(",")
    }

    /// What it is.
    #[must_use]
    pub fn kind(self) -> Option<NodeType> {
        NodeType::read(self.field("type"))
    }

    /// Its abstraction level.
    #[must_use]
    pub fn level(self) -> Option<Level> {
        Level::read(self.field("level"))
    }

    /// Whether it still holds.
    #[must_use]
    pub fn standing(self) -> Option<Standing> {
        Standing::read(self.field("status"))
    }

    /// How much it matters.
    #[must_use]
    pub fn priority(self) -> Option<Priority> {
        Priority::read(self.field("priority"))
    }
}

impl<'k> KnowledgeEdge<'k> {
    /// The edge as DOT has it.
    #[must_use]
    pub fn edge(self) -> &'k Edge {
        self.edge
    }

    /// Its relation, if it names one.
    #[must_use]
    pub fn link(self) -> Option<Link> {
        Link::read(self.edge.get("relation").unwrap_or_default())
    }

    /// The word for its relation.
    #[must_use]
    pub fn relation(self) -> &'static str {
        self.link().map_or(RELATED_TO, Link::as_str)
    }

    /// What is noted on it; empty if nothing.
    #[must_use]
    pub fn note(self) -> &'k str {
        self.edge.get("note").unwrap_or_default()
    }
}

/// Keeps the last graph that was read. A server answers from it for as long as
/// the file says the same: it is read each time, since its time and size alone
/// can miss an edit, and taken apart only when its content is another.
#[derive(Debug, Default)]
pub(crate) struct KnowledgeCache(Mutex<Option<Arc<CachedGraph>>>);

/// A graph, and the index over it once somebody searched.
#[derive(Debug)]
pub(crate) struct CachedGraph {
    digest: u128,
    size: usize,
    pub(super) known: KnowledgeGraph,
    index: OnceLock<NodeIndex>,
}

impl KnowledgeCache {
    /// The graph as the file has it now; an empty one if there is no file.
    pub(super) fn current(&self, store: &Store) -> Result<Arc<CachedGraph>, StoreError> {
        Ok(self.of(&store.documents().knowledge()?))
    }

    /// The graph of a file that was just read.
    pub(super) fn of(&self, file: &KnowledgeFile) -> Arc<CachedGraph> {
        let bytes = file.bytes.as_deref().unwrap_or_default();
        let (digest, size) = (file.digest(), bytes.len());
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = slot.as_ref()
            && (cached.digest, cached.size) == (digest, size)
        {
            return Arc::clone(cached);
        }
        let known = read(bytes);
        let cached = Arc::new(CachedGraph { digest, size, known, index: OnceLock::new() });
        *slot = Some(Arc::clone(&cached));
        cached
    }
}

/// The graph of a file. Conflict markers left by git are resolved as the driver would have; what
/// only people can resolve is an error, and ours is used until then.
fn read(bytes: &[u8]) -> KnowledgeGraph {
    if let Some(merged) = merged_markers(bytes) {
        return KnowledgeGraph::read(&merged);
    }
    let Some(merged) = unresolved_merge(bytes) else { return KnowledgeGraph::read(bytes) };
    let mut known = KnowledgeGraph::read(&merged);
    known.errors.extend(KnowledgeGraph::read(bytes).errors);
    known
}

impl CachedGraph {
    /// The graph.
    pub(crate) fn known(&self) -> &KnowledgeGraph {
        &self.known
    }

    /// The index, made when it is first asked for.
    pub(super) fn index(&self) -> Result<&NodeIndex, StoreError> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let texts = self.known.nodes().map(|node| {
            let text = ["id", "tag", "description", "path", "example", "component"];
            (
                node.position,
                text.map(|field| if field == "id" { node.id() } else { node.field(field) }),
            )
        });
        let index = NodeIndex::of(texts)?;
        Ok(self.index.get_or_init(|| index))
    }
}
