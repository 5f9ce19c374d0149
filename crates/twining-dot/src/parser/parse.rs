//! Tokens into statements, by recursive descent.
//!
//! An error never ends the reading: within an attribute list it goes on at the next
//! attribute, elsewhere at the next statement, so that one run reports everything.

use crate::charset::Charset;
use crate::diagnostics::{Diagnostic, Span};
use crate::lexer::{DotLexer, Keyword, Token, TokenKind};
use crate::syntax::{
    Assign, AttrList, Body, Endpoint, GraphSyntax, NodeRef, Port, SpelledId, Statement,
    StatementKind, SubgraphSyntax, Target,
};

use super::identifiers::IdInterner;

/// How deep subgraphs may nest. Each level is a few frames of the stack.
pub const DEEPEST: usize = 200;
/// Maximum errors reported per file; likewise warnings.
pub const MOST_ERRORS: usize = 10_000;

/// What was read.
pub(crate) struct ParseOutput {
    pub graph: Option<GraphSyntax>,
    pub errors: Vec<Diagnostic>,
    pub warnings: Vec<Diagnostic>,
    /// How many further graphs seem to start behind the first.
    pub more_graphs: usize,
}

pub(crate) fn parse(source: &[u8], charset: Charset) -> ParseOutput {
    let mut parser = DotParser::new(source, charset);
    let graph = parser.graph();
    let more_graphs = if graph.is_some() { parser.rest() } else { 0 };
    ParseOutput { graph, errors: parser.errors, warnings: parser.warnings, more_graphs }
}

/// The statement is abandoned; the error has been reported.
pub(super) struct SyntaxError;

pub(super) type ParseResult<T> = Result<T, SyntaxError>;

pub(super) struct DotParser<'a> {
    pub(super) source: &'a [u8],
    pub(super) charset: Charset,
    pub(super) lexer: DotLexer<'a>,
    pub(super) token: Token,
    /// Whether the current token is the first of its line.
    pub(super) fresh_line: bool,
    /// Where the token before the current one ended.
    pub(super) last_end: usize,
    /// The line of the current token.
    pub(super) line: usize,
    depth: usize,
    directed: bool,
    pub(super) known: IdInterner<'a>,
    pub(super) errors: Vec<Diagnostic>,
    pub(super) warnings: Vec<Diagnostic>,
}

impl<'a> DotParser<'a> {
    fn new(source: &'a [u8], charset: Charset) -> Self {
        let token = Token { kind: TokenKind::Blank, span: Span::default(), closed: true };
        let (known, errors, warnings) = (IdInterner::new(), Vec::new(), Vec::new());
        let lexer = DotLexer::new(source);
        let mut parser = Self {
            source,
            charset,
            lexer,
            token,
            fresh_line: true,
            last_end: 0,
            line: 1,
            depth: 0,
            directed: false,
            known,
            errors,
            warnings,
        };
        parser.bump();
        parser
    }

