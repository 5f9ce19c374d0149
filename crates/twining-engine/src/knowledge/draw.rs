//! Pictures: the graph, a level of it, or what is around a node, because people
//! would rather look.

use std::fmt::Write as _;

use twining_dot::{DotId, DrawOptions, LabelSource, LayoutDirection, mermaid, svg};
use twining_model::knowledge_vocabulary::{FIELDS, NodeType};
use twining_model::{InvalidInput, limits};

use super::graph::{KnowledgeEdge, KnowledgeGraph, KnowledgeNode};
use super::retrieve;
use crate::failure::Failure;
use crate::suggestions;

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawFormat {
    /// For a browser.
    Svg,
    /// For Markdown.
    Mermaid,
    /// For Graphviz.
    Dot,
}

/// What to draw.
#[derive(Clone, Debug)]
pub struct DrawInput {
    /// How.
    pub format: DrawFormat,
    /// `architecture`, `implementation` or `all`.
    pub level: Option<String>,
    /// Only what is around this node.
    pub around: Option<String>,
    /// So many steps around it.
    pub depth: Option<usize>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeDrawing {
    /// SVG, Mermaid or DOT.
    pub text: String,
    /// How many nodes it shows.
    pub nodes: usize,
    /// How many edges.
    pub edges: usize,
}

/// Draws the graph, or a part of it.
pub(super) fn draw(known: &KnowledgeGraph, input: &DrawInput) -> Result<KnowledgeDrawing, Failure> {
    let level = retrieve::level(input.level.as_deref())?;
    let depth = input.depth.unwrap_or(1);
    if depth > limits::PATH_DEPTH {
        return Err(InvalidInput::new(
            "depth",
            format!("must be from 0 to {}", limits::PATH_DEPTH),
        )
        .because(format!("{depth} was given"))
        .into());
    }
    let graph = known.graph().restricted(|node| {
        let served = known.node(node.id.as_str());
        served.is_some_and(|node| level.is_none_or(|level| node.level() == Some(level)))
    });
    let graph = match &input.around {
        None => graph,
        Some(id) if graph.node(id.as_str()).is_some() => graph.around(&[id.as_str().into()], depth),
        Some(id) => return Err(nobody(known, id)),
    };
    if graph.nodes.len() > limits::PICTURE_NODES && input.format != DrawFormat::Dot {
        return Err(InvalidInput::new(
            "graph",
            format!("has more than {} nodes to draw", limits::PICTURE_NODES),
        )
        .because("draw one level, or the nodes around one node")
        .into());
    }
    let options = DrawOptions {
        direction: LayoutDirection::Right,
        label: LabelSource::Plain,
        edge_label: LabelSource::Attribute("relation".to_owned()),
        colour_by: Some("type".to_owned()),
        colour_order: NodeType::ALL.iter().map(|kind| kind.as_str().to_owned()).collect(),
    };
    let text = match input.format {
        DrawFormat::Svg => svg(&graph, &options),
        DrawFormat::Mermaid => mermaid(&graph, &options),
        DrawFormat::Dot => {
            let shown = |id: &str| graph.node(id).is_some();
            dot(
                known.nodes().filter(|node| shown(node.id())),
                known
                    .valid_edges()
                    .filter(|valid_edge| shown(valid_edge.from.id()) && shown(valid_edge.to.id())),
            )
        }
    };
    Ok(KnowledgeDrawing { text, nodes: graph.nodes.len(), edges: graph.edges.len() })
}

fn nobody(known: &KnowledgeGraph, id: &str) -> Failure {
    let hint = match suggestions::nearest(id, known.nodes().map(|node| node.id())) {
        Some(suggestion) => format!("did you mean `{suggestion}`?"),
        None => "twining_knowledge_retrieve finds nodes by words".to_owned(),
    };
    Failure::NotFound { what: "node", id: twining_model::text::excerpt(id, 80), hint }
}

/// Writes nodes and the edges between them.
pub(super) fn dot<'k>(
    nodes: impl Iterator<Item = KnowledgeNode<'k>>,
    valid_edges: impl Iterator<Item = KnowledgeEdge<'k>>,
) -> String {
    let mut out = String::from("digraph ProjectKnowledge {\n");
    nodes.for_each(|known| out.push_str(&node(known)));
    valid_edges.for_each(|valid_edge| out.push_str(&edge(valid_edge)));
    out.push_str("}\n");
    out
}

/// A node on a line of its own.
pub(super) fn node(known: KnowledgeNode<'_>) -> String {
    let mut line = format!("    {}", known.node().id.quoted());
    let values = FIELDS
        .iter()
        .filter_map(|field| Some((*field, &known.node().attributes.get(field)?.value)));
    list(&mut line, values.filter(|(_, value)| !value.as_str().trim().is_empty()));
    line
}

/// An edge on a line of its own.
fn edge(valid_edge: KnowledgeEdge<'_>) -> String {
    let edge = valid_edge.edge();
    let mut line = format!("    {} -> {}", edge.from.quoted(), edge.to.quoted());
    // One that names no relation names none here: the word it counts as is not one to write.
    let values = ["relation", "note"]
        .into_iter()
        .filter_map(|name| Some((name, &edge.attributes.get(name)?.value)));
    list(&mut line, values.filter(|(_, value)| !value.as_str().trim().is_empty()));
    line
}

fn list<'v>(line: &mut String, values: impl Iterator<Item = (&'v str, &'v DotId)>) {
    for (index, (name, value)) in values.enumerate() {
        let before = if index == 0 { " [" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(line, "{before}{name}={}", value.quoted());
    }
    line.push_str(if line.contains(" [") { "];\n" } else { ";\n" });
}
