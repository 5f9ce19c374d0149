//! Pictures of a graph: SVG with layouts of our own, Mermaid, and plain DOT.

mod dot;
mod force_layout;
mod labels;
mod layout;
mod mermaid;
mod options;
mod svg;

pub use dot::dot;
pub use force_layout::force_layout;
pub use layout::{GraphLayout, NodeBox, layered_layout, layout};
pub use mermaid::mermaid;
pub use options::{DrawOptions, LabelSource, LayoutDirection};
pub use svg::svg;
