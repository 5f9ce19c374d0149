//! The DOT language: read it without loss, edit it one statement at a time, merge it
//! by meaning, draw it. Pure: no disk, no environment, no clock; and it knows nothing
//! of what the attributes mean to whoever wrote them.
//!
//! ```
//! use twining_dot::{AlwaysClash, Document, merge};
//!
//! let base = "digraph {\n    // the contract\n    api [status=current];\n}\n";
//! let mut ours = Document::parse(base);
//! ours.add_node("cache", &[("status", "future".into())])?;
//! assert_eq!(ours.text(), base.replace("];\n", "];\n    cache [status=future];\n"));
//!
//! let theirs = base.replace("current", "deprecated");
//! let merged = merge(base.as_bytes(), ours.bytes(), theirs.as_bytes(), &AlwaysClash)?;
//! assert_eq!(merged.text, ours.text().replace("current", "deprecated").into_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From bytes to meaning
//!
//! ```text
//! bytes ─ lexer ─▶ tokens ─ parser ─▶ syntax ─ build ─▶ Graph ─ draw ─▶ SVG, Mermaid, DOT
//!                                       │
//!                            edit: plan ─▶ splices ─▶ bytes
//!                                       │
//!                     merge: three Graphs, one plan against ours
//! ```
//!
//! - **lexer**: every byte belongs to one token, comments and blanks too; a text
//!   without an end closes with its line, so that the rest is still read.
//! - **parser**: recursive descent to statements with byte spans. Reports every error and goes on;
//!   nesting is limited to [`DEEPEST`].
//! - **build**: applies the statements: defaults, `strict`, subgraphs as ends of edges.
//!   What a few bytes can ask for is metered, so reading is linear in the file's size.
//! - **edit**: says what is to change in which statement (plan), then writes only those
//!   statements (render, in the style of the file). Printing is not a step: the
//!   document *is* its bytes.
//! - **merge**: compares what three documents mean, by node, edge and attribute, and
//!   makes the difference a plan for ours; what the defaults of the result do not
//!   give is written out.
//!
//! # What it takes for DOT
//!
//! What Graphviz takes, with the same numbers of nodes and edges. Lines end at a line
//! feed; columns count characters from one. A file that is not UTF-8 is read as
//! Latin-1 and written back so. Only the first graph of a file is read; that there
//! are more is a warning. An empty file is no graph.

mod charset;
mod diagnostics;
mod document;
mod draw;
mod edit;
mod graph;
mod graph_builder;
mod id;
mod lexer;
mod merge;
mod parser;
mod syntax;

pub use charset::Charset;
pub use diagnostics::{Diagnostic, Position, Span};
pub use document::{DotCheck, DotDocument, check};
pub use draw::{
    DrawOptions, GraphLayout, LabelSource, LayoutDirection, NodeBox, dot, layout, mermaid, svg,
};
pub use edit::{EdgeSelector, EditError};
pub use graph::{Attribute, AttributeOrigin, Attributes, Edge, Graph, Node, Subgraph};
pub use id::DotId;
pub use lexer::{Keyword, Token, TokenKind};
pub use merge::{
    AlwaysClash, DotClash, DotClashKind, DotMergePolicy, MergeError, MergedDot, Resolution,
    Subject, merge,
};
pub use parser::{DEEPEST, MOST_ERRORS};
pub use syntax::{
    Assign, AttrList, Body, Endpoint, GraphSyntax, NodeRef, Port, SpelledId, Statement,
    StatementKind, SubgraphSyntax, Target,
};
