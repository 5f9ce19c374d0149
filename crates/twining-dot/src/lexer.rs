//! Bytes into tokens. Every byte belongs to exactly one token, comments and blanks
//! included, so tokens written one after another are the file.
//!
//! Letters are ASCII letters, `_` and every byte from 0x80, as for Graphviz.

use crate::diagnostics::{BOM, Span};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A byte order mark at the very start.
    Bom,
    /// Blanks, tabs and line ends.
    Blank,
    /// `// …` or `# …` to the end of the line, or `/* … */`.
    Comment,
    /// An id without quotes.
    Bare,
    /// A numeral.
    Number,
    /// A text in double quotes.
    Quoted,
    /// A text in balanced angle brackets.
    Html,
    /// One of the six words that are not ids.
    Keyword(Keyword),
    /// `->`
    Arrow,
    /// `--`
    Line,
    /// `{ } [ ] ; , : = +`
    Mark(u8),
    /// A byte that starts nothing.
    Stray,
    /// The end of the file, of no length.
    End,
}

/// The words that are not ids, in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// `node`
    Node,
    /// `edge`
    Edge,
    /// `graph`
    Graph,
    /// `digraph`
    Digraph,
    /// `subgraph`
    Subgraph,
    /// `strict`
    Strict,
}

/// A piece of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its position.
    pub span: Span,
    /// False for a text or comment whose end is missing; it then ends with its line.
    pub closed: bool,
}

impl Token {
    pub(crate) fn is_trivia(&self) -> bool {
        matches!(self.kind, TokenKind::Bom | TokenKind::Blank | TokenKind::Comment)
    }

    pub(crate) fn is_id(&self) -> bool {
        matches!(
            self.kind,
            TokenKind::Bare | TokenKind::Number | TokenKind::Quoted | TokenKind::Html
        )
    }
}

/// An iterator over all tokens, trivia too, ending with [`TokenKind::End`].
#[derive(Clone, Debug)]
pub(crate) struct DotLexer<'a> {
    source: &'a [u8],
    at: usize,
    done: bool,
    /// Once one text of a kind has no end, none after it has: looking for it again
    /// and again would make the lexer quadratic.
    no_quote: bool,
    no_angle: bool,
    no_comment: bool,
}

impl<'a> DotLexer<'a> {
    /// Starts at the beginning.
    #[must_use]
    pub(crate) fn new(source: &'a [u8]) -> Self {
        Self::at(source, 0)
    }

    /// Starts at an offset, which must be the start of a token.
    #[must_use]
    pub(crate) fn at(source: &'a [u8], at: usize) -> Self {
        Self { source, at, done: false, no_quote: false, no_angle: false, no_comment: false }
    }

    pub(crate) fn next_token(&mut self) -> Token {
        let start = self.at;
        let (kind, end, closed) = self.read(start);
        self.at = end;
        Token { kind, span: Span::new(start, end), closed }
    }

    fn read(&mut self, start: usize) -> (TokenKind, usize, bool) {
        let source = self.source;
        let Some(&first) = source.get(start) else { return (TokenKind::End, start, true) };
        let second = source.get(start + 1).copied();
        if start == 0 && source.starts_with(BOM) {
            return (TokenKind::Bom, BOM.len(), true);
        }
        match first {
            b' ' | b'\t' | b'\r' | b'\n' => (TokenKind::Blank, run(source, start, is_blank), true),
            b'#' => (TokenKind::Comment, line_end(source, start), true),
            b'/' if second == Some(b'/') => (TokenKind::Comment, line_end(source, start), true),
            b'/' if second == Some(b'*') => self.text(start, TokenKind::Comment),
            b'"' => self.text(start, TokenKind::Quoted),
            b'<' => self.text(start, TokenKind::Html),
            b'-' if second == Some(b'>') => (TokenKind::Arrow, start + 2, true),
            b'-' if second == Some(b'-') => (TokenKind::Line, start + 2, true),
            b'{' | b'}' | b'[' | b']' | b';' | b',' | b':' | b'=' | b'+' => {
                (TokenKind::Mark(first), start + 1, true)
            }
            _ if is_letter(first) => {
                let end = run(source, start, |byte| is_letter(byte) || byte.is_ascii_digit());
                (
                    keyword(&source[start..end]).map_or(TokenKind::Bare, TokenKind::Keyword),
                    end,
                    true,
                )
            }
            _ => match number_end(source, start) {
                Some(end) => (TokenKind::Number, end, true),
                None => (TokenKind::Stray, start + 1, true),
            },
        }
    }