    fn graph(&mut self) -> Option<GraphSyntax> {
        let start = self.token.span;
        let header = |kind| {
            matches!(kind, TokenKind::Keyword(Keyword::Strict | Keyword::Graph | Keyword::Digraph))
        };
        if !header(self.token.kind) {
            let message = if self.token.kind == TokenKind::End {
                "there is no graph here; a DOT file starts with `digraph {` or `graph {`".to_owned()
            } else if self.source.starts_with(b"\xFF\xFE") || self.source.starts_with(b"\xFE\xFF") {
                "this file is UTF-16; save it as UTF-8".to_owned()
            } else {
                format!("expected `graph` or `digraph`, found {}", self.found())
            };
            self.errors.push(Diagnostic::new(start, message));
            while !header(self.token.kind) {
                if self.token.kind == TokenKind::End {
                    return None;
                }
                self.bump();
            }
        }
        let start = self.token.span;
        let strict = self.token.kind == TokenKind::Keyword(Keyword::Strict);
        if strict {
            self.bump();
        }
        self.directed = match self.token.kind {
            TokenKind::Keyword(Keyword::Digraph) => true,
            TokenKind::Keyword(Keyword::Graph) => false,
            _ => {
                let _: ParseResult<()> = self.fail(format!(
                    "expected `graph` or `digraph` after `strict`, found {}",
                    self.found()
                ));
                return None;
            }
        };
        self.bump();
        let name = if self.token.is_id() { self.id().ok() } else { None };
        if !self.at(b'{') {
            let hint = if self.token.span.start == self.last_end {
                self.quote_hint(self.last_end)
            } else {
                String::new()
            };
            let _: ParseResult<()> =
                self.fail(format!("expected `{{` to open the graph, found {}{hint}", self.found()));
            while !self.at(b'{') {
                if self.token.kind == TokenKind::End {
                    return None;
                }
                self.bump();
            }
        }
        let body = self.body("graph");
        Some(GraphSyntax { span: start.to(body.span), strict, directed: self.directed, name, body })
    }

    /// A brace, statements, a brace. The last token of the whole graph is left
    /// unread when it closes the graph: what follows is not ours to judge.
    fn body(&mut self, what: &str) -> Body {
        let (open, line) = (self.token.span, self.line);
        self.bump();
        self.depth += 1;
        let mut statements = Vec::new();
        loop {
            if self.errors.len() >= MOST_ERRORS {
                self.give_up();
                self.depth -= 1;
                return Body { span: open.to(self.token.span), closed: false, statements };
            }
            if self.at(b'}') {
                let close = self.token.span;
                self.depth -= 1;
                if self.depth > 0 {
                    self.bump();
                }
                return Body { span: open.to(close), closed: true, statements };
            }
            if self.token.kind == TokenKind::End {
                self.depth -= 1;
                let message = format!(
                    "expected `}}` to close the {what} opened in line {line}, found the end of the file"
                );
                self.errors.push(Diagnostic::new(self.token.span, message));
                return Body { span: open.to(self.token.span), closed: false, statements };
            }
            self.warn_if_run_together();
            let before = self.token.span;
            match self.statement() {
                Ok(statement) => statements.push(statement),
                Err(SyntaxError) => self.skip_statement(before),
            }
        }
    }

    fn statement(&mut self) -> ParseResult<Statement> {
        let start = self.token.span.start;
        let kind = match self.token.kind {
            TokenKind::Keyword(Keyword::Graph) => self.defaults(Target::Graph)?,
            TokenKind::Keyword(Keyword::Node) => self.defaults(Target::Node)?,
            TokenKind::Keyword(Keyword::Edge) => self.defaults(Target::Edge)?,
            TokenKind::Keyword(Keyword::Subgraph) | TokenKind::Mark(b'{') => {
                let first = self.endpoint()?;
                self.chain(first)?
            }
            _ if self.token.is_id() => {
                let id = self.id()?;
                if self.at(b'=') {
                    StatementKind::Assign(Box::new(self.assign(id)?))
                } else {
                    let first = self.nodes(id)?;
                    self.chain(first)?
                }
            }
            TokenKind::Mark(b';') => return self.fail(
                "nothing comes before this `;`; Graphviz does not accept empty statements, so remove it",
            ),
            TokenKind::Keyword(_) => {
                let found = self.found();
                return self.fail(format!(
                    "{found} is a keyword; as an id it needs quotes: {}",
                    found.replace('`', "\"")
                ));
            }
            TokenKind::Mark(b',') => {
                return self.fail(
                    "expected a statement, found `,`; outside brackets, attributes end with `;`",
                );
            }
            _ => {
                let hint = if self.token.span.start == self.last_end {
                    self.quote_hint(self.last_end)
                } else {
                    String::new()
                };
                return self.fail(format!("expected a statement, found {}{hint}", self.found()));
            }
        };
        let bare = Span::new(start, self.last_end);
        if self.eat(b';') {
            return Ok(Statement { span: Span::new(start, self.last_end), bare, kind });
        }
        Ok(Statement { span: bare, bare, kind })
    }

