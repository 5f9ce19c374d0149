//! Decisions and the observed graph as one picture: DOT, Mermaid, SVG.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use twining_dot::{
    DotDocument, DotId, DrawOptions, Graph, LabelSource, LayoutDirection, mermaid, svg,
};
use twining_model::{EntityType, text};

use super::records::ExportRecords;
use crate::fields;

/// More nodes than this are no picture, for a page and for Mermaid.
const ON_A_PAGE: usize = 120;
const IN_MERMAID: usize = 400;
/// Characters of a name in a node.
const NAME: usize = 60;

/// A picture, and how many nodes were left out of it.
pub(super) struct GraphDrawing {
    pub text: String,
    pub left_out: usize,
}

/// Everything, for Graphviz.
pub(super) fn dot(contents: &ExportRecords) -> String {
    source(contents, &shown_ids(contents, usize::MAX).0)
}

/// What fits, for Markdown.
pub(super) fn in_mermaid(contents: &ExportRecords) -> GraphDrawing {
    let (shown_ids, left_out) = shown_ids(contents, IN_MERMAID);
    GraphDrawing { text: mermaid(&graph(contents, &shown_ids), &options()), left_out }
}

/// What fits, for a browser.
pub(super) fn svg_drawing(contents: &ExportRecords) -> GraphDrawing {
    let (shown_ids, left_out) = shown_ids(contents, ON_A_PAGE);
    GraphDrawing { text: svg(&graph(contents, &shown_ids), &options()), left_out }
}

fn options() -> DrawOptions {
    DrawOptions {
        direction: LayoutDirection::Right,
        label: LabelSource::Usual,
        edge_label: LabelSource::Usual,
        colour_by: Some("kind".to_owned()),
        colour_order: Vec::new(),
    }
}

fn graph(contents: &ExportRecords, shown_ids: &BTreeSet<String>) -> Graph {
    DotDocument::parse(source(contents, shown_ids)).graph().clone()
}

/// The nodes with the most edges, in a number that can be drawn; lone entities
/// only where there is room.
fn shown_ids(contents: &ExportRecords, most: usize) -> (BTreeSet<String>, usize) {
    let nodes = nodes(contents);
    let mut degree: BTreeMap<&str, usize> = nodes.keys().map(|id| (id.as_str(), 0)).collect();
    let edges = edges(contents, &nodes);
    for (from, to, _) in &edges {
        for end in [from, to] {
            if let Some(degree) = degree.get_mut(end.as_str()) {
                *degree += 1;
            }
        }
    }
    let mut ranked: Vec<(&str, usize)> = degree.into_iter().collect();
    ranked.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.cmp(a.0)));
    let left_out = ranked.len().saturating_sub(most);
    (ranked.into_iter().take(most).map(|(id, _)| id.to_owned()).collect(), left_out)
}

fn source(contents: &ExportRecords, shown_ids: &BTreeSet<String>) -> String {
    let nodes = nodes(contents);
    let mut out = String::from("digraph Twining {\n");
    for (id, (label, kind)) in nodes.iter().filter(|(id, _)| shown_ids.contains(*id)) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "    {} [label={}, kind={}];",
            DotId::new(id).quoted(),
            DotId::new(label).quoted(),
            DotId::new(kind).quoted()
        );
    }
    for (from, to, kind) in edges(contents, &nodes)
        .iter()
        .filter(|(from, to, _)| shown_ids.contains(from) && shown_ids.contains(to))
    {
        let _ = writeln!(
            out,
            "    {} -> {} [label={}];",
            DotId::new(from).quoted(),
            DotId::new(to).quoted(),
            DotId::new(kind).quoted()
        );
    }
    out.push_str("}\n");
    out
}

/// Label and kind by id. The concept that stands for a decision is that decision.
fn nodes(contents: &ExportRecords) -> BTreeMap<String, (String, String)> {
    let mut nodes = BTreeMap::new();
    for decision in &contents.decisions {
        let kind = format!("{} decision", decision.status.as_str());
        nodes.insert(decision.id.to_string(), (shown(&decision.summary), kind));
    }
    let decided: BTreeSet<&str> =
        contents.decisions.iter().map(|decision| decision.id.as_str()).collect();
    for entity in contents
        .entities
        .iter()
        .filter(|entity| !is_decision_concept(entity.kind.as_str(), &entity.name, &decided))
    {
        nodes.insert(entity.id.clone(), (shown(&entity.name), shown(&entity.kind)));
    }
    nodes
}

fn is_decision_concept(kind: &str, name: &str, decided: &BTreeSet<&str>) -> bool {
    kind == EntityType::Concept.as_str() && decided.contains(name)
}

fn edges(
    contents: &ExportRecords,
    nodes: &BTreeMap<String, (String, String)>,
) -> Vec<(String, String, String)> {
    let decided: BTreeSet<&str> =
        contents.decisions.iter().map(|decision| decision.id.as_str()).collect();
    let concepts: HashMap<&str, &str> = contents
        .entities
        .iter()
        .filter(|entity| is_decision_concept(&entity.kind, &entity.name, &decided))
        .map(|entity| (entity.id.as_str(), entity.name.as_str()))
        .collect();
    let end = |id: &str| (*concepts.get(id).unwrap_or(&id)).to_owned();
    let mut edges: BTreeSet<(String, String, String)> = contents
        .relations
        .iter()
        .map(|relation| (end(&relation.source), end(&relation.target), shown(&relation.kind)))
        .collect();
    for decision in &contents.decisions {
        let from = decision.id.to_string();
        edges.extend(
            decision
                .depends_on
                .iter()
                .map(|on| (from.clone(), on.clone(), "depends_on".to_owned())),
        );
        edges.extend(
            decision
                .supersedes
                .iter()
                .map(|old| (from.clone(), old.clone(), "supersedes".to_owned())),
        );
    }
    edges
        .into_iter()
        .filter(|(from, to, _)| nodes.contains_key(from) && nodes.contains_key(to))
        .collect()
}

fn shown(stored: &str) -> String {
    text::visible(&fields::shorten(stored, NAME))
}
