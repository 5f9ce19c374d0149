//! A plan into bytes: every touched statement rewritten, everything else as it was.

use std::collections::HashMap;

use super::attribute_lists::{AttrChange, change_lists, changed_lists};
use super::document_edits::EditError;
use super::file_style::{FileStyle, flat_list};
use super::plan::{EditPlan, NewStatement, StatementChanges};
use super::statement_index::{StatementShape, mentioned};
use crate::charset::Charset;
use crate::diagnostics::Span;
use crate::document::DotDocument;
use crate::graph::Edge;
use crate::id::DotId;
use crate::syntax::{Body, Endpoint, NodeRef, Port, Statement, StatementKind};

/// The document with the plan carried out.
pub(crate) fn carry_out(plan: &EditPlan<'_>) -> Result<Vec<u8>, EditError> {
    let style = FileStyle::of(plan.document, &plan.sites);
    let mut writer = EditWriter {
        plan,
        style,
        splices: Splices::default(),
        remaining: HashMap::new(),
        edges_of: edges_by_statement(plan),
    };
    writer.count_mentions();
    for (&site, changes) in &plan.changes {
        writer.statement(site, changes)?;
    }
    for (&body, statements) in &plan.first {
        writer.at_start(plan.sites.bodies[body].body, statements);
    }
    for (&body, statements) in &plan.last {
        writer.at_end(plan.sites.bodies[body].body, statements);
    }
    let source = plan.document.bytes();
    let charset = plan.document.charset;
    writer.splices.apply(source, Span::new(0, source.len()), charset).map_err(EditError::Unwritable)
}

fn edges_by_statement<'a>(plan: &EditPlan<'a>) -> HashMap<usize, Vec<(usize, &'a Edge)>> {
    let mut found: HashMap<usize, Vec<(usize, &Edge)>> = HashMap::new();
    let document: &'a DotDocument = plan.document;
    for edge in &document.graph().edges {
        for origin in &edge.origins {
            found.entry(origin.statement).or_default().push((origin.ordinal, edge));
        }
    }
    found
}

