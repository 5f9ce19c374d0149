//! Parser cursor: the current token, diagnostics about it, and error recovery.

use crate::diagnostics::{Diagnostic, Span};
use crate::lexer::{Token, TokenKind, is_letter};

use super::parse::{DotParser, MOST_ERRORS, ParseResult, SyntaxError};

/// How long, to either side, a word may be that is suggested in quotes.
const WORD: usize = 60;

impl DotParser<'_> {
    pub(super) fn bump(&mut self) {
        self.last_end = self.token.span.end;
        self.fresh_line = false;
        loop {
            self.line +=
                self.token.span.of(self.source).iter().filter(|&&byte| byte == b'\n').count();
            self.token = self.lexer.next_token();
            if !self.token.closed {
                let what = match self.token.kind {
                    TokenKind::Quoted => "this string has no closing quote `\"`",
                    TokenKind::Html => "this HTML string has no closing `>`",
                    _ => "this comment has no closing `*/`",
                };
                self.errors.push(Diagnostic::new(self.token.span, what));
            }
            if !self.token.is_trivia() {
                return;
            }
            self.fresh_line |= self.token.kind == TokenKind::Blank
                && self.token.span.of(self.source).contains(&b'\n');
        }
    }

    pub(super) fn at(&self, mark: u8) -> bool {
        self.token.kind == TokenKind::Mark(mark)
    }

    pub(super) fn eat(&mut self, mark: u8) -> bool {
        let found = self.at(mark);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn fail<T>(&mut self, message: impl Into<String>) -> ParseResult<T> {
        self.errors.push(Diagnostic::new(self.token.span, message));
        Err(SyntaxError)
    }

    /// Passes over the rest of a file that is hardly DOT: each mistake takes memory.
    pub(super) fn give_up(&mut self) {
        if self.token.kind != TokenKind::End {
            let message = format!("{MOST_ERRORS} errors before this one; the rest is not read");
            self.errors.push(Diagnostic::new(self.token.span, message));
        }
        let end = Span { start: self.source.len(), end: self.source.len() };
        self.token = Token { kind: TokenKind::End, span: end, closed: true };
    }

    /// The current token, for a message.
    pub(super) fn found(&self) -> String {
        let text = self.charset.decode(self.token.span.of(self.source)).into_owned();
        match self.token.kind {
            TokenKind::End => "the end of the file".to_owned(),
            TokenKind::Stray if text.chars().any(char::is_control) => {
                format!("the byte {:#04x}", self.source[self.token.span.start])
            }
            _ if text.chars().count() > 40 => {
                format!("`{}…`", text.chars().take(40).collect::<String>().replace('\n', " "))
            }
            _ => format!("`{}`", text.replace('\n', " ")),
        }
    }

    /// After an error in a list: to the next separator, or to what may be the next attribute on its own line.
    pub(super) fn skip_attribute(&mut self) {
        loop {
            match self.token.kind {
                TokenKind::Mark(b',' | b';') => return self.bump(),
                TokenKind::Mark(b']') => return,
                _ if self.ends_list() || (self.fresh_line && self.token.is_id()) => return,
                _ => self.bump(),
            }
            if self.fresh_line && self.token.is_id() {
                return;
            }
        }
    }

    /// After an error: to the statement's end, which is a `;`, the closing brace,
    /// or the line's end where the next one begins like a statement.
    pub(super) fn skip_statement(&mut self, began_at: Span) {
        if self.token.span == began_at && !self.at(b'}') {
            let ended = self.at(b';');
            let bracket = self.at(b'[');
            self.bump();
            if ended {
                return;
            }
            if bracket {
                self.skip_brackets();
            }
        }
        let mut braces = 0_usize;
        loop {
            match self.token.kind {
                TokenKind::End => return,
                TokenKind::Mark(b'}') if braces == 0 => return,
                TokenKind::Mark(b'}') => braces -= 1,
                TokenKind::Mark(b'{') => braces += 1,
                TokenKind::Mark(b';') if braces == 0 => return self.bump(),
                TokenKind::Mark(b'[') => {
                    self.bump();
                    self.skip_brackets();
                    continue;
                }
                TokenKind::Keyword(_) if self.fresh_line && braces == 0 => return,
                _ if self.fresh_line && braces == 0 && self.token.is_id() => return,
                _ => {}
            }
            self.bump();
        }
    }

    pub(super) fn skip_brackets(&mut self) {
        while !matches!(self.token.kind, TokenKind::Mark(b']' | b'{' | b'}') | TokenKind::End) {
            self.bump();
        }
        self.eat(b']');
    }

    /// `gpt-5.4` and `api-server` are several tokens; what was meant is one text.
    pub(super) fn quote_hint(&self, from: usize) -> String {
        let part = |byte: u8| {
            is_letter(byte)
                || byte.is_ascii_digit()
                || matches!(byte, b'-' | b'.' | b'/' | b'@' | b'$' | b'%' | b'*' | b'!' | b'?')
        };
        // No further than a word is long: a file of one endless word would be read over and over.
        let left = self.source[from.saturating_sub(WORD)..from]
            .iter()
            .rev()
            .take_while(|&&byte| part(byte))
            .count();
        let right = self.source[from..].iter().take(WORD).take_while(|&&byte| part(byte)).count();
        if left == 0 || left == WORD || right == WORD {
            return String::new();
        }
        let (start, length) = (from - left, left + right);
        let word = self.charset.decode(&self.source[start..start + length]);
        let word = word.trim_end_matches(['-', '>']);
        format!("; `{word}` needs quotes: \"{word}\"")
    }

    /// `a-1` and `1a` are two ids each, and legal: hardly ever what was meant.
    pub(super) fn warn_if_run_together(&mut self) {
        let before = self.last_end.checked_sub(1).map(|at| self.source[at]);
        let touching = self.token.span.start == self.last_end
            && matches!(self.token.kind, TokenKind::Bare | TokenKind::Number);
        if touching
            && self.warnings.len() < MOST_ERRORS
            && before.is_some_and(|byte| is_letter(byte) || byte.is_ascii_digit() || byte == b'.')
        {
            let message = format!(
                "a new id starts here without a space before it{}",
                self.quote_hint(self.last_end)
            );
            self.warnings.push(Diagnostic::new(self.token.span, message));
        }
    }
}
