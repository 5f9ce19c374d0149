//! Source text as tokens, for every language alike.
//!
//! Comments and layout are gone; only the column of a line's first token is kept. The
//! text need not be valid: an unclosed string ends with its line. Time is linear.

use std::ops::Range;

use memchr::{memchr, memmem};

use super::languages::TestLanguage;
use crate::checks::lexer::contains;

/// Words after which a bracket only groups.
const OPERATORS: &str =
    "assert return in not and or if elif else while for is await async yield match";

/// A word, a sign, or a string with its quotes.
pub(super) struct SourceToken<'a> {
    text: &'a str,
    /// Its column, if it is the first on its line.
    column: Option<usize>,
}

pub(super) struct SourceTokens<'a> {
    pub list: Vec<SourceToken<'a>>,
    pub language: &'static TestLanguage,
}

impl<'a> SourceTokens<'a> {
    pub(super) fn new(text: &'a str, language: &'static TestLanguage) -> Self {
        let bytes = text.as_bytes();
        let (mut at, mut line, mut list) = (0, Some(0), Vec::new());
        while let Some(&byte) = bytes.get(at) {
            let (start, rest) = (at, &bytes[at..]);
            let is_directive =
                language.has('!') && line.is_some() && byte == b'#' && !rest.starts_with(b"#[");
            let is_comment =
                is_directive || rest.starts_with(if language.has('#') { b"#" } else { b"//" });
            if byte.is_ascii_whitespace() {
                at += 1;
                line = if byte == b'\n' { Some(at) } else { line };
            } else if is_comment {
                at += memchr(b'\n', rest).unwrap_or(rest.len());
            } else if rest.starts_with(b"/*") && !language.has('#') {
                at += memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2);
            } else {
                at = token_end(bytes, start, language);
                list.push(SourceToken {
                    text: &text[start..at],
                    column: line.take().map(|line| start - line),
                });
            }
        }
        Self { list, language }
    }

    /// The word or the sign at an index; empty for a string and outside of the text.
    pub(super) fn sign(&self, at: usize) -> &'a str {
        self.list
            .get(at)
            .map(|token| token.text)
            .filter(|text| !is_string(text))
            .unwrap_or_default()
    }

    pub(super) fn before(&self, at: usize) -> &'a str {
        self.sign(at.wrapping_sub(1))
    }

    pub(super) fn word(&self, at: usize) -> Option<&'a str> {
        Some(self.sign(at)).filter(|text| text.bytes().next().is_some_and(is_word))
    }

    /// The inside of the string at an index.
    pub(super) fn string(&self, at: usize) -> Option<&'a str> {
        self.list
            .get(at)
            .map(|token| token.text)
            .filter(|text| is_string(text))
            .map(|text| text.trim_matches(['"', '\'', '`']))
    }

    pub(super) fn lower(&self, at: usize) -> String {
        self.sign(at).to_ascii_lowercase()
    }

    pub(super) fn column(&self, at: usize) -> Option<usize> {
        self.list.get(at).and_then(|token| token.column)
    }

    /// The tokens in a form that formatters leave alone: brackets only where they make a
    /// call, keys and strings without their quotes.
    pub(super) fn canonical(&self, range: Range<usize>) -> String {
        let mut out = String::new();
        for at in range {
            let before = self.before(at);
            match (self.string(at), self.sign(at)) {
                (_, "," | ";" | "}" | ")") => {}
                (_, "{") if self.sign(at + 1) != "}" => {}
                (_, "(")
                    if !matches!(before, ")" | "]")
                        && (contains(OPERATORS, before) || !before.bytes().all(is_word)) => {}
                (Some(text), _) if self.sign(at + 1) == ":" => out.extend(["\n", text]),
                (Some(text), _) => {
                    out.extend(["\n\"", &text.replace("\\'", "'").replace("\\\"", "\"")])
                }
                (None, sign) => out.extend(["\n", sign]),
            }
        }
        out
    }
}

/// The end of the word, the string or the sign that begins here.
fn token_end(bytes: &[u8], start: usize, language: &TestLanguage) -> usize {
    let (quote, rest) = (bytes[start], &bytes[start..]);
    let is_lifetime = language.is("rs")
        && quote == b'\''
        && rest.get(1) != Some(&b'\\')
        && rest.get(2) != Some(&b'\'');
    if !matches!(quote, b'"' | b'\'' | b'`') || is_lifetime {
        return start + rest.iter().take_while(|byte| is_word(**byte)).count().max(1);
    }
    let hashes = bytes[..start].iter().rev().take_while(|byte| **byte == b'#').count();
    let prefix = &bytes[..start - hashes];
    if language.is("rs") && prefix.ends_with(b"r") {
        let closing = format!("\"{}", "#".repeat(hashes));
        return memmem::find(&rest[1..], closing.as_bytes())
            .map_or(bytes.len(), |length| start + length + 2);
    }
    // In C#'s `@"…"` a quote is doubled, not escaped.
    let is_verbatim = language.is("cs") && (prefix.ends_with(b"@") || prefix.ends_with(b"@$"));
    let width = if rest.starts_with(&[quote; 3]) && !is_verbatim { 3 } else { 1 };
    let is_multiline = width == 3 || is_verbatim || language.has(char::from(quote));
    let mut at = start + width;
    while at < bytes.len() && (is_multiline || bytes[at] != b'\n') {
        let is_escape =
            if is_verbatim { bytes[at..].starts_with(b"\"\"") } else { bytes[at] == b'\\' };
        if !is_escape && bytes[at..].starts_with(&[quote; 3][..width]) {
            return at + width;
        }
        at += 1 + usize::from(is_escape);
    }
    at.min(bytes.len())
}

fn is_string(text: &str) -> bool {
    text.len() > 1 && text.starts_with(['"', '\'', '`'])
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}