struct EditWriter<'a, 'b> {
    plan: &'b EditPlan<'a>,
    style: FileStyle<'a>,
    splices: Splices,
    /// Mentions that stay, by body and node; and in all bodies, under none.
    remaining: HashMap<(Option<usize>, &'a DotId), usize>,
    edges_of: HashMap<usize, Vec<(usize, &'a Edge)>>,
}

impl<'a> EditWriter<'a, '_> {
    /// A node whose last mention goes would go with it. What stays is counted first.
    fn count_mentions(&mut self) {
        for ((body, id), count) in self.plan.mention_counts() {
            *self.remaining.entry((Some(body), id)).or_default() += count;
            *self.remaining.entry((None, id)).or_default() += count;
        }
        for (&site, changes) in &self.plan.changes {
            if self.rewritten(site, changes) {
                let (statement, body) = (self.plan.site(site).statement, self.plan.site(site).body);
                for node in mentioned(statement) {
                    for place in [Some(body), None] {
                        if let Some(count) = self.remaining.get_mut(&(place, &node.id.id)) {
                            *count -= 1;
                        }
                    }
                }
                for edge in self.remaining_edges(site, changes) {
                    self.mention(body, &edge.1.from);
                    self.mention(body, &edge.1.to);
                }
            }
        }
    }

    fn mention(&mut self, body: usize, id: &'a DotId) {
        for place in [Some(body), None] {
            *self.remaining.entry((place, id)).or_default() += 1;
        }
    }

    /// Whether an edge statement loses an edge or a node, or must be taken apart.
    fn rewritten(&self, site: usize, changes: &StatementChanges) -> bool {
        let site = self.plan.site(site);
        let touched = !changes.removed_edges.is_empty()
            || !changes.edges.is_empty()
            || mentioned(site.statement).any(|node| self.plan.removed_nodes.contains(&node.id.id));
        matches!(site.shape, StatementShape::Edge | StatementShape::Edges) && touched
    }

    fn remaining_edges(&self, site: usize, changes: &StatementChanges) -> Vec<(usize, &'a Edge)> {
        let made = self
            .edges_of
            .get(&self.plan.site(site).statement.span.start)
            .map_or(&[][..], Vec::as_slice);
        let gone = |edge: &Edge| {
            self.plan.removed_nodes.contains(&edge.from)
                || self.plan.removed_nodes.contains(&edge.to)
        };
        let mut kept: Vec<_> = made
            .iter()
            .copied()
            .filter(|(ordinal, edge)| !changes.removed_edges.contains(ordinal) && !gone(edge))
            .collect();
        kept.sort_by_key(|(ordinal, _)| *ordinal);
        kept
    }

    fn statement(&mut self, site: usize, changes: &StatementChanges) -> Result<(), EditError> {
        let statement = self.plan.site(site).statement;
        let body = self.plan.sites.bodies[self.plan.site(site).body].body;
        if self.rewritten(site, changes) {
            self.edges(site, changes)?;
        } else if changes.remove {
            self.splices.remove(self.style.whole(statement.span));
        } else {
            match &statement.kind {
                StatementKind::Assign(assign) => {
                    if let Some(value) = changes.attributes.set.get(assign.name.id.as_str()) {
                        self.splices.replace(assign.value.span, value.to_string());
                    }
                }
                StatementKind::Defaults { lists, .. } => {
                    let goes = |name: &str| changes.attributes.unset.contains(name);
                    let empty = lists
                        .iter()
                        .flat_map(|list| &list.assigns)
                        .all(|assign| goes(assign.name.id.as_str()));
                    if empty && changes.attributes.set.is_empty() {
                        self.splices.remove(self.style.whole(statement.span));
                    } else {
                        self.in_place(site, &changes.attributes);
                    }
                }
                StatementKind::Chain { endpoints, .. } => match endpoints.as_slice() {
                    [Endpoint::Nodes(nodes)] if nodes.len() > 1 => {
                        self.node_list(site, nodes, changes)?;
                    }
                    _ => self.in_place(site, &changes.attributes),
                },
            }
        }
        if !changes.after.is_empty() {
            self.behind(statement, body, &changes.after);
        }
        Ok(())
    }

    fn in_place(&mut self, site: usize, change: &AttrChange) {
        if !change.is_empty() {
            let lists = self.plan.lists(site);
            let behind = self.plan.site(site).statement.bare.end;
            change_lists(
                lists,
                behind,
                change,
                &self.style,
                self.plan.document.bytes(),
                &mut self.splices,
            );
        }
    }

    /// `a, b [..]`: without those that go; taken apart if one of them is to differ.
    fn node_list(
        &mut self,
        site: usize,
        nodes: &[NodeRef],
        changes: &StatementChanges,
    ) -> Result<(), EditError> {
        let statement = self.plan.site(site).statement;
        let kept: Vec<&NodeRef> =
            nodes.iter().filter(|node| !self.plan.removed_nodes.contains(&node.id.id)).collect();
        if kept.is_empty() {
            self.splices.remove(self.style.whole(statement.span));
            return Ok(());
        }
        if changes.nodes.is_empty() {
            if let (true, Some(first), Some(last)) =
                (kept.len() < nodes.len(), nodes.first(), nodes.last())
            {
                let texts: Vec<String> = kept.iter().map(|node| self.source(node.span)).collect();
                self.splices.replace(first.span.to(last.span), texts.join(", "));
            }
            return Ok(());
        }
        let mut written = Vec::new();
        for node in kept {
            let change = changes.nodes.get(&node.id.id).cloned().unwrap_or_default();
            written.push(format!("{}{}", self.source(node.span), self.lists(site, &change)?));
        }
        let text = written.join(&self.joint(statement));
        self.splices.replace(statement.bare, text);
        Ok(())
    }

    /// Rewrites an edge statement, edge by edge, around its subgraphs.
    fn edges(&mut self, site: usize, changes: &StatementChanges) -> Result<(), EditError> {
        let statement = self.plan.site(site).statement;
        let StatementKind::Chain { endpoints, .. } = &statement.kind else { return Ok(()) };
        let kept = self.remaining_edges(site, changes);
        let joint = self.joint(statement);
        let mut pieces: Vec<String> = Vec::new();
        let mut from = statement.bare.start;
        let mut around_subgraph = false;
        let spread = endpoints.iter().any(|endpoint| matches!(endpoint, Endpoint::Subgraph(_)));
        for endpoint in endpoints {
            match endpoint {
                Endpoint::Nodes(nodes) => {
                    for node in nodes {
                        if self.must_stay(site, &node.id.id, &kept, spread) {
                            pieces.push(node.id.id.to_string());
                        }
                    }
                }
                Endpoint::Subgraph(subgraph) => {
                    let before = if pieces.is_empty() {
                        String::new()
                    } else {
                        format!("{}{joint}", pieces.join(&joint))
                    };
                    let before = if around_subgraph { format!("{joint}{before}") } else { before };
                    self.splices.replace(Span::new(from, subgraph.span.start), before);
                    from = subgraph.span.end;
                    pieces.clear();
                    around_subgraph = true;
                }
            }
        }
        pieces.extend(self.edge_texts(site, endpoints, changes, &kept)?);
        if pieces.is_empty() && !around_subgraph {
            self.splices.remove(self.style.whole(statement.span));
            return Ok(());
        }
        let text = pieces.join(&joint);
        let text =
            if around_subgraph && !text.is_empty() { format!("{joint}{text}") } else { text };
        self.splices.replace(Span::new(from, statement.bare.end), text);
        Ok(())
    }

    fn edge_texts(
        &self,
        site: usize,
        endpoints: &[Endpoint],
        changes: &StatementChanges,
        kept: &[(usize, &Edge)],
    ) -> Result<Vec<String>, EditError> {
        let arrow = self.style.arrow;
        let single: Option<Vec<&NodeRef>> = endpoints
            .iter()
            .map(|endpoint| match endpoint {
                Endpoint::Nodes(nodes) if nodes.len() == 1 => nodes.first(),
                _ => None,
            })
            .collect();
        let unchanged = AttrChange::default();
        let mut texts = Vec::new();
        let mut last: Option<usize> = None;
        for (ordinal, edge) in kept {
            let change = changes.edges.get(ordinal);
            // A chain stays one as far as it is not broken.
            let joins = last.is_some_and(|last| last + 1 == *ordinal) && change.is_none();
            let (chain, tail, head) = match &single {
                Some(nodes) => {
                    (true, self.source(nodes[*ordinal].span), self.source(nodes[*ordinal + 1].span))
                }
                None => (
                    false,
                    end(&edge.from, edge.from_port.as_ref()),
                    end(&edge.to, edge.to_port.as_ref()),
                ),
            };
            match texts.last_mut() {
                Some((text, true)) if joins && chain => *text = format!("{text} {arrow} {head}"),
                _ => texts.push((format!("{tail} {arrow} {head}"), change.is_none())),
            }
            if let (Some(change), Some((text, _))) = (change, texts.last_mut()) {
                text.push_str(&self.lists(site, change)?);
            }
            last = change.is_none().then_some(*ordinal);
        }
        let lists = self.lists(site, &unchanged)?;
        Ok(texts
            .into_iter()
            .map(|(text, plain)| if plain { format!("{text}{lists}") } else { text })
            .collect())
    }

    /// Whether a node that loses its place in an edge statement must be left standing there.
    fn must_stay(
        &mut self,
        site: usize,
        id: &'a DotId,
        kept: &[(usize, &Edge)],
        spread: bool,
    ) -> bool {
        if self.plan.removed_nodes.contains(id) {
            return false;
        }
        let in_edges = kept.iter().any(|(_, edge)| edge.from == *id || edge.to == *id);
        let creates = self.plan.sites.mentioning(id).first() == Some(&site)
            && self.plan.sites.has_node_defaults;
        let body = self.plan.site(site).body;
        let place = if self.plan.sites.bodies[body].group.is_some() { Some(body) } else { None };
        let left = self.remaining.get(&(place, id)).copied().unwrap_or_default();
        if in_edges {
            return spread && creates;
        }
        if creates || left == 0 {
            self.mention(body, id);
            return true;
        }
        false
    }

    fn lists(&self, site: usize, change: &AttrChange) -> Result<String, EditError> {
        let document = self.plan.document;
        changed_lists(
            self.plan.lists(site),
            change,
            &self.style,
            document.bytes(),
            document.charset,
        )
        .map_err(EditError::Unwritable)
    }

    fn source(&self, span: Span) -> String {
        self.plan.document.charset.decode(span.of(self.plan.document.bytes())).into_owned()
    }

    /// Separator between the statements that one is split into.
    fn joint(&self, statement: &Statement) -> String {
        format!(
            "{}{}{}",
            self.style.terminator_of(statement),
            self.style.eol,
            self.style.line_indent(statement.span.start)
        )
    }

    fn text(&self, statement: &NewStatement, indent: &str) -> String {
        match statement {
            NewStatement::Node { id, attributes } => self.style.node(id, attributes, indent),
            NewStatement::Edge { from, to, attributes } => {
                let (tail, head) = (end(&from.0, from.1.as_ref()), end(&to.0, to.1.as_ref()));
                format!("{tail} {} {head}{}", self.style.arrow, flat_list(attributes))
            }
            NewStatement::SourceCopier(text) | NewStatement::Text(text) => text.clone(),
            NewStatement::Group { name, body } => {
                let inner = self.style.deeper(indent);
                let eol = self.style.eol;
                let lines: Vec<String> = body
                    .iter()
                    .map(|statement| format!("{eol}{inner}{};", self.text(statement, &inner)))
                    .collect();
                format!("subgraph {name} {{{}{eol}{indent}}}", lines.concat())
            }
        }
    }

    /// Statements on lines of their own.
    fn lines(&self, statements: &[NewStatement], body: &Body, indent: &str) -> String {
        let eol = self.style.eol;
        let has_blank_lines = self.style.has_multiline_lists() && self.style.has_blank_lines(body);
        let terminator = self.style.terminator(body);
        let line = |statement: &NewStatement| {
            let blank_line_before = has_blank_lines
                && match statement {
                    NewStatement::Node { attributes, .. } => !attributes.is_empty(),
                    NewStatement::SourceCopier(_) => true,
                    _ => false,
                };
            format!(
                "{}{indent}{}{terminator}{eol}",
                if blank_line_before { eol } else { "" },
                self.text(statement, indent)
            )
        };
        statements.iter().map(line).collect()
    }

    /// Statements in a row.
    fn row(&self, statements: &[NewStatement], terminator: &str) -> String {
        let texts: Vec<String> = statements
            .iter()
            .map(|statement| format!("{}{terminator}", self.text(statement, "")))
            .collect();
        texts.join(" ")
    }

    fn behind(&mut self, statement: &Statement, body: &Body, statements: &[NewStatement]) {
        if let Some(indent) = self.style.indent(statement.span.start)
            && let Some(line) = self.style.next_line(statement.span.end, |_| false)
        {
            let unfinished = line > 0 && self.plan.document.bytes()[line - 1] != b'\n';
            let text = self.lines(statements, body, &indent);
            self.splices
                .insert(line, if unfinished { format!("{}{text}", self.style.eol) } else { text });
            return;
        }
        let row = self.row(statements, self.style.terminator_of(statement));
        self.splices.insert(statement.span.end, format!(" {row}"));
    }

    fn at_start(&mut self, body: &Body, statements: &[NewStatement]) {
        let Some(first) = body.statements.first() else { return self.at_end(body, statements) };
        if let Some(indent) = self.style.indent(first.span.start) {
            let lines = self.lines(statements, body, &indent);
            return self.splices.insert(self.style.line_start(first.span.start), lines);
        }
        let row = self.row(statements, self.style.terminator(body));
        self.splices.insert(first.span.start, format!("{row} "));
    }

    fn at_end(&mut self, body: &Body, statements: &[NewStatement]) {
        let brace = body.span.end - 1;
        if self.style.indent(brace).is_some()
            && self.plan.document.bytes()[body.span.start..brace].contains(&b'\n')
        {
            let text = self.lines(statements, body, &self.style.inner_indent(body));
            self.splices.insert(self.style.line_start(brace), text);
            return;
        }
        let before = self.plan.document.bytes()[brace - 1];
        let gap = if before.is_ascii_whitespace() { "" } else { " " };
        let row = self.row(statements, self.style.terminator(body));
        self.splices.insert(brace, format!("{gap}{row} "));
    }
}

fn end(id: &DotId, port: Option<&Port>) -> String {
    port.map_or_else(|| id.to_string(), |port| format!("{id}{port}"))
}

/// Pieces to replace, in any order. Where two overlap, the earlier rules and the
/// rest of the later one still counts; an insertion is never lost.
#[derive(Debug, Default)]
pub(crate) struct Splices(Vec<(Span, String)>);

impl Splices {
    pub(crate) fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.0.push((span, text.into()));
    }

