//! The graph as a picture: which nodes and edges, and where each node goes.
//!
//! Asked around something it is what lies within a few steps of it; asked for everything it is
//! the most connected nodes, or folders where nodes are too many to be drawn.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_dot::{LayoutDirection, NodeBox, force_layout, layered_layout};
use twining_model::limits;
use twining_store::{StoreError, View};

use super::folders::folded;
use super::outline::{GraphOutline, NodeSource, OutlineNode};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::{self, href, percent_encoded};

/// Nodes unless another limit is given, and at most.
const NODES: usize = 300;
const MOST_NODES: usize = 5000;
/// Edges at most.
const MOST_EDGES: usize = 20_000;
/// Nodes up to which layers are drawn, and each has a detail.
const LAYERED: usize = 300;
/// Layers are read along; a picture of more nodes than this that is so much longer than wide is
/// drawn with forces.
const STRIP_NODES: usize = 30;
const STRIP: f64 = 3.0;
/// Characters of a name in the picture, and of a name and a detail in the answer.
const LABEL: usize = 32;
const LINE: usize = 160;
/// Properties that say what an entity is, the best first.
const DETAILS: [&str; 4] = ["description", "summary", "purpose", "file"];
/// Layouts that are kept.
const KEPT: usize = 8;

/// Which part of the graph, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphInput {
    /// Entity, decision id, path or knowledge node; everything if absent
    pub around: Option<String>,
    /// Steps around it, 1 to 3; default 2
    pub depth: Option<usize>,
    /// What a node stands for; default nodes
    #[schemars(extend("enum" = GraphLevel::WORDS.map(|(word, _)| word)))]
    pub level: Option<String>,
    /// Nodes at most, up to 5000; default 300
    pub limit: Option<usize>,
    /// Whether to give positions; default true
    pub layout: Option<bool>,
    /// Only the reviewed graph, or with false only the observed one; default both
    pub reviewed: Option<bool>,
}

/// What a node of the answer stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GraphLevel {
    /// An entity, a decision, a reviewed node.
    #[default]
    Nodes,
    /// Everything in a folder.
    Folders,
}

impl GraphLevel {
    const WORDS: [(&'static str, Self); 2] = [("nodes", Self::Nodes), ("folders", Self::Folders)];
}

/// A node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GraphNodeSummary {
    /// Its id.
    pub id: String,
    /// Its name; of a decision, what was chosen.
    pub name: String,
    /// An entity's or reviewed node's type, `decision` or `folder`.
    pub kind: String,
    /// Where it goes, from the left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// Where it goes, from the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// Its edges in the whole graph.
    pub degree: usize,
    /// Its address on the page of `twining ui`.
    pub href: String,
    /// What it is, in a line; in answers of at most 300 nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// An edge.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GraphEdgeSummary {
    /// The id of its source.
    pub from: String,
    /// The id of its target.
    pub to: String,
    /// The relation.
    pub kind: String,
}

/// A part of the graph.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GraphOutcome {
    /// Nearest or most connected first.
    pub nodes: Vec<GraphNodeSummary>,
    /// Those between these nodes.
    pub edges: Vec<GraphEdgeSummary>,
    /// How many nodes there are to show.
    pub total_nodes: usize,
    /// How many edges.
    pub total_edges: usize,
    /// What a node stands for.
    pub level: GraphLevel,
    /// What is not shown, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Engine {
    /// The graph, or what is around something in it.
    pub fn graph(&self, input: &GraphInput) -> Result<GraphOutcome, Failure> {
        let depth = fields::within("depth", input.depth, 2, limits::WALK_DEPTH)?;
        let limit = fields::within("limit", input.limit, NODES, MOST_NODES)?;
        let level = input.level.as_deref().map(str::trim);
        let level = level.map(|word| fields::one_of("level", word, &GraphLevel::WORDS));
        let level = level.transpose()?.unwrap_or_default();
        let around = input.around.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let known = match input.reviewed {
            Some(false) => None,
            _ => Some(self.knowledge_graph()?),
        };
        let mut picture = self.store().view(|view| {
            let mut outline = GraphOutline::default();
            if input.reviewed != Some(true) {
                outline.add_observed(view)?;
            }
            if let Some(known) = &known {
                outline.add_knowledge(known.known());
            }
            let chosen = match around {
                Some(around) => {
                    let centres = outline.find(view, around, self.store().root())?;
                    outline.walk(centres, depth)
                }
                None => outline.all(),
            };
            let mut picture = GraphPicture::of(&outline.restricted(&chosen), around, level, limit);
            picture.describe(view)?;
            Ok::<_, Failure>(picture)
        })?;
        picture.cut_edges();
        let layout = input
            .layout
            .unwrap_or(true)
            .then(|| self.state::<LayoutCache>().layout(LayoutInput::of(&picture.shown)));
        Ok(picture.outcome(layout.as_ref().map(|layout| layout.points())))
    }
}

/// What is shown.
struct GraphPicture {
    shown: GraphOutline,
    total_nodes: usize,
    total_edges: usize,
    level: GraphLevel,
    notes: Vec<String>,
}