    fn defaults(&mut self, target: Target) -> ParseResult<StatementKind> {
        let word = self.found();
        self.bump();
        // `node name = [..]`: the grammar has it, nobody ever gave it a meaning.
        if self.token.is_id() {
            self.id()?;
            if !self.eat(b'=') {
                return self.fail(format!(
                    "expected `=` after the name of these defaults, found {}",
                    self.found()
                ));
            }
        }
        if !self.at(b'[') {
            let quoted = word.replace('`', "\"");
            return self.fail(format!(
                "expected `[` after {word}, found {}; {word} is a keyword, an id of that name needs quotes: {quoted}",
                self.found()
            ));
        }
        Ok(StatementKind::Defaults { target, lists: self.lists()? })
    }

    fn chain(&mut self, first: Endpoint) -> ParseResult<StatementKind> {
        let mut endpoints = vec![first];
        while let TokenKind::Arrow | TokenKind::Line = self.token.kind {
            let arrow = self.token.kind == TokenKind::Arrow;
            if arrow != self.directed {
                let message = if self.directed {
                    "edges of a `digraph` are written `->`, not `--`"
                } else {
                    "edges of a `graph` are written `--`, not `->`; for arrows make it a `digraph`"
                };
                self.errors.push(Diagnostic::new(self.token.span, message));
            }
            self.bump();
            endpoints.push(self.endpoint()?);
        }
        Ok(StatementKind::Chain { endpoints, lists: self.lists()? })
    }

    fn endpoint(&mut self) -> ParseResult<Endpoint> {
        if self.token.is_id() {
            let id = self.id()?;
            return self.nodes(id);
        }
        let start = self.token.span;
        let named = self.token.kind == TokenKind::Keyword(Keyword::Subgraph);
        let mut name = None;
        if named {
            self.bump();
            if self.token.is_id() {
                name = Some(self.id()?);
            }
        }
        if !self.at(b'{') {
            let found = self.found();
            return match self.token.kind {
                _ if named => {
                    self.fail(format!("expected `{{` to open the subgraph, found {found}"))
                }
                TokenKind::Keyword(_) => {
                    let quoted = found.replace('`', "\"");
                    self.fail(format!("{found} is a keyword; as a node it needs quotes: {quoted}"))
                }
                _ => self.fail(format!("expected a node or a subgraph, found {found}")),
            };
        }
        if self.depth > DEEPEST {
            return self.too_deep();
        }
        let body = self.body("subgraph");
        Ok(Endpoint::Subgraph(Box::new(SubgraphSyntax { span: start.to(body.span), name, body })))
    }

    /// Passes over the braces by counting: descending into them is what the limit is against.
    fn too_deep(&mut self) -> ParseResult<Endpoint> {
        self.errors.push(Diagnostic::new(
            self.token.span,
            format!("subgraphs are nested deeper than {DEEPEST}"),
        ));
        let mut open = 0_usize;
        loop {
            match self.token.kind {
                TokenKind::Mark(b'{') => open += 1,
                TokenKind::Mark(b'}') => open -= 1,
                TokenKind::End => return Err(SyntaxError),
                _ => {}
            }
            self.bump();
            if open == 0 {
                return Err(SyntaxError);
            }
        }
    }

    fn nodes(&mut self, first: SpelledId) -> ParseResult<Endpoint> {
        let mut nodes = vec![self.node(first)?];
        while self.eat(b',') {
            let id = self.id()?;
            nodes.push(self.node(id)?);
        }
        Ok(Endpoint::Nodes(nodes))
    }

