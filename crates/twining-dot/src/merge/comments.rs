//! Comments, merged as everything else is: what one side alone added comes along,
//! what one side alone took away goes. They are told by what they say and stand
//! with the statement they stood with.

use std::collections::{HashMap, HashSet};

use crate::diagnostics::Span;
pub(super) use crate::document::Charset;
use crate::document::{DotDocument, syntax_errors};
use crate::edit::{FileStyle, Splices, StatementIndex, StatementShape};
use crate::id::DotId;
use crate::lexer::{DotLexer, TokenKind};
use crate::syntax::{Endpoint, Statement, StatementKind, Target};

/// The merged text with the comments of both sides in it. A comment that cannot be
/// written where it belongs is left out rather than making the file wrong.
pub(super) fn merge_comments(
    base: &DotDocument,
    ours: &DotDocument,
    theirs: &DotDocument,
    merged: Vec<u8>,
) -> Vec<u8> {
    let wanted =
        wanted([base, ours, theirs].map(|side| CommentCounts::of(side.bytes(), side.charset)));
    let present = CommentCounts::of(&merged, Charset::of(&merged));
    let differ: Vec<&(String, usize)> =
        wanted.iter().filter(|(text, wanted)| present.count(text) != *wanted).collect();
    // Most merges touch no comment, and need not look where they stand.
    if differ.is_empty() {
        return merged;
    }
    let document = DotDocument::parse(merged.as_slice());
    let [ours, theirs, present] = [ours, theirs, &document].map(CommentIndex::of);
    let mut splices = Splices::default();
    for (text, wanted) in differ {
        let has = present.count(text);
        let from = if theirs.count(text) >= *wanted { &theirs } else { &ours };
        for comment in from.with_text(text).skip(has).take(wanted.saturating_sub(has)) {
            present.insert(text, &comment.place, &mut splices);
        }
        // Of several that say the same none can be told to be the one that went.
        if (has, *wanted) == (1, 0)
            && let Some(comment) = present.with_text(text).next()
            && theirs.holds(&comment.place)
        {
            splices.remove(present.alone(comment.span));
        }
    }
    match splices.apply(&merged, Span::new(0, merged.len()), document.charset) {
        Ok(text) if syntax_errors(&text).is_empty() => text,
        _ => merged,
    }
}

/// How often each comment is to stand, in the order in which they first appear in theirs, ours and the base.
fn wanted([base, ours, theirs]: [CommentCounts; 3]) -> Vec<(String, usize)> {
    let mut seen: HashSet<&str> = HashSet::new();
    let all = theirs.order.iter().chain(&ours.order).chain(&base.order);
    let texts = all.filter(|text| seen.insert(text.as_str()));
    let settled = texts.map(|text| {
        let wanted = match (base.count(text), ours.count(text), theirs.count(text)) {
            (before, ours, theirs) if ours == before => theirs,
            (before, ours, theirs) if theirs == before => ours,
            (_, ours, theirs) => ours.max(theirs),
        };
        (text.clone(), wanted)
    });
    settled.collect()
}

/// What the comments of a text say, and how often.
struct CommentCounts {
    order: Vec<String>,
    counts: HashMap<String, usize>,
}

impl CommentCounts {
    fn of(source: &[u8], charset: Charset) -> Self {
        let (mut order, mut counts) = (Vec::new(), HashMap::new());
        for token in DotLexer::new(source).filter(|token| token.kind == TokenKind::Comment) {
            let comment_text = comment_text(source, charset, token.span);
            let count: &mut usize = counts.entry(comment_text.clone()).or_default();
            if *count == 0 {
                order.push(comment_text);
            }
            *count += 1;
        }
        Self { order, counts }
    }

    fn count(&self, text: &str) -> usize {
        self.counts.get(text).copied().unwrap_or_default()
    }
}

/// What a comment says, whatever ends its lines.
fn comment_text(source: &[u8], charset: Charset, span: Span) -> String {
    charset.decode(span.of(source)).trim_end().replace("\r\n", "\n")
}

/// A comment and where it stands.
struct Comment {
    span: Span,
    place: CommentAnchor,
}

/// Where a comment stands, told in a way that another version of the file understands.
#[derive(Clone, Debug)]
enum CommentAnchor {
    /// Before the graph begins.
    Head,
    /// Over a statement, or inside it.
    Above(StatementKey),
    /// Behind a statement, on its line.
    Behind(StatementKey),
    /// At the end of the graph.
    Last,
    /// Behind the graph.
    Tail,
}

/// What a statement is told by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum StatementKey {
    Node(DotId),
    Edge(DotId, DotId),
    Group(DotId),
    Defaults(Target),
    Assign(DotId),
    Other(String),
}

/// A document, its comments and its statements.
struct CommentIndex<'a> {
    document: &'a DotDocument,
    style: FileStyle<'a>,
    comments: Vec<Comment>,
    by_text: HashMap<String, Vec<usize>>,
    statements: HashMap<StatementKey, &'a Statement>,
}

impl<'a> CommentIndex<'a> {
    fn of(document: &'a DotDocument) -> Self {
        let sites = StatementIndex::of(document);
        let style = FileStyle::of(document, &sites);
        let mut statements: HashMap<StatementKey, &'a Statement> = HashMap::new();
        for site in &sites.all {
            statements.entry(key(document, site.statement, site.shape)).or_insert(site.statement);
        }
        let mut made =
            Self { document, style, comments: Vec::new(), by_text: HashMap::new(), statements };
        let order = StatementOrder::of(document, &sites);
        for token in document.tokens().filter(|token| token.kind == TokenKind::Comment) {
            let place = made.place(token.span, &order);
            let text = comment_text(document.bytes(), document.charset, token.span);
            made.by_text.entry(text).or_default().push(made.comments.len());
            made.comments.push(Comment { span: token.span, place });
        }
        made
    }

