//! Bytes into lexemes: words, numbers, whole strings, and punctuation one by one.
//!
//! Comments and white space are left out. Every loop moves forward, so hostile text costs no
//! more than its length.

use std::ops::Range;

use super::rules::{LexRules, QuoteRule, StringNotation};
use super::strings;

/// What a lexeme is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LexemeKind {
    /// An identifier or keyword.
    Word,
    /// A number.
    Number,
    /// A string, a character or a regular expression, with its quotation marks.
    Text,
    /// One byte of punctuation.
    Sign,
}

/// A piece of source text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexeme {
    pub(super) kind: LexemeKind,
    pub(super) start: u32,
    pub(super) end: u32,
    /// The line it begins in, from 1.
    pub(super) line: u32,
}

impl Lexeme {
    pub(super) fn text<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Cuts the segments of a file into lexemes. Segments follow each other; no lexeme crosses from
/// one into the next.
pub(super) struct Scanner<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) rules: &'static LexRules,
    pub(super) at: usize,
    pub(super) end: usize,
    line: u32,
    found: Vec<Lexeme>,
    /// Where the lexemes of the current segment begin.
    first: usize,
    /// Tags of the heredocs that begin in the next line.
    heredocs: Vec<Range<usize>>,
}

impl<'b> Scanner<'b> {
    pub(super) fn new(bytes: &'b [u8], rules: &'static LexRules) -> Self {
        let found = Vec::with_capacity(bytes.len() / 5);
        Self { bytes, rules, at: 0, end: 0, line: 1, found, first: 0, heredocs: Vec::new() }
    }

    pub(super) fn finish(self) -> Vec<Lexeme> {
        self.found
    }

