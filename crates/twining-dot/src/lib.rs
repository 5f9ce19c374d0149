//! The DOT language: read it without loss, edit it one statement at a time, merge it
//! by meaning, draw it. Pure: no disk, no environment, no clock.

mod build;
mod charset;
mod document;
mod draw;
mod edit;
mod graph;
mod id;
mod lexer;
mod merge;
mod parser;
mod span;
mod syntax;

pub use charset::Charset;
pub use document::{Check, Document, check};
pub use draw::{Direction, DrawOptions, Label, Layout, Placed, dot, layout, mermaid, svg};
pub use edit::{EdgeSelector, EditError, ItsEdges};
pub use graph::{Attribute, Attributes, Edge, Graph, Node, Origin, Subgraph};
pub use id::Id;
pub use lexer::{Keyword, Token, TokenKind};
pub use merge::{AlwaysClash, Clash, ClashKind, MergeError, Merged, Policy, Settle, Subject, merge};
pub use parser::DEEPEST;
pub use span::{Position, Problem, Span};
pub use syntax::{Assign, AttrList, Body, Endpoint, GraphSyntax, NodeRef, Port, Spelled, Statement, StatementKind, SubgraphSyntax, Target};