    fn place(&self, span: Span, order: &StatementOrder) -> CommentAnchor {
        let Some(graph) = self.document.syntax() else { return CommentAnchor::Head };
        if span.start < graph.body.span.start {
            return CommentAnchor::Head;
        }
        if span.start >= graph.span.end {
            return CommentAnchor::Tail;
        }
        if let Some((statement, key)) = order.began_before(span.start)
            && span.end <= statement.end
            && !matches!(key, StatementKey::Group(_))
        {
            return CommentAnchor::Above(key.clone());
        }
        if let Some((statement, key)) = order.ended_before(span.start) {
            let gap = self.document.bytes().get(statement.end..span.start).unwrap_or(b"\n");
            if gap.iter().all(|byte| matches!(byte, b' ' | b'\t')) {
                return CommentAnchor::Behind(key.clone());
            }
        }
        order
            .begins_behind(span.start)
            .map_or(CommentAnchor::Last, |(_, key)| CommentAnchor::Above(key.clone()))
    }

    fn count(&self, text: &str) -> usize {
        self.by_text.get(text).map_or(0, Vec::len)
    }

    fn with_text(&self, text: &str) -> impl Iterator<Item = &Comment> {
        self.by_text.get(text).into_iter().flatten().map(|&index| &self.comments[index])
    }

    /// Whether what a comment stands with is here too: then a comment that is not here was taken away.
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
        let found = |key: &StatementKey| self.statements.get(key).copied();
        match place {
            CommentAnchor::Head => splices.insert(graph.span.start, format!("{text}{eol}")),
            CommentAnchor::Tail => {
                let before = if self.document.bytes().ends_with(b"\n") { "" } else { eol };
                splices.insert(self.document.bytes().len(), format!("{before}{text}{eol}"));
            }
            CommentAnchor::Behind(key)
                if found(key).is_some_and(|statement| self.ends_line(statement)) =>
            {
                let end = found(key).map_or(graph.span.end, |statement| statement.span.end);
                // A `#` is a comment for everybody only where it begins a line.
                if text.starts_with('#') {
                    self.over(end, &text, found(key), splices);
                } else {
                    splices.insert(end, format!(" {text}"));
                }
            }
            CommentAnchor::Above(key) | CommentAnchor::Behind(key) => {
                let statement = found(key);
                let at =
                    statement.map_or(graph.body.span.end - 1, |statement| statement.span.start);
                self.over(at, &text, statement, splices);
            }
            CommentAnchor::Last => self.over(graph.body.span.end - 1, &text, None, splices),
        }
    }

    /// Writes a comment on a line of its own, over a statement or over the closing brace.
    fn over(&self, at: usize, text: &str, statement: Option<&Statement>, splices: &mut Splices) {
        let at = statement.map_or(at, |statement| statement.span.start);
        let eol = self.style.eol;
        let Some(graph) = self.document.syntax() else { return };
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
        let before = source[..span.start]
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
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

/// The statements of a document by where they begin and where they end.
struct StatementOrder {
    begin: Vec<(Span, StatementKey)>,
    end: Vec<(Span, StatementKey)>,
}

impl StatementOrder {
    fn of(document: &DotDocument, sites: &StatementIndex<'_>) -> Self {
        let mut begin: Vec<(Span, StatementKey)> = sites
            .all
            .iter()
            .map(|site| (site.statement.span, key(document, site.statement, site.shape)))
            .collect();
        let mut end = begin.clone();
        begin.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
        end.sort_by_key(|(span, _)| (span.end, std::cmp::Reverse(span.start)));
        Self { begin, end }
    }

    fn began_before(&self, offset: usize) -> Option<&(Span, StatementKey)> {
        self.begin[..self.begin.partition_point(|(span, _)| span.start < offset)].last()
    }

    fn begins_behind(&self, offset: usize) -> Option<&(Span, StatementKey)> {
        self.begin.get(self.begin.partition_point(|(span, _)| span.start < offset))
    }

    fn ended_before(&self, offset: usize) -> Option<&(Span, StatementKey)> {
        self.end[..self.end.partition_point(|(span, _)| span.end <= offset)].last()
    }
}

fn key(document: &DotDocument, statement: &Statement, shape: StatementShape) -> StatementKey {
    let text = || {
        StatementKey::Other(
            document.charset.decode(statement.bare.of(document.bytes())).into_owned(),
        )
    };
    match (&statement.kind, shape) {
        (StatementKind::Assign(assign), _) => StatementKey::Assign(assign.name.id.clone()),
        (StatementKind::Defaults { target, .. }, _) => StatementKey::Defaults(*target),
        (StatementKind::Chain { endpoints, .. }, _) => match endpoints.as_slice() {
            [Endpoint::Nodes(nodes)] if shape == StatementShape::Node => {
                nodes.first().map_or_else(text, |node| StatementKey::Node(node.id.id.clone()))
            }
            [Endpoint::Nodes(tail), Endpoint::Nodes(head)] if shape == StatementShape::Edge => {
                match (tail.first(), head.first()) {
                    (Some(tail), Some(head)) => {
                        StatementKey::Edge(tail.id.id.clone(), head.id.id.clone())
                    }
                    _ => text(),
                }
            }
            [Endpoint::Subgraph(subgraph)] => subgraph
                .name
                .as_ref()
                .map_or_else(text, |name| StatementKey::Group(name.id.clone())),
            _ => text(),
        },
    }
}
