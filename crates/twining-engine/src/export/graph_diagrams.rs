//! Decisions and the observed graph as one picture: DOT, Mermaid, SVG.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use twining_dot::{
    DotDocument, DotId, DrawOptions, Graph, LabelSource, LayoutDirection, mermaid, svg,
};
use twining_model::{Entity, EntityType, text};

use super::records::ExportRecords;
use crate::fields;

/// More nodes than this are no picture, for a page and for Mermaid.
const ON_A_PAGE: usize = 120;
const IN_MERMAID: usize = 400;
/// Characters of a name in a node.
const NAME: usize = 60;

/// A graph as a picture, and how many records it leaves out.
pub(super) struct GraphDrawing {
    pub text: String,
    pub left_out: usize,
}

/// All of it, as DOT.
pub(super) fn dot(contents: &ExportRecords) -> String {
    RecordGraph::of(contents).to_dot()
}

/// What is best connected, as Mermaid.
pub(super) fn in_mermaid(contents: &ExportRecords) -> GraphDrawing {
    drawn(contents, IN_MERMAID, mermaid)
}

/// What is best connected, as a picture.
pub(super) fn svg_drawing(contents: &ExportRecords) -> GraphDrawing {
    drawn(contents, ON_A_PAGE, svg)
}

fn drawn(
    contents: &ExportRecords,
    most: usize,
    draw: fn(&Graph, &DrawOptions) -> String,
) -> GraphDrawing {
    let mut records = RecordGraph::of(contents);
    let left_out = records.leave_out(most);
    let options = DrawOptions {
        direction: LayoutDirection::Right,
        label: LabelSource::Usual,
        edge_label: LabelSource::Usual,
        colour_by: Some("kind".to_owned()),
        colour_order: Vec::new(),
    };
    let text = draw(DotDocument::parse(records.to_dot()).graph(), &options);
    GraphDrawing { text, left_out }
}

/// Decisions and entities with their relations. The entity that stands for a
/// decision in the graph is the decision here.
struct RecordGraph {
    /// Label and kind of each, by its id.
    nodes: BTreeMap<String, (String, String)>,
    /// From, to, and how they are related.
    edges: BTreeSet<(String, String, String)>,
}

impl RecordGraph {
    fn of(contents: &ExportRecords) -> Self {
        let decided = contents.decisions.iter().map(|decision| {
            let kind = format!("{} decision", decision.status.as_str());
            (decision.id.to_string(), (shown(&decision.summary), kind))
        });
        let mut nodes: BTreeMap<String, (String, String)> = decided.collect();
        let is_concept = |entity: &&Entity| {
            entity.kind == EntityType::Concept.as_str() && nodes.contains_key(&entity.name)
        };
        let (concepts, others): (Vec<&Entity>, Vec<&Entity>) =
            contents.entities.iter().partition(is_concept);
        let concepts: HashMap<&str, &str> =
            concepts.into_iter().map(|entity| (&*entity.id, &*entity.name)).collect();
        nodes.extend(
            others
                .into_iter()
                .map(|entity| (entity.id.clone(), (shown(&entity.name), shown(&entity.kind)))),
        );
        let end = |id: &str| (*concepts.get(id).unwrap_or(&id)).to_owned();
        let mut edges: BTreeSet<(String, String, String)> = contents
            .relations
            .iter()
            .map(|relation| (end(&relation.source), end(&relation.target), shown(&relation.kind)))
            .collect();
        for decision in &contents.decisions {
            let rests_on = decision.depends_on.iter().map(|id| (id, "depends_on"));
            let replaces = decision.supersedes.iter().map(|id| (id, "supersedes"));
            let from = decision.id.to_string();
            edges.extend(
                rests_on
                    .chain(replaces)
                    .map(|(id, kind)| (from.clone(), id.clone(), kind.to_owned())),
            );
        }
        edges.retain(|(from, to, _)| nodes.contains_key(from) && nodes.contains_key(to));
        Self { nodes, edges }
    }

    /// Leaves all but the best connected out, and tells how many those are.
    fn leave_out(&mut self, most: usize) -> usize {
        let mut degree: BTreeMap<&str, usize> =
            self.nodes.keys().map(|id| (id.as_str(), 0)).collect();
        for end in self.edges.iter().flat_map(|(from, to, _)| [from, to]) {
            *degree.entry(end).or_default() += 1;
        }
        let mut ranked: Vec<(&str, usize)> = degree.into_iter().collect();
        ranked.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.cmp(a.0)));
        let left_out: HashSet<String> =
            ranked.into_iter().skip(most).map(|(id, _)| id.to_owned()).collect();
        self.nodes.retain(|id, _| !left_out.contains(id));
        self.edges.retain(|(from, to, _)| !left_out.contains(from) && !left_out.contains(to));
        left_out.len()
    }

    fn to_dot(&self) -> String {
        let quoted = |text: &str| DotId::new(text).quoted().to_string();
        let mut out = String::from("digraph Twining {\n");
        for (id, (label, kind)) in &self.nodes {
            let [id, label, kind] = [id, label, kind].map(|text| quoted(text));
            let _ = writeln!(out, "    {id} [label={label}, kind={kind}];");
        }
        for (from, to, kind) in &self.edges {
            let [from, to, kind] = [from, to, kind].map(|text| quoted(text));
            let _ = writeln!(out, "    {from} -> {to} [label={kind}];");
        }
        out.push_str("}\n");
        out
    }
}

fn shown(stored: &str) -> String {
    text::visible(&fields::shorten(stored, NAME))
}
