//! A part of the graph as DOT: the fields in one order, nodes in the order of
//! the file, one statement a line.

use std::fmt::Write as _;

use twining_dot::DotId;
use twining_model::knowledge::FIELDS;

use super::file::{KnowledgeEdge, KnowledgeNode};

/// Writes nodes and the edges between them.
pub(super) fn dot<'k>(nodes: impl Iterator<Item = KnowledgeNode<'k>>, valid_edges: impl Iterator<Item = KnowledgeEdge<'k>>) -> String {
    let mut out = String::from("digraph ProjectKnowledge {\n");
    nodes.for_each(|known| out.push_str(&node(known)));
    valid_edges.for_each(|valid_edge| out.push_str(&edge(valid_edge)));
    out.push_str("}\n");
    out
}

/// A node on a line of its own.
pub(super) fn node(known: KnowledgeNode<'_>) -> String {
    let mut line = format!("    {}", known.node().id().quoted());
    let values = FIELDS.iter().filter_map(|field| Some((*field, known.node().attributes().get(field)?.value())));
    list(&mut line, values.filter(|(_, value)| !value.as_str().trim().is_empty()));
    line
}

/// An edge on a line of its own.
fn edge(valid_edge: KnowledgeEdge<'_>) -> String {
    let edge = valid_edge.edge();
    let mut line = format!("    {} -> {}", edge.from().quoted(), edge.to().quoted());
    // One that names no relation names none here: the word it counts as is not one to write.
    let values = ["relation", "note"].into_iter().filter_map(|name| Some((name, edge.attributes().get(name)?.value())));
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