    fn text(&mut self, start: usize, kind: TokenKind) -> (TokenKind, usize, bool) {
        let hopeless = match kind {
            TokenKind::Quoted => &mut self.no_quote,
            TokenKind::Html => &mut self.no_angle,
            _ => &mut self.no_comment,
        };
        let bounded =
            if *hopeless { &self.source[..line_end(self.source, start)] } else { self.source };
        let end = match kind {
            TokenKind::Quoted => quote_end(bounded, start),
            TokenKind::Html => html_end(bounded, start),
            _ => comment_end(bounded, start),
        };
        *hopeless |= end.is_none();
        (kind, end.unwrap_or_else(|| line_end(self.source, start)), end.is_some())
    }
}

impl Iterator for DotLexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        if self.done {
            return None;
        }
        let token = self.next_token();
        self.done = token.kind == TokenKind::End;
        Some(token)
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

pub(crate) fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn run(source: &[u8], start: usize, belongs: impl Fn(u8) -> bool) -> usize {
    source[start..]
        .iter()
        .position(|&byte| !belongs(byte))
        .map_or(source.len(), |length| start + length)
}

/// The end of the line that holds `start`, its line feed not included.
pub(crate) fn line_end(source: &[u8], start: usize) -> usize {
    run(source, start, |byte| byte != b'\n')
}

fn keyword(word: &[u8]) -> Option<Keyword> {
    if !(4..=8).contains(&word.len()) {
        return None;
    }
    let known = [
        ("node", Keyword::Node),
        ("edge", Keyword::Edge),
        ("graph", Keyword::Graph),
        ("digraph", Keyword::Digraph),
        ("subgraph", Keyword::Subgraph),
        ("strict", Keyword::Strict),
    ];
    known
        .iter()
        .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word))
        .map(|(_, keyword)| *keyword)
}

/// The end of the numeral that starts here: `-?(\.\d+|\d+(\.\d*)?)`.
pub(crate) fn number_end(source: &[u8], start: usize) -> Option<usize> {
    let digits = |at: usize| run(source, at.min(source.len()), |byte| byte.is_ascii_digit());
    let whole = if source.get(start) == Some(&b'-') { start + 1 } else { start };
    let after = digits(whole);
    let pointed = source.get(after) == Some(&b'.');
    if after > whole {
        return Some(if pointed { digits(after + 1) } else { after });
    }
    let end = digits(whole + 1);
    (pointed && end > whole + 1).then_some(end)
}

/// The end of the quoted text that starts here. `\\` is a pair, so that it hides no quote.
fn quote_end(source: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += source.get(at..)?.iter().position(|&byte| byte == b'"' || byte == b'\\')?;
        if source[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The end of the HTML text that starts here: angle brackets balance, comments do not count.
pub(crate) fn html_end(source: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut open = 0_usize;
    loop {
        at += source.get(at..)?.iter().position(|&byte| byte == b'<' || byte == b'>')?;
        if source[at] == b'>' {
            open -= 1;
            at += 1;
            if open == 0 {
                return Some(at);
            }
        } else if open > 0 && source[at..].starts_with(b"<!--") {
            at += 4;
            at += source[at..].windows(3).position(|three| three == b"-->")? + 3;
        } else {
            open += 1;
            at += 1;
        }
    }
}

fn comment_end(source: &[u8], start: usize) -> Option<usize> {
    let inside = source.get(start + 2..)?;
    inside.windows(2).position(|two| two == b"*/").map(|length| start + 2 + length + 2)
}
