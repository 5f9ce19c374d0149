//! A DOT file in memory: its bytes, its statements, what they mean.

pub(super) use crate::charset::Charset;
use std::borrow::Cow;

use crate::diagnostics::{Diagnostic, LineIndex, Position, located};
use crate::graph::Graph;
use crate::lexer::{DotLexer, Token};
use crate::parser::ParseOutput;
use crate::syntax::GraphSyntax;
use crate::{graph_builder, parser};

/// A DOT file, read once and kept byte for byte.
///
/// Anything can be read: what is wrong is in [`errors`](Self::errors), and what is
/// right is served all the same.
#[derive(Clone, Debug)]
pub struct DotDocument {
    source: Vec<u8>,
    /// How its bytes become text.
    pub charset: Charset,
    syntax: Option<GraphSyntax>,
    graph: Graph,
    /// Every error, in order of appearance.
    pub errors: Vec<Diagnostic>,
    /// What is legal and doubtful: ids run together, text behind the graph.
    pub warnings: Vec<Diagnostic>,
    /// How many graphs follow the first; they are not read.
    pub more_graphs: usize,
}

impl DotDocument {
    /// Reads a file.
    #[must_use]
    pub fn parse(source: impl Into<Vec<u8>>) -> Self {
        let source = source.into();
        let charset = Charset::of(&source);
        let ParseOutput { graph: syntax, mut errors, warnings, more_graphs } =
            parser::parse(&source, charset);
        let graph = syntax
            .as_ref()
            .map(|syntax| graph_builder::graph(syntax, source.len(), &mut errors))
            .unwrap_or_default();
        let errors = located(&source, charset, errors);
        let warnings = located(&source, charset, warnings);
        Self { source, charset, syntax, graph, errors, warnings, more_graphs }
    }

    /// The file, byte for byte.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.source
    }

    /// The file, byte for byte, given away.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.source
    }

    /// The file as text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        self.charset.decode(&self.source)
    }

    /// The statements of the first graph, if the file has one.
    #[must_use]
    pub fn syntax(&self) -> Option<&GraphSyntax> {
        self.syntax.as_ref()
    }

    /// What the first graph means; empty if there is none.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// All tokens, blanks and comments too; their texts in a row are the file.
    pub fn tokens(&self) -> impl Iterator<Item = Token> + '_ {
        DotLexer::new(&self.source)
    }

    /// Line and column of an offset in bytes.
    #[must_use]
    pub fn position(&self, offset: usize) -> Position {
        LineIndex::new(&self.source, self.charset).advance_to(offset)
    }

    /// Line and column of many offsets, for the price of one reading.
    #[must_use]
    pub fn positions(&self, offsets: &[usize]) -> Vec<Position> {
        let mut order: Vec<usize> = (0..offsets.len()).collect();
        order.sort_by_key(|&index| offsets[index]);
        let mut ruler = LineIndex::new(&self.source, self.charset);
        let mut found = vec![Position { line: 1, column: 1 }; offsets.len()];
        for index in order {
            found[index] = ruler.advance_to(offsets[index]);
        }
        found
    }
}

/// What is wrong with the text of a file, its meaning left aside.
pub(crate) fn syntax_errors(source: &[u8]) -> Vec<Diagnostic> {
    let charset = Charset::of(source);
    located(source, charset, parser::parse(source, charset).errors)
}

/// The parser's word on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DotCheck {
    /// Whether Graphviz would take it.
    pub ok: bool,
    /// Nodes of the first graph.
    pub nodes: usize,
    /// Edges of the first graph; parallel ones are one in a `strict` graph.
    pub edges: usize,
    /// Every error, in order of appearance.
    pub errors: Vec<Diagnostic>,
}

/// Reads a file and counts.
#[must_use]
pub fn check(source: &[u8]) -> DotCheck {
    let document = DotDocument::parse(source);
    DotCheck {
        ok: document.errors.is_empty(),
        nodes: document.graph.nodes.len(),
        edges: document.graph.edges.len(),
        errors: document.errors,
    }
}
