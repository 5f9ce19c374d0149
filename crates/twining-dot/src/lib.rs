//! The DOT language: lossless reading, editing one statement at a time, merging by
//! meaning, drawing. Pure: no disk, no environment, no clock, and no knowledge of what
//! attributes mean to their author.
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
//! - **lexer**: every byte belongs to one token, comments and blanks too; an unterminated
//!   string ends with its line, so that the rest is still read.
//! - **parser**: recursive descent to statements with byte spans. Reports every error and continues;
//!   nesting is limited to [`DEEPEST`].
//! - **build**: applies the statements: defaults, `strict`, subgraphs as edge endpoints.
//!   Expansion is limited, so reading is linear in the file's size.
//! - **edit**: plans what changes in which statement, then writes only those
//!   statements (render, in the file's style). Printing is not a step: the
//!   document *is* its bytes.
//! - **merge**: compares the meaning of three documents by node, edge and attribute, and
//!   turns the difference into a plan for ours; values that the result's defaults do not
//!   provide are written out.
//!
//! # Accepted input
//!
//! What Graphviz accepts, with the same numbers of nodes and edges. Lines end at a line
//! feed; columns count characters from one. A file that is not UTF-8 is read as
//! Latin-1 and written back as such. Only the first graph of a file is read; further
//! graphs cause a warning. An empty file is not a graph.

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
    DrawOptions, GraphLayout, LabelSource, LayoutDirection, NodeBox, dot, force_layout,
    layered_layout, layout, mermaid, svg,
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
