//! Renders a graph as self-contained SVG: no scripts, no fonts, nothing loaded.

use std::fmt::Write as _;

use crate::graph::Graph;

use super::labels;
use super::layout::{LINE, layout};
use super::options::{DrawOptions, colours};

/// Draws a graph.
#[must_use]
pub fn svg(graph: &Graph, options: &DrawOptions) -> String {
    let drawing = layout(graph, options);
    let colours = colours(graph, options);
    let legend = if colours.is_empty() { 0.0 } else { 32.0 };
    let (width, height) = (drawing.width.max(120.0), drawing.height + legend);
    let mut out = String::new();
    let title = graph
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!("<title>{}</title>\n", escaped(name.as_str())));
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n{title}\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
         <path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let marker = if graph.directed { " marker-end=\"url(#arrow)\"" } else { "" };
    for (edge, points) in graph.edges.iter().zip(&drawing.edges) {
        let path: Vec<String> = points
            .iter()
            .enumerate()
            .map(|(order, (x, y))| format!("{}{x:.1} {y:.1}", if order == 0 { "M" } else { "L" }))
            .collect();
        let _ =
            writeln!(out, "<path d=\"{}\" fill=\"none\" stroke=\"#555\"{marker}/>", path.concat());
        if let Some(label) = labels::edge_label(edge, options) {
            let (x, y) = halfway(points);
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-size=\"10\" fill=\"#333\" stroke=\"#fff\" stroke-width=\"3\" \
                 paint-order=\"stroke\">{}</text>",
                escaped(&label)
            );
        }
    }
    for (node, shape) in graph.nodes.iter().zip(&drawing.nodes) {
        let value = options.colour_by.as_ref().and_then(|name| node.get(name));
        let fill = colours
            .iter()
            .find(|(known, _)| Some(known.as_str()) == value)
            .map_or("#f8f9fa", |(_, colour)| colour);
        let (left, top) = (shape.x - shape.width / 2.0, shape.y - shape.height / 2.0);
        let _ = write!(
            out,
            "<g><title>{}</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\" fill=\"{fill}\" stroke=\"#555\"/>",
            escaped(node.id.as_str()),
            shape.width,
            shape.height
        );
        for (order, line) in shape.lines.iter().enumerate() {
            let y = top + 8.0 + LINE * (f64::from(u32::try_from(order).unwrap_or_default()) + 0.75);
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
                shape.x,
                escaped(line)
            );
        }
        out.push_str("</g>\n");
    }
    let mut x = 24.0;
    for (value, colour) in &colours {
        let y = drawing.height;
        let _ = writeln!(
            out,
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"14\" height=\"14\" fill=\"{colour}\" stroke=\"#555\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            x + 20.0,
            y + 11.0,
            escaped(value)
        );
        x += 40.0 + 7.2 * f64::from(u32::try_from(value.chars().count()).unwrap_or_default());
    }
    out.push_str("</svg>\n");
    out
}

fn halfway(points: &[(f64, f64)]) -> (f64, f64) {
    let middle = points.len() / 2;
    match (points.get(middle.saturating_sub(1)), points.get(middle)) {
        (Some(before), Some(after)) => {
            (f64::midpoint(before.0, after.0), f64::midpoint(before.1, after.1))
        }
        _ => (0.0, 0.0),
    }
}

/// Text for XML; characters that XML has not are left out.
fn escaped(text: &str) -> String {
    labels::escaped(text, |letter| match letter {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        '\t' | '\n' | '\r' => Some(" "),
        '\u{FFFE}' | '\u{FFFF}' | '\0'..' ' => Some(""),
        _ => None,
    })
}