    /// Reads on to `end`.
    pub(super) fn read_to(&mut self, end: usize) {
        self.end = end.min(self.bytes.len());
        self.first = self.found.len();
        self.heredocs.clear();
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => {
                    self.advance(self.at + 1);
                    self.read_heredocs();
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                _ if self.skip_comment() => {}
                b'\'' => self.quoted(self.rules.single),
                b'"' => self.quoted(self.rules.double),
                b'`' => self.quoted(self.rules.backtick),
                b'0'..=b'9' => self.number(),
                b'/' if self.rules.has_regex && self.may_begin_regex() => self.regex(),
                b'@' | b'$' if self.rules.strings == StringNotation::CSharp => {
                    let end = strings::verbatim_end(self);
                    self.push_or_sign(end);
                }
                b'<' => self.heredoc_or_sign(),
                _ if is_word_byte(byte) => self.word(),
                _ => self.push(LexemeKind::Sign, self.at + 1),
            }
        }
    }

    /// The byte `ahead` of the current one, inside the segment.
    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        let at = self.at + ahead;
        if at < self.end { self.bytes.get(at).copied() } else { None }
    }

    /// What is left of the segment from `at` on.
    pub(super) fn rest(&self, at: usize) -> &'b [u8] {
        self.bytes.get(at.min(self.end)..self.end).unwrap_or_default()
    }

    fn push(&mut self, kind: LexemeKind, end: usize) {
        let end = end.min(self.end);
        self.found.push(Lexeme { kind, start: offset(self.at), end: offset(end), line: self.line });
        // Only a string has line ends in it.
        if kind == LexemeKind::Text {
            self.advance(end);
        } else {
            self.at = end;
        }
    }

    fn push_or_sign(&mut self, text_end: Option<usize>) {
        match text_end {
            Some(end) => self.push(LexemeKind::Text, end),
            None => self.push(LexemeKind::Sign, self.at + 1),
        }
    }

    fn advance(&mut self, to: usize) {
        let to = to.min(self.end);
        let passed = self.bytes.get(self.at..to).unwrap_or_default();
        self.line += offset(memchr::memchr_iter(b'\n', passed).count());
        self.at = to;
    }

    /// Passes over a comment that begins here.
    fn skip_comment(&mut self) -> bool {
        let rest = self.rest(self.at);
        // An attribute of PHP begins like a comment.
        let is_attribute = self.rules.strings == StringNotation::Php && rest.starts_with(b"#[");
        let begins = |sign: &&str| rest.starts_with(sign.as_bytes()) && !is_attribute;
        if self.rules.line_comments.iter().any(begins) {
            let end = memchr::memchr(b'\n', rest).map_or(self.end, |length| self.at + length);
            self.at = end;
            return true;
        }
        let Some((open, close)) = self.rules.block_comment else { return false };
        let begins_line = self.at == 0 || self.bytes.get(self.at - 1) == Some(&b'\n');
        if !rest.starts_with(open.as_bytes()) || (open == "=begin" && !begins_line) {
            return false;
        }
        let end = self.block_comment_end(open.as_bytes(), close.as_bytes());
        self.advance(end);
        true
    }

    fn block_comment_end(&self, open: &[u8], close: &[u8]) -> usize {
        let (mut at, mut depth) = (self.at + open.len(), 1_usize);
        while at < self.end {
            let rest = self.rest(at);
            if rest.starts_with(close) {
                (at, depth) = (at + close.len(), depth - 1);
                if depth == 0 {
                    return at;
                }
            } else if self.rules.do_comments_nest && rest.starts_with(open) {
                (at, depth) = (at + open.len(), depth + 1);
            } else {
                at += 1;
            }
        }
        self.end
    }

    fn word(&mut self) {
        let rest = self.rest(self.at);
        let length = rest.iter().position(|byte| !is_word_byte(*byte)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let raw_end = match (self.rules.strings, word) {
            (StringNotation::Rust, b"r" | b"br" | b"cr") => strings::rust_raw_end(self, length),
            (StringNotation::Cpp, b"R" | b"LR" | b"uR" | b"UR" | b"u8R") => {
                strings::cpp_raw_end(self, length)
            }
            _ => None,
        };
        match raw_end {
            Some(end) => self.push(LexemeKind::Text, end),
            None => self.push(LexemeKind::Word, self.at + length),
        }
    }

    fn number(&mut self) {
        let rest = self.rest(self.at);
        let digit_after = |at: usize| rest.get(at + 1).is_some_and(u8::is_ascii_digit);
        let mut length = 0;
        while let Some(byte) = rest.get(length) {
            let goes_on = is_word_byte(*byte)
                || (*byte == b'.' && digit_after(length))
                || (*byte == b'\''
                    && self.rules.strings == StringNotation::Cpp
                    && digit_after(length));
            if !goes_on {
                break;
            }
            length += 1;
        }
        self.push(LexemeKind::Number, self.at + length);
    }

    fn quoted(&mut self, rule: QuoteRule) {
        let end = match rule {
            QuoteRule::None => None,
            QuoteRule::Line => Some(strings::quoted_end(self, strings::Extent::Line)),
            QuoteRule::Lines => Some(strings::quoted_end(self, strings::Extent::Lines)),
            QuoteRule::Raw => Some(strings::raw_end(self)),
            QuoteRule::Template => Some(strings::template_end(self)),
            QuoteRule::Character => return self.character(),
        };
        self.push_or_sign(end);
    }

    /// `'a'`, or a lifetime such as `'a`.
    fn character(&mut self) {
        match strings::character_end(self) {
            Some(end) => self.push(LexemeKind::Text, end),
            None => {
                let rest = self.rest(self.at + 1);
                let length = rest.iter().position(|byte| !is_word_byte(*byte));
                let kind = if length == Some(0) { LexemeKind::Sign } else { LexemeKind::Word };
                self.push(kind, self.at + 1 + length.unwrap_or(rest.len()));
            }
        }
    }

    fn regex(&mut self) {
        let end = strings::regex_end(self);
        self.push_or_sign(end);
    }

    /// Whether a `/` here begins a regular expression, and does not divide.
    fn may_begin_regex(&self) -> bool {
        let Some(last) = self.found.get(self.first..).and_then(<[Lexeme]>::last) else {
            return true;
        };
        match last.kind {
            LexemeKind::Number | LexemeKind::Text => false,
            LexemeKind::Sign => !matches!(last.text(self.bytes), b")" | b"]" | b"}" | b"<"),
            LexemeKind::Word => matches!(
                last.text(self.bytes),
                b"return"
                    | b"typeof"
                    | b"case"
                    | b"in"
                    | b"of"
                    | b"delete"
                    | b"void"
                    | b"throw"
                    | b"new"
                    | b"else"
                    | b"do"
                    | b"yield"
                    | b"await"
                    | b"if"
                    | b"unless"
                    | b"when"
                    | b"and"
                    | b"or"
                    | b"not"
                    | b"while"
                    | b"until"
            ),
        }
    }

    fn heredoc_or_sign(&mut self) {
        match self.rules.strings {
            StringNotation::Php => {
                let end = strings::php_heredoc_end(self);
                self.push_or_sign(end);
            }
            StringNotation::Ruby => match strings::ruby_heredoc_tag(self) {
                Some((tag, end)) => {
                    self.heredocs.push(tag);
                    self.push(LexemeKind::Text, end);
                }
                None => self.push(LexemeKind::Sign, self.at + 1),
            },
            _ => self.push(LexemeKind::Sign, self.at + 1),
        }
    }

    /// The texts whose tags the last line named.
    fn read_heredocs(&mut self) {
        for tag in std::mem::take(&mut self.heredocs) {
            if self.at < self.end {
                let end = strings::heredoc_end(self, self.at, tag);
                self.push(LexemeKind::Text, end);
            }
        }
    }
}

/// Letters, digits, `_`, `$` and every byte of a character outside ASCII.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// An offset as it is kept; a file of more than 4 GiB is cut there.
pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
