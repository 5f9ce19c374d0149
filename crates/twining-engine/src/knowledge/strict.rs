//! Strict graphs: two edges between the same nodes are one there, and the last
//! word on its relation is the only one left.

use std::collections::BTreeMap;

use twining_dot::{Document, Edge, Graph, Id};
use twining_model::knowledge::RELATED_TO;
use twining_model::text;

use super::check::{Finding, about_edge};

/// The keyword that makes it so.
const STRICT: &str = "strict";

/// Relations that the file names and the graph does not have, with where they stand.
pub(super) fn dropped(document: &Document) -> Vec<(usize, Finding)> {
    let Some(start) = document.syntax().filter(|graph| graph.strict).map(|graph| graph.span.start) else { return Vec::new() };
    // Read once more without the word: every edge is then there, and stands where it stood.
    let mut source = document.bytes().to_vec();
    if let Some(word) = source.get_mut(start..start + STRICT.len()) {
        word.fill(b' ');
    }
    let apart = Document::parse(source);
    let graph = document.graph();
    let kept: BTreeMap<[&Id; 2], &Edge> = graph.edges().iter().map(|edge| (ends(graph, edge), edge)).collect();
    let lost = apart.graph().edges().iter().filter_map(|edge| {
        let kept = kept.get(&ends(apart.graph(), edge)).and_then(|kept| kept.get("relation")).unwrap_or_default();
        let relation = edge.get("relation").filter(|relation| !relation.trim().is_empty() && *relation != kept)?;
        let message = format!(
            "the graph is strict, so there is one edge to '{}': `{}` stands and `{}` is lost",
            text::excerpt(edge.to().as_str(), 80),
            text::excerpt(kept, 80),
            text::excerpt(relation, 80),
        );
        let suggestion = "take the word `strict` away to keep both, or remove one of the two edges";
        Some((edge.span().start, about_edge(edge, "relation", message, Some(suggestion.to_owned()))))
    });
    lost.collect()
}

/// The relation that a new edge between two nodes would take the place of.
pub(super) fn replaced<'g>(graph: &'g Graph, from: &Id, to: &Id) -> Option<&'g str> {
    if !graph.is_strict() {
        return None;
    }
    let known = graph.edges().iter().find(|edge| graph.connects(edge, from, to))?;
    Some(known.get("relation").filter(|relation| !relation.trim().is_empty()).unwrap_or(RELATED_TO))
}

fn ends<'g>(graph: &Graph, edge: &'g Edge) -> [&'g Id; 2] {
    let mut ends = [edge.from(), edge.to()];
    if !graph.is_directed() {
        ends.sort();
    }
    ends
}
