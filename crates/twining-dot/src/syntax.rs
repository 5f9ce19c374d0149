//! Syntax of the file: statements with their spans, before interpretation.

use crate::diagnostics::Span;
use crate::id::DotId;

/// An id and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpelledId {
    /// What it says.
    pub id: DotId,
    /// All of it, the parts of a `"a" + "b"` together.
    pub span: Span,
}

/// A graph as written.
#[derive(Clone, Debug)]
pub struct GraphSyntax {
    /// From `strict` or `graph` to the closing brace.
    pub span: Span,
    /// Whether parallel edges are one.
    pub strict: bool,
    /// `digraph` or `graph`.
    pub directed: bool,
    /// Its name, if it has one.
    pub name: Option<SpelledId>,
    /// What it holds.
    pub body: Body,
}

/// Contents between braces.
#[derive(Clone, Debug)]
pub struct Body {
    /// The opening brace to the closing one.
    pub span: Span,
    /// Whether the closing brace is there.
    pub closed: bool,
    /// The statements, in order.
    pub statements: Vec<Statement>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// From its first token to its last, the semicolon included.
    pub span: Span,
    /// From its first token to its last, without the semicolon.
    pub bare: Span,
    /// What it says.
    pub kind: StatementKind,
}

/// What a statement says.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `a [x=1]`, `a -> {b c} -> d`: one endpoint is a node statement, more are edges.
    Chain {
        /// What the edges run between.
        endpoints: Vec<Endpoint>,
        /// The attribute lists behind it.
        lists: Vec<AttrList>,
    },
    /// `node [x=1]`
    Defaults {
        /// What it is the default of.
        target: Target,
        /// The attribute lists.
        lists: Vec<AttrList>,
    },
    /// `x=1`, an attribute of the graph around it.
    Assign(Box<Assign>),
}

/// What a default is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// `graph [..]`
    Graph,
    /// `node [..]`
    Node,
    /// `edge [..]`
    Edge,
}

/// One end of an edge, or a node statement's subject.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// `a, b:port`
    Nodes(Vec<NodeRef>),
    /// `subgraph x {..}` or `{..}`
    Subgraph(Box<SubgraphSyntax>),
}

/// A subgraph as written.
#[derive(Clone, Debug)]
pub struct SubgraphSyntax {
    /// From `subgraph` or the opening brace to the closing one.
    pub span: Span,
    /// Its name, if it has one.
    pub name: Option<SpelledId>,
    /// What it holds.
    pub body: Body,
}

/// A node's mention.
#[derive(Clone, Debug)]
pub struct NodeRef {
    /// The id with its port.
    pub span: Span,
    /// Which node.
    pub id: SpelledId,
    /// Where on the node the edge ends.
    pub port: Option<Port>,
}

/// Where on a node an edge ends: `:port`, `:port:compass` or `:compass`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// First part; if it is the only one, possibly a compass point.
    pub name: DotId,
    /// The second part.
    pub compass: Option<DotId>,
}

impl std::fmt::Display for Port {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, ":{}", self.name)?;
        self.compass.iter().try_for_each(|compass| write!(out, ":{compass}"))
    }
}

/// `[a=b, c=d]`
#[derive(Clone, Debug)]
pub struct AttrList {
    /// The brackets included.
    pub span: Span,
    /// The attributes, in order.
    pub assigns: Vec<Assign>,
}

/// `a=b`
#[derive(Clone, Debug)]
pub struct Assign {
    /// From the name to the value.
    pub span: Span,
    /// The attribute.
    pub name: SpelledId,
    /// Its value.
    pub value: SpelledId,
}