    fn node(&mut self, id: SpelledId) -> ParseResult<NodeRef> {
        let mut port = None;
        if self.eat(b':') {
            let name = self.id()?.id;
            let compass = if self.eat(b':') { Some(self.id()?.id) } else { None };
            port = Some(Port { name, compass });
        }
        Ok(NodeRef { span: Span::new(id.span.start, self.last_end), id, port })
    }

    fn lists(&mut self) -> ParseResult<Vec<AttrList>> {
        let mut lists = if self.at(b'[') { Vec::with_capacity(1) } else { Vec::new() };
        while self.at(b'[') {
            lists.push(self.list()?);
        }
        Ok(lists)
    }

    fn list(&mut self) -> ParseResult<AttrList> {
        let (open, line) = (self.token.span, self.line);
        let mut assigns = Vec::new();
        self.bump();
        loop {
            match self.token.kind {
                TokenKind::Mark(b']') => {
                    let close = self.token.span;
                    self.bump();
                    assigns.shrink_to_fit();
                    return Ok(AttrList { span: open.to(close), assigns });
                }
                _ if self.ends_list() => {
                    return self.fail(format!(
                        "expected `]` to close the list opened in line {line}, found {}",
                        self.found()
                    ));
                }
                _ => {}
            }
            let attribute = self.attribute();
            match attribute {
                Ok(assign) => {
                    assigns.push(assign);
                    let _ = self.eat(b',') || self.eat(b';');
                }
                Err(SyntaxError) => self.skip_attribute(),
            }
        }
    }

    /// Whether the token cannot occur in an attribute list, implying a missing closing bracket.
    pub(super) fn ends_list(&self) -> bool {
        matches!(
            self.token.kind,
            TokenKind::Mark(b'[' | b'{' | b'}')
                | TokenKind::Arrow
                | TokenKind::Line
                | TokenKind::End
        )
    }

    fn attribute(&mut self) -> ParseResult<Assign> {
        let before = self.last_end;
        let touching = self.token.span.start == before;
        if !self.token.is_id() {
            let hint = if touching { self.quote_hint(before) } else { String::new() };
            return self.fail(format!("expected an attribute, found {}{hint}", self.found()));
        }
        let name = self.id()?;
        // The list is unclosed; the list parser reports that.
        if self.ends_list() {
            return Err(SyntaxError);
        }
        if !self.at(b'=') {
            let hint = if touching { self.quote_hint(before) } else { String::new() };
            return self.fail(format!(
                "expected `=` after the attribute `{}`, found {}{hint}",
                name.id.as_str(),
                self.found()
            ));
        }
        self.assign(name)
    }

    fn assign(&mut self, name: SpelledId) -> ParseResult<Assign> {
        self.bump();
        if !self.token.is_id() {
            return self.fail(format!(
                "expected a value for `{}`, found {}",
                name.id.as_str(),
                self.found()
            ));
        }
        let value = self.id()?;
        Ok(Assign { span: name.span.to(value.span), name, value })
    }

    /// Looks behind the first graph; nothing there is an error.
    fn rest(&mut self) -> usize {
        let mut found = 0;
        let errors = self.errors.len();
        self.bump();
        if self.token.kind != TokenKind::End {
            let another = matches!(
                self.token.kind,
                TokenKind::Keyword(Keyword::Strict | Keyword::Graph | Keyword::Digraph)
            );
            let what = if another {
                "a second graph starts here; only the first one in a file is read"
            } else {
                "text after the graph is not read"
            };
            self.warnings.push(Diagnostic::new(self.token.span, what));
            let mut braces = 0_usize;
            while self.token.kind != TokenKind::End {
                match self.token.kind {
                    TokenKind::Keyword(Keyword::Graph | Keyword::Digraph) if braces == 0 => {
                        found += 1;
                    }
                    TokenKind::Mark(b'{') => braces += 1,
                    TokenKind::Mark(b'}') => braces = braces.saturating_sub(1),
                    _ => {}
                }
                self.bump();
            }
        }
        self.errors.truncate(errors);
        found
    }
}
