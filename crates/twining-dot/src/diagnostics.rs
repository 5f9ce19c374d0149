//! Source positions: byte spans for machines, line and column for people.

use crate::charset::Charset;

/// A range of bytes of the source, the end not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// From the first byte to the one after the last.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// From the start of this span to the end of another.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }

    /// The bytes of the source it covers.
    #[must_use]
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start..self.end).unwrap_or_default()
    }
}

/// A line and a column, both from one.
///
/// Columns count characters, not bytes: a tab is one, `é` is one, and a byte order
/// mark is none. Lines end at a line feed, as they do for Graphviz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from one.
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
}

/// Something wrong or doubtful, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line, from one.
    pub line: usize,
    /// The column in characters, from one.
    pub column: usize,
    /// What is wrong, and what to write instead where that is known.
    pub message: String,
    /// The bytes it is about.
    pub span: Span,
}

impl Diagnostic {
    /// One that does not know its line yet: lines are counted once, at the end, so that a
    /// file of nothing but errors is still read in linear time.
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { line: 0, column: 0, message: message.into(), span }
    }
}

/// Walks the source once, forwards, and returns the line and column of each offset, requested in
/// order.
pub(crate) struct LineIndex<'a> {
    source: &'a [u8],
    charset: Charset,
    offset: usize,
    position: Position,
}

impl<'a> LineIndex<'a> {
    pub(crate) fn new(source: &'a [u8], charset: Charset) -> Self {
        let offset = if source.starts_with(BOM) { BOM.len() } else { 0 };
        Self { source, charset, offset, position: Position { line: 1, column: 1 } }
    }

    pub(crate) fn advance_to(&mut self, offset: usize) -> Position {
        let end = offset.min(self.source.len());
        while self.offset < end {
            let byte = self.source[self.offset];
            if byte == b'\n' {
                self.position = Position { line: self.position.line + 1, column: 1 };
            } else if self.charset == Charset::Latin1 || byte & 0xC0 != 0x80 {
                self.position.column += 1;
            }
            self.offset += 1;
        }
        self.position
    }
}

/// The byte order mark of UTF-8.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Gives each diagnostic its line and column, in order of appearance.
pub(crate) fn located(
    source: &[u8],
    charset: Charset,
    mut diagnostics: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    let mut lines = LineIndex::new(source, charset);
    for diagnostic in &mut diagnostics {
        Position { line: diagnostic.line, column: diagnostic.column } =
            lines.advance_to(diagnostic.span.start);
    }
    diagnostics
}
