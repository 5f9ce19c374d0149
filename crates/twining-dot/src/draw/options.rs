//! Pictures of a graph: SVG with a layout of our own, Mermaid, and plain DOT.

/// How a graph is drawn.
#[derive(Clone, Debug, Default)]
pub struct DrawOptions {
    /// Which way the edges run.
    pub direction: LayoutDirection,
    /// The attribute that is written into a node; its id if it has none of it.
    pub label: LabelSource,
    /// The attribute that is written on an edge, if it has it.
    pub edge_label: LabelSource,
    /// The attribute that colours a node, each value in its own colour.
    pub colour_by: Option<String>,
    /// The values that come first when colours are given out, so that a part of a graph has the colours of the whole.
    pub colour_order: Vec<String>,
}

/// Which attribute is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LabelSource {
    /// The one called `label`, as Graphviz does.
    #[default]
    Usual,
    /// The id alone, or nothing on an edge.
    Plain,
    /// The one of this name.
    Attribute(String),
}

impl LabelSource {
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Usual => Some("label"),
            Self::Plain => None,
            Self::Attribute(name) => Some(name),
        }
    }
}

/// Which way the edges run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LayoutDirection {
    /// From top to bottom.
    #[default]
    Down,
    /// From left to right.
    Right,
}

/// Fill colours that dark text can be read on.
pub(super) const PALETTE: [&str; 10] = [
    "#cfe2ff", "#d1e7dd", "#fff3cd", "#f8d7da", "#e2d9f3", "#cff4fc", "#ffe5d0", "#d2f4ea",
    "#f7d6e6", "#e2e3e5",
];

/// The values of the colouring attribute, those with a place in the order first and the others sorted, and the colour of each.
pub(super) fn colours(
    graph: &crate::graph::Graph,
    options: &DrawOptions,
) -> Vec<(String, &'static str)> {
    let Some(name) = &options.colour_by else { return Vec::new() };
    let values: std::collections::BTreeSet<&str> =
        graph.nodes.iter().filter_map(|node| node.get(name)).collect();
    let others = values
        .iter()
        .copied()
        .filter(|value| !options.colour_order.iter().any(|known| known == value));
    let all = options.colour_order.iter().map(String::as_str).chain(others);
    all.zip(PALETTE.into_iter().cycle())
        .filter(|(value, _)| values.contains(value))
        .map(|(value, colour)| (value.to_owned(), colour))
        .collect()
}

/// Nodes and subgraphs directly inside each subgraph; the graph itself is last.
pub(super) struct SubgraphContents(Vec<(Vec<usize>, Vec<usize>)>);

impl SubgraphContents {
    pub(super) fn of(graph: &crate::graph::Graph) -> Self {
        let root = graph.subgraphs.len();
        let mut held = vec![(Vec::new(), Vec::new()); root + 1];
        for (index, node) in graph.nodes.iter().enumerate() {
            held[node.subgraph.unwrap_or(root)].0.push(index);
        }
        for (index, subgraph) in graph.subgraphs.iter().enumerate() {
            held[subgraph.parent.unwrap_or(root)].1.push(index);
        }
        Self(held)
    }

    pub(super) fn nodes(&self, around: Option<usize>) -> &[usize] {
        &self.0[around.unwrap_or(self.0.len() - 1)].0
    }

    pub(super) fn groups(&self, around: Option<usize>) -> &[usize] {
        &self.0[around.unwrap_or(self.0.len() - 1)].1
    }
}
