//! A graph as Mermaid text, for places that draw it themselves.

use std::fmt::Write as _;

use crate::graph::Graph;

use super::labels;
use super::options::{DrawOptions, LayoutDirection, SubgraphContents, colours};

/// Writes a graph as a Mermaid flowchart. Nodes are called `n0`, `n1` …: Mermaid's
/// own ids take too little to be ours.
#[must_use]
pub fn mermaid(graph: &Graph, options: &DrawOptions) -> String {
    let mut out = String::from(match options.direction {
        LayoutDirection::Down => "flowchart TD\n",
        LayoutDirection::Right => "flowchart LR\n",
    });
    group(graph, &SubgraphContents::of(graph), options, None, 1, &mut out);
    let arrow = if graph.directed { "-->" } else { "---" };
    for edge in &graph.edges {
        let (Some(from), Some(to)) = (graph.position_of(&edge.from), graph.position_of(&edge.to))
        else {
            continue;
        };
        let label = labels::edge_label(edge, options)
            .map_or_else(String::new, |label| format!("|\"{}\"|", escaped(&label)));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "    n{from} {arrow}{label} n{to}");
    }
    let name = options.colour_by.as_deref().unwrap_or_default();
    let colours = colours(graph, options);
    if !colours.is_empty() {
        let _ = writeln!(out, "    subgraph legend[\"{}\"]", escaped(name));
        for (number, (value, _)) in colours.iter().enumerate() {
            let _ = writeln!(out, "        k{number}[\"{}\"]", escaped(value));
        }
        out.push_str("    end\n");
    }
    for (number, (value, colour)) in colours.iter().enumerate() {
        let _ = writeln!(out, "    classDef c{number} fill:{colour},stroke:#555,color:#000");
        let members: Vec<String> = graph
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.get(name) == Some(value))
            .map(|(index, _)| format!("n{index}"))
            .chain([format!("k{number}")])
            .collect();
        let _ = writeln!(out, "    class {} c{number}", members.join(","));
    }
    out
}

/// The nodes of one subgraph, or of none, and the subgraphs within.
fn group(
    graph: &Graph,
    contents: &SubgraphContents,
    options: &DrawOptions,
    around: Option<usize>,
    depth: usize,
    out: &mut String,
) {
    let indent = "    ".repeat(depth);
    for &index in contents.nodes(around) {
        let lines: Vec<String> = labels::node_lines(&graph.nodes[index], options)
            .iter()
            .map(|line| escaped(line))
            .collect();
        let _ = writeln!(out, "{indent}n{index}[\"{}\"]", lines.join("<br/>"));
    }
    for &index in contents.groups(around) {
        let subgraph = &graph.subgraphs[index];
        let name = subgraph.name.as_ref().map(crate::id::DotId::as_str);
        match (name, subgraph.attributes.text("label").or(name)) {
            (Some(name), Some(label))
                if name.starts_with("cluster") && !subgraph.nodes.is_empty() =>
            {
                let _ = writeln!(out, "{indent}subgraph s{index}[\"{}\"]", escaped(label));
                group(graph, contents, options, Some(index), depth + 1, out);
                let _ = writeln!(out, "{indent}end");
            }
            _ => group(graph, contents, options, Some(index), depth, out),
        }
    }
}

/// Text within quotes: Mermaid knows entities by `#…;` and takes a backtick for Markdown.
fn escaped(text: &str) -> String {
    let out = labels::escaped(text, |letter| match letter {
        '"' => Some("#quot;"),
        '#' => Some("#35;"),
        '&' => Some("#amp;"),
        '<' => Some("#lt;"),
        '>' => Some("#gt;"),
        '`' => Some("#96;"),
        '\\' => Some("#92;"),
        _ => letter.is_control().then_some(" "),
    });
    // An empty text in quotes is no text to Mermaid.
    if out.trim().is_empty() { "#32;".to_owned() } else { out }
}
