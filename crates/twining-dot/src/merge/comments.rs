//! Merges comments like everything else: additions and removals made by only one side are applied.
//! Comments are identified by their text and stay with their statement.

use std::collections::HashMap;

use crate::diagnostics::Span;
pub(super) use crate::document::Charset;
use crate::document::{DotDocument, syntax_errors};
use crate::edit::{FileStyle, Splices, StatementIndex, StatementShape};
use crate::lexer::{DotLexer, TokenKind};
use crate::syntax::{Endpoint, Statement, StatementKind};

/// The merged text with the comments of both sides in it. A comment that cannot be
/// written where it belongs is left out rather than making the file wrong.
pub(super) fn merge_comments(
    base: &DotDocument,
    ours: &DotDocument,
    theirs: &DotDocument,
    merged: Vec<u8>,
) -> Vec<u8> {
    let [before, in_ours, in_theirs] =
        [base, ours, theirs].map(|side| counts(side.bytes(), side.charset));
    let present = counts(&merged, Charset::of(&merged));
    let is_wanted = |text: &str| {
        let [before, ours, theirs] =
            [&before, &in_ours, &in_theirs].map(|side| side.contains_key(text));
        if before { ours && theirs } else { ours || theirs }
    };
    // Most merges touch no comment and need no comment locations.
    if in_ours
        .keys()
        .chain(in_theirs.keys())
        .chain(present.keys())
        .all(|text| is_wanted(text) == present.contains_key(text))
    {
        return merged;
    }
    let document = DotDocument::parse(merged.as_slice());
    let [ours, theirs, result] = [ours, theirs, &document].map(CommentIndex::of);
    let mut splices = Splices::default();
    let only_in_ours = ours.comments.iter().filter(|(text, ..)| !in_theirs.contains_key(text));
    for (text, _, place) in theirs.comments.iter().chain(only_in_ours) {
        if is_wanted(text) && !present.contains_key(text) {
            result.insert(text, place, &mut splices);
        }
    }
    for (text, span, place) in &result.comments {
        // Among identical comments, the removed one cannot be determined.
        if !is_wanted(text) && present[text] == 1 && theirs.holds(place) {
            splices.remove(result.alone(*span));
        }
    }
    match splices.apply(&merged, Span::new(0, merged.len()), document.charset) {
        Ok(text) if syntax_errors(&text).is_empty() => text,
        _ => merged,
    }
}

/// What the comments of a text say, and how often.
fn counts(source: &[u8], charset: Charset) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for token in DotLexer::new(source).filter(|token| token.kind == TokenKind::Comment) {
        *counts.entry(comment_text(source, charset, token.span)).or_default() += 1;
    }
    counts
}

/// What a comment says, whatever ends its lines.
fn comment_text(source: &[u8], charset: Charset, span: Span) -> String {
    charset.decode(span.of(source)).trim_end().replace("\r\n", "\n")
}

/// Comment location that can be resolved in another version of the file.
#[derive(Clone, Debug)]
enum CommentAnchor {
    /// Before the graph begins.
    Head,
    /// Over a statement, or inside it.
    Above(String),
    /// Behind a statement, on its line.
    Behind(String),
    /// At the end of the graph.
    Last,
    /// Behind the graph.
    Tail,
}

/// A document, its comments and its statements by [`key`].
struct CommentIndex<'a> {
    document: &'a DotDocument,
    style: FileStyle<'a>,
    comments: Vec<(String, Span, CommentAnchor)>,
    statements: HashMap<String, &'a Statement>,
}

impl<'a> CommentIndex<'a> {
    fn of(document: &'a DotDocument) -> Self {
        let sites = StatementIndex::of(document);
        let mut statements = HashMap::new();
        for site in &sites.all {
            statements.entry(key(document, site.statement)).or_insert(site.statement);
        }
        let ends = sites.all.iter().map(|site| (site.statement.span.end, site.statement)).collect();
        let comments = document.tokens().filter(|token| token.kind == TokenKind::Comment);
        let comments = comments.map(|token| {
            let text = comment_text(document.bytes(), document.charset, token.span);
            (text, token.span, place(document, &sites, &ends, token.span))
        });
        let comments = comments.collect();
        Self { document, style: FileStyle::of(document, &sites), comments, statements }
    }

    /// Whether the comment's anchor exists here; if so, a comment missing here was removed.
    fn holds(&self, place: &CommentAnchor) -> bool {
        match place {
            CommentAnchor::Above(key) | CommentAnchor::Behind(key) => {
                self.statements.contains_key(key)
            }
            CommentAnchor::Head | CommentAnchor::Last | CommentAnchor::Tail => true,
        }
    }

