//! A graph as DOT, from its meaning alone.

use std::fmt::Write as _;

use crate::graph::{Attribute, AttributeOrigin, Attributes, Graph};
use crate::id::DotId;
use crate::syntax::Port;

use super::options::SubgraphContents;

/// Writes a graph, or a part of one, as DOT: one statement a line, every attribute
/// where it belongs and no defaults, so that any line may be taken out of it.
#[must_use]
pub fn dot(graph: &Graph) -> String {
    let mut out = String::new();
    let name = graph.name.as_ref().map_or_else(String::new, |name| format!("{name} "));
    let strict = if graph.strict { "strict " } else { "" };
    let kind = if graph.directed { "digraph" } else { "graph" };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{strict}{kind} {name}{{");
    assigns(&graph.attributes, "    ", &mut out);
    body(graph, &SubgraphContents::of(graph), None, "    ", &mut out);
    let arrow = if graph.directed { "->" } else { "--" };
    for edge in &graph.edges {
        let port = |port: Option<&Port>| port.map_or_else(String::new, ToString::to_string);
        let (from, to) = (port(edge.from_port.as_ref()), port(edge.to_port.as_ref()));
        let _ = writeln!(
            out,
            "    {}{from} {arrow} {}{to}{};",
            &edge.from,
            &edge.to,
            edge_list(&edge.attributes)
        );
    }
    out.push_str("}\n");
    out
}

fn body(
    graph: &Graph,
    contents: &SubgraphContents,
    around: Option<usize>,
    indent: &str,
    out: &mut String,
) {
    for node in contents.nodes(around).iter().map(|&node| &graph.nodes[node]) {
        let _ = writeln!(out, "{indent}{}{};", &node.id, list(&node.attributes));
    }
    for &index in contents.groups(around) {
        let subgraph = &graph.subgraphs[index];
        let name =
            subgraph.name.as_ref().map_or_else(String::new, |name| format!("subgraph {name} "));
        let _ = writeln!(out, "{indent}{name}{{");
        let inner = format!("{indent}    ");
        assigns(&subgraph.attributes, &inner, out);
        body(graph, contents, Some(index), &inner, out);
        let elsewhere =
            |id: &&DotId| graph.node(*id).is_some_and(|node| !lies_in(graph, node.subgraph, index));
        for id in subgraph.nodes.iter().filter(elsewhere) {
            let _ = writeln!(out, "{inner}{id};");
        }
        let _ = writeln!(out, "{indent}}}");
    }
}

fn lies_in(graph: &Graph, mut inner: Option<usize>, outer: usize) -> bool {
    while let Some(group) = inner {
        if group == outer {
            return true;
        }
        inner = graph.subgraphs[group].parent;
    }
    false
}

fn assigns(attributes: &Attributes, indent: &str, out: &mut String) {
    for attribute in attributes {
        let _ = writeln!(out, "{indent}{}={};", DotId::new(attribute.name()), &attribute.value);
    }
}

fn list(attributes: &Attributes) -> String {
    listed(attributes.iter())
}

/// Omits a default `key`: it distinguishes nothing, and written out it would merge parallel edges.
fn edge_list(attributes: &Attributes) -> String {
    listed(
        attributes.iter().filter(|attribute| {
            attribute.name() != "key" || attribute.origin == AttributeOrigin::Own
        }),
    )
}

fn listed<'a>(attributes: impl Iterator<Item = &'a Attribute>) -> String {
    let written: Vec<String> = attributes
        .map(|attribute| format!("{}={}", DotId::new(attribute.name()), &attribute.value))
        .collect();
    if written.is_empty() { String::new() } else { format!(" [{}]", written.join(", ")) }
}
