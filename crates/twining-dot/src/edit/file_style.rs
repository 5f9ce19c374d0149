//! How the file at hand is written: line ends, indentation, the look of its lists.
//! What is added looks like what is there.

use crate::diagnostics::Span;
use crate::document::DotDocument;
use crate::id::DotId;
use crate::lexer::{DotLexer, TokenKind};
use crate::syntax::{AttrList, Body, Statement, StatementKind};

use super::statement_index::{StatementIndex, StatementShape};

pub(crate) struct FileStyle<'a> {
    source: &'a [u8],
    /// Where each line starts: a file of one endless line would else be searched back and forth.
    lines: Vec<usize>,
    pub eol: &'static str,
    pub arrow: &'static str,
    unit: String,
    nodes: ListStyle,
}

/// Layout of an attribute list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListStyle {
    /// One attribute a line.
    pub tall: bool,
    /// Separator after each attribute but the last: `,`, `;` or nothing.
    pub separator: &'static str,
}

impl<'a> FileStyle<'a> {
    pub(crate) fn of(document: &'a DotDocument, sites: &StatementIndex<'a>) -> Self {
        let source = document.bytes();
        let mut style = Self {
            source,
            lines: source
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'\n')
                .map(|(at, _)| at + 1)
                .collect(),
            eol: line_end_of(source),
            arrow: if document.graph().directed { "->" } else { "--" },
            unit: "    ".to_owned(),
            nodes: ListStyle { tall: false, separator: "," },
        };
        if let Some(unit) = sites.bodies.first().and_then(|root| {
            root.body.statements.iter().find_map(|first| style.indent(first.span.start))
        }) && !unit.is_empty()
        {
            style.unit = unit;
        }
        // The graph itself may be indented; a level is what its statements add.
        if let Some(root) = sites.bodies.first() {
            let outer = style.line_indent(root.body.span.start);
            style.unit = style
                .unit
                .strip_prefix(outer.as_str())
                .filter(|unit| !unit.is_empty())
                .unwrap_or("    ")
                .to_owned();
        }
        let last =
            sites.all.iter().rev().filter(|site| site.shape == StatementShape::Node).find_map(
                |site| match &site.statement.kind {
                    StatementKind::Chain { lists, .. } => {
                        lists.iter().rev().find(|list| list.assigns.len() > 1)
                    }
                    _ => None,
                },
            );
        if let Some(list) = last {
            style.nodes = style.list_style(list);
        }
        style
    }

    pub(crate) fn list_style(&self, list: &AttrList) -> ListStyle {
        let between = |from: usize, to: usize| Span::new(from, to).of(self.source);
        let tall = list
            .assigns
            .first()
            .is_some_and(|first| between(list.span.start, first.span.start).contains(&b'\n'));
        let mut separator = if tall { "" } else { "," };
        if let [first, second, ..] = list.assigns.as_slice() {
            separator = DotLexer::at(between(first.span.end, second.span.start), 0)
                .find_map(|token| match token.kind {
                    TokenKind::Mark(b',') => Some(","),
                    TokenKind::Mark(b';') => Some(";"),
                    _ => None,
                })
                .unwrap_or_default();
        }
        ListStyle { tall, separator }
    }

    /// The blanks before an offset, if nothing else is before it on its line.
    pub(crate) fn indent(&self, offset: usize) -> Option<String> {
        let line = &self.source[self.line_start(offset)..offset];
        line.iter()
            .all(|byte| matches!(byte, b' ' | b'\t'))
            .then(|| String::from_utf8_lossy(line).into_owned())
    }

    /// The blanks at the start of the line that holds an offset.
    pub(crate) fn line_indent(&self, offset: usize) -> String {
        let start = self.line_start(offset);
        let blanks = self.source[start..offset]
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        String::from_utf8_lossy(&self.source[start..start + blanks]).into_owned()
    }

    pub(crate) fn line_start(&self, offset: usize) -> usize {
        let before = self.lines.partition_point(|&start| start <= offset);
        before.checked_sub(1).map_or(0, |line| self.lines[line])
    }

    /// Start of the next line, if only blanks, a comment and tokens accepted by `skip` come before
    /// it.
    pub(crate) fn next_line(
        &self,
        offset: usize,
        skip: impl Fn(TokenKind) -> bool,
    ) -> Option<usize> {
        for token in DotLexer::at(self.source, offset) {
            let text = token.span.of(self.source);
            match token.kind {
                TokenKind::Blank => {
                    if let Some(at) = text.iter().position(|&byte| byte == b'\n') {
                        return Some(token.span.start + at + 1);
                    }
                }
                // The comment of a line may go with it; one that runs on is about something else.
                TokenKind::Comment if !text.contains(&b'\n') && token.closed => {}
                TokenKind::End => return Some(token.span.start),
                kind if skip(kind) => {}
                _ => return None,
            }
        }
        None
    }

    /// Whether a separator follows an attribute that ends here.
    pub(crate) fn separated(&self, offset: usize) -> bool {
        let next = DotLexer::at(self.source, offset).find(|token| !token.is_trivia());
        next.is_some_and(|token| matches!(token.kind, TokenKind::Mark(b',' | b';')))
    }

    /// The comment lines directly above a statement, if it starts its line; not further up than `floor`.
    pub(crate) fn commented_from(&self, start: usize, floor: usize) -> usize {
        let mut from = start;
        let mut line = self.line_start(start);
        while line > floor {
            let above = self.line_start(line - 1);
            let text = self.source[above..line].trim_ascii();
            let comment = text.starts_with(b"//")
                || text.starts_with(b"#")
                || (text.starts_with(b"/*") && text.ends_with(b"*/"));
            if above < floor || !comment {
                break;
            }
            line = above;
            from = above
                + self.source[above..]
                    .iter()
                    .take_while(|byte| matches!(byte, b' ' | b'\t'))
                    .count();
        }
        from
    }

    /// What a statement takes with it when it goes: its lines and the comment
    /// behind it, if it has them to itself.
    pub(crate) fn whole(&self, span: Span) -> Span {
        if self.indent(span.start).is_some()
            && let Some(end) = self.next_line(span.end, |_| false)
        {
            return Span::new(self.line_start(span.start), end);
        }
        let blanks =
            self.source[span.end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        Span::new(span.start, span.end + blanks)
    }

    /// The indentation of the statements of a body.
    pub(crate) fn inner_indent(&self, body: &Body) -> String {
        let lined =
            body.statements.iter().rev().find_map(|statement| self.indent(statement.span.start));
        lined.unwrap_or_else(|| format!("{}{}", self.line_indent(body.span.start), self.unit))
    }

    /// One level further in.
    pub(crate) fn deeper(&self, indent: &str) -> String {
        format!("{indent}{}", self.unit)
    }

    /// Whether statements end in a semicolon here.
    pub(crate) fn terminator(&self, body: &Body) -> &'static str {
        body.statements.last().map_or(";", |last| self.terminator_of(last))
    }

    pub(crate) fn terminator_of(&self, statement: &Statement) -> &'static str {
        if statement.span == statement.bare { "" } else { ";" }
    }

    /// Whether the statements of a body are set apart by an empty line.
    pub(crate) fn has_blank_lines(&self, body: &Body) -> bool {
        let [.., before, last] = body.statements.as_slice() else { return false };
        let gap = Span::new(before.span.end, last.span.start).of(self.source);
        let lines: Vec<&[u8]> = gap.split(|&byte| byte == b'\n').collect();
        lines.len() > 2
            && lines[1..lines.len() - 1].iter().any(|line| line.iter().all(u8::is_ascii_whitespace))
    }

    /// `id [a=b, c=d]` in the manner of the nodes of this file.
    pub(crate) fn node(&self, id: &DotId, attributes: &[(String, DotId)], indent: &str) -> String {
        if attributes.is_empty() {
            return id.to_string();
        }
        let ListStyle { tall, separator } = &self.nodes;
        let written = assigns(attributes);
        if *tall {
            let line = format!("{}{indent}{}", self.eol, self.unit);
            let inside: Vec<String> =
                written.iter().map(|attribute| format!("{line}{attribute}")).collect();
            return format!("{id} [{}{}{indent}]", inside.join(separator), self.eol);
        }
        format!("{id} [{}]", written.join(&format!("{separator} ")))
    }

    pub(crate) fn has_multiline_lists(&self) -> bool {
        self.nodes.tall
    }
}

/// How the lines of a file end: as the first one does.
pub(crate) fn line_end_of(source: &[u8]) -> &'static str {
    let crlf = source
        .iter()
        .position(|&byte| byte == b'\n')
        .is_some_and(|at| at > 0 && source[at - 1] == b'\r');
    if crlf { "\r\n" } else { "\n" }
}

/// `[a=b, c=d]` on one line, or nothing.
pub(crate) fn flat_list(attributes: &[(String, DotId)]) -> String {
    if attributes.is_empty() {
        return String::new();
    }
    format!(" [{}]", assigns(attributes).join(", "))
}

/// `a=b` for each attribute.
pub(crate) fn assigns(attributes: &[(String, DotId)]) -> Vec<String> {
    attributes.iter().map(|(name, value)| format!("{}={value}", DotId::new(name))).collect()
}