impl GraphPicture {
    fn of(chosen: &GraphOutline, around: Option<&str>, level: GraphLevel, limit: usize) -> Self {
        let (mut notes, mut level) = (Vec::new(), level);
        let nodes = chosen.nodes.len();
        if level == GraphLevel::Nodes && around.is_none() && nodes > MOST_NODES {
            level = GraphLevel::Folders;
            notes.push(format!(
                "{nodes} nodes are too many to draw, so each node is a folder; ask around something to see nodes"
            ));
        }
        let folders = (level == GraphLevel::Folders).then(|| folded(chosen, limit));
        let all = folders.as_ref().unwrap_or(chosen);
        let (total_nodes, total_edges) = (all.nodes.len(), all.edges.len());
        let first: Vec<usize> = (0..total_nodes.min(limit)).collect();
        if first.len() < total_nodes {
            let which = if around.is_some() { "nearest" } else { "most connected" };
            notes.push(format!("the {which} {} of {total_nodes} nodes", first.len()));
        }
        Self { shown: all.restricted(&first), total_nodes, total_edges, level, notes }
    }

    /// Looks up what decisions are called, and in a small picture what every node is.
    fn describe(&mut self, view: &View<'_>) -> Result<(), StoreError> {
        let is_small = self.shown.nodes.len() <= LAYERED;
        for node in &mut self.shown.nodes {
            match node.source {
                NodeSource::Decision => {
                    let Some(title) = view.decisions().title(&node.id)? else { continue };
                    node.name = title.summary;
                    node.detail = Some(format!("{}, {}", title.status, title.scope));
                }
                NodeSource::Entity if is_small => {
                    let entity = view.graph().entity(&node.id)?;
                    let said = |name: &&str| entity.as_ref()?.properties.get(*name).cloned();
                    node.detail = DETAILS.iter().find_map(said);
                }
                _ => {}
            }
            if !is_small {
                node.detail = None;
            }
        }
        Ok(())
    }

    fn cut_edges(&mut self) {
        let edges = &mut self.shown.edges;
        if edges.len() > MOST_EDGES {
            self.notes.push(format!("{MOST_EDGES} of {} edges", edges.len()));
            edges.truncate(MOST_EDGES);
        }
    }

    fn outcome(self, points: Option<&[(f64, f64)]>) -> GraphOutcome {
        let Self { shown, total_nodes, total_edges, level, notes } = self;
        let id = |position: usize| shown.nodes[position].id.clone();
        let edges = shown.edges.iter().map(|edge| GraphEdgeSummary {
            from: id(edge.from),
            to: id(edge.to),
            kind: shown.kinds[edge.kind].clone(),
        });
        let edges = edges.collect();
        let point = |position: usize| points.and_then(|points| points.get(position)).copied();
        let nodes = shown.nodes.into_iter().enumerate().map(|(position, node)| {
            let (x, y) = point(position).unzip();
            summary(node, x, y)
        });
        GraphOutcome {
            nodes: nodes.collect(),
            edges,
            total_nodes,
            total_edges,
            level,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }
}

fn summary(node: OutlineNode, x: Option<f64>, y: Option<f64>) -> GraphNodeSummary {
    let href = match node.source {
        NodeSource::Decision => href("d", &node.id),
        NodeSource::Entity | NodeSource::Knowledge => href("n", &node.name),
        NodeSource::Folder => format!("/map?around={}", percent_encoded(&node.name)),
    };
    let rounded = |number: f64| (number * 10.0).round() / 10.0;
    GraphNodeSummary {
        href,
        id: node.id,
        name: fields::shorten(&node.name, LINE),
        kind: node.kind,
        x: x.map(rounded),
        y: y.map(rounded),
        degree: node.degree,
        detail: node.detail.map(|detail| fields::shorten(&detail, LINE)),
    }
}

/// What positions depend on.
#[derive(PartialEq, Eq)]
struct LayoutInput {
    /// Of every node, the length of its label; zero where it does not matter.
    labels: Vec<usize>,
    edges: Vec<(usize, usize)>,
}

impl LayoutInput {
    fn of(shown: &GraphOutline) -> Self {
        let is_layered = shown.nodes.len() <= LAYERED;
        let label = |node: &OutlineNode| node.name.chars().count().min(LABEL);
        Self {
            labels: shown.nodes.iter().map(|n| if is_layered { label(n) } else { 0 }).collect(),
            edges: shown.edges.iter().map(|edge| (edge.from, edge.to)).collect(),
        }
    }

    fn points(&self) -> Vec<(f64, f64)> {
        let nodes = self.labels.len();
        if nodes <= LAYERED {
            let boxes =
                self.labels.iter().map(|&length| NodeBox::of_lines(vec!["x".repeat(length)]));
            let layers =
                layered_layout(boxes.collect(), self.edges.clone(), LayoutDirection::Right);
            let (width, height) = (layers.width, layers.height);
            let is_strip = width > STRIP * height || height > STRIP * width;
            if nodes <= STRIP_NODES || !is_strip {
                return layers.nodes.iter().map(|node| (node.x, node.y)).collect();
            }
        }
        force_layout(nodes, &self.edges)
    }
}

/// A layout, made by whoever asks first.
struct CachedLayout {
    input: LayoutInput,
    points: OnceLock<Vec<(f64, f64)>>,
}

impl CachedLayout {
    fn points(&self) -> &[(f64, f64)] {
        self.points.get_or_init(|| self.input.points())
    }
}

/// The layouts of the last graphs, by what they depend on. A page asks again whenever something
/// was written, and most of what is written moves no node.
#[derive(Default)]
struct LayoutCache(Mutex<Vec<Arc<CachedLayout>>>);

impl LayoutCache {
    fn layout(&self, input: LayoutInput) -> Arc<CachedLayout> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let layout = match kept.iter().position(|known| known.input == input) {
            Some(place) => kept.remove(place),
            None => Arc::new(CachedLayout { input, points: OnceLock::new() }),
        };
        kept.insert(0, Arc::clone(&layout));
        kept.truncate(KEPT);
        layout
    }
}