    fn insert(&self, text: &str, place: &CommentAnchor, splices: &mut Splices) {
        let eol = self.style.eol;
        let text = text.replace('\n', eol);
        let Some(graph) = self.document.syntax() else { return };
        let found = |key: &str| self.statements.get(key).copied();
        match place {
            CommentAnchor::Head => splices.insert(graph.span.start, format!("{text}{eol}")),
            CommentAnchor::Tail => {
                let before = if self.document.bytes().ends_with(b"\n") { "" } else { eol };
                splices.insert(self.document.bytes().len(), format!("{before}{text}{eol}"));
            }
            // A `#` is a comment for everybody only where it begins a line.
            CommentAnchor::Behind(key)
                if !text.starts_with('#')
                    && found(key).is_some_and(|statement| self.ends_line(statement)) =>
            {
                let end = found(key).map_or(graph.span.end, |statement| statement.span.end);
                splices.insert(end, format!(" {text}"));
            }
            CommentAnchor::Above(key) | CommentAnchor::Behind(key) => {
                self.over(found(key), &text, splices);
            }
            CommentAnchor::Last => self.over(None, &text, splices),
        }
    }

    /// Writes a comment on a line of its own, over a statement or over the closing brace.
    fn over(&self, statement: Option<&Statement>, text: &str, splices: &mut Splices) {
        let Some(graph) = self.document.syntax() else { return };
        let eol = self.style.eol;
        let at = statement.map_or(graph.body.span.end - 1, |statement| statement.span.start);
        match self.style.indent(at) {
            Some(indent) => {
                let indent =
                    if statement.is_none() { self.style.inner_indent(&graph.body) } else { indent };
                splices.insert(self.style.line_start(at), format!("{indent}{text}{eol}"));
            }
            None => splices.insert(at, format!("{eol}{text}{eol}")),
        }
    }

    /// Whether nothing, no comment either, follows a statement on its line.
    fn ends_line(&self, statement: &Statement) -> bool {
        let rest = &self.document.bytes()[statement.span.end..];
        let line = rest.iter().position(|byte| *byte == b'\n').map_or(rest, |end| &rest[..end]);
        line.iter().all(u8::is_ascii_whitespace)
    }

    /// A comment with its line, if it has that to itself, else with the blanks before it.
    fn alone(&self, span: Span) -> Span {
        let source = self.document.bytes();
        let line = self.style.line_start(span.start);
        let before = blanks_before(source, span.start);
        let end =
            source[span.end..].iter().position(|byte| *byte == b'\n').map(|end| span.end + end + 1);
        match end {
            Some(end)
                if line == span.start - before
                    && source[span.end..end].iter().all(u8::is_ascii_whitespace) =>
            {
                Span::new(line, end)
            }
            _ => Span::new(span.start - before, span.end),
        }
    }
}

fn place(
    document: &DotDocument,
    sites: &StatementIndex<'_>,
    ends: &HashMap<usize, &Statement>,
    span: Span,
) -> CommentAnchor {
    let Some(graph) = document.syntax() else { return CommentAnchor::Head };
    if span.start < graph.body.span.start {
        return CommentAnchor::Head;
    }
    if span.start >= graph.span.end {
        return CommentAnchor::Tail;
    }
    let next = sites.all.partition_point(|site| site.statement.span.start < span.start);
    if let Some(site) = next.checked_sub(1).map(|before| &sites.all[before])
        && span.end <= site.statement.span.end
        && site.shape != StatementShape::Subgraph
    {
        return CommentAnchor::Above(key(document, site.statement));
    }
    if let Some(statement) = ends.get(&(span.start - blanks_before(document.bytes(), span.start))) {
        return CommentAnchor::Behind(key(document, statement));
    }
    let next = sites.all.get(next);
    next.map_or(CommentAnchor::Last, |site| CommentAnchor::Above(key(document, site.statement)))
}

fn blanks_before(source: &[u8], at: usize) -> usize {
    source[..at].iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// What a statement is told by: its text up to what it says of its subject,
/// without quotes.
fn key(document: &DotDocument, statement: &Statement) -> String {
    let start_of = |lists: &[crate::syntax::AttrList]| lists.first().map(|list| list.span.start);
    let end = match &statement.kind {
        StatementKind::Assign(assign) => Some(assign.name.span.end),
        StatementKind::Defaults { lists, .. } => start_of(lists),
        StatementKind::Chain { endpoints, lists } => match endpoints.as_slice() {
            [Endpoint::Subgraph(subgraph)] if subgraph.name.is_some() => {
                Some(subgraph.body.span.start)
            }
            _ => start_of(lists),
        },
    };
    let span = Span::new(statement.bare.start, end.unwrap_or(statement.bare.end));
    let text = document.charset.decode(span.of(document.bytes()));
    text.replace('"', "").split_whitespace().collect::<Vec<_>>().join(" ")
}
