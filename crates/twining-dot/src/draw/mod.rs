//! Pictures of a graph: SVG with a layout of our own, Mermaid, and plain DOT.

mod dot;
mod labels;
mod layout;
mod mermaid;
mod options;
mod svg;

pub use dot::dot;
pub use layout::{GraphLayout, NodeBox, layout};
pub use mermaid::mermaid;
pub use options::{DrawOptions, LabelSource, LayoutDirection};
pub use svg::svg;
