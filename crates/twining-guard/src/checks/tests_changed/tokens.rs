//! Source text as tokens. Comments and layout are gone; only the column of a line's first
//! token is kept.

use std::ops::Range;

use crate::checks::languages::{LanguageRules, contains};
use crate::checks::lexer::{CodeLexer, CodeTokenKind, is_word};

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
    pub language: &'static LanguageRules,
}

impl<'a> SourceTokens<'a> {
    pub(super) fn new(text: &'a str, language: &'static LanguageRules) -> Self {
        let (mut list, mut is_directive) = (Vec::new(), false);
        for token in CodeLexer::new(text, language) {
            let (text, rest) = (&text[token.range.clone()], &text[token.range.start..]);
            if token.column.is_some() {
                is_directive =
                    language.has('!') && rest.starts_with('#') && !rest.starts_with("#[");
            }
            if !is_directive && !matches!(token.kind, CodeTokenKind::Comment) {
                list.push(SourceToken { text, column: token.column });
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
                    out.extend(["\n\"", &text.replace("\\'", "'").replace("\\\"", "\"")]);
                }
                (None, sign) => out.extend(["\n", sign]),
            }
        }
        out
    }
}

fn is_string(text: &str) -> bool {
    text.len() > 1 && text.starts_with(['"', '\'', '`'])
}