    pub(crate) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(Span::new(at, at), text);
    }

    pub(crate) fn remove(&mut self, span: Span) {
        self.replace(span, String::new());
    }

    /// The source between two offsets with every piece in it replaced; a piece that starts
    /// before them counts from the first.
    pub(crate) fn apply(
        mut self,
        source: &[u8],
        within: Span,
        charset: Charset,
    ) -> Result<Vec<u8>, char> {
        for (span, _) in &mut self.0 {
            span.start = span.start.max(within.start);
        }
        self.0.sort_by_key(|(span, _)| *span);
        let mut out = Vec::with_capacity(within.end - within.start);
        let mut at = within.start;
        for (span, text) in self.0 {
            if span.start > at {
                out.extend_from_slice(&source[at..span.start]);
            }
            let text = charset.encode(&text)?;
            // Separate tokens must not become one id: `a"b"c` without "b" is not `ac`.
            if joins_tokens(out.last().copied()) && joins_tokens(text.first().copied()) {
                out.push(b' ');
            }
            let changed = !text.is_empty() || span.end > span.start;
            out.extend(text);
            if changed
                && joins_tokens(out.last().copied())
                && joins_tokens(source.get(span.end.max(at)).copied())
            {
                out.push(b' ');
            }
            at = at.max(span.end);
        }
        out.extend_from_slice(&source[at.min(within.end)..within.end]);
        Ok(out)
    }
}

fn joins_tokens(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| {
        crate::lexer::is_letter(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
    })
}
