//! The tokens of a file in order, with their texts behind each other and a hash of each.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::layout::without_layout;
use super::rules::{LayoutRule, LexRules};
use super::scan::{Lexeme, LexemeKind, Scanner, offset};

/// A token: what its text is hashes to, and where it stands.
#[derive(Clone, Copy, Debug)]
struct StreamToken {
    kind: LexemeKind,
    /// In the file.
    start: u32,
    line: u32,
    /// In the texts of the stream.
    text: u32,
    hash: u64,
}

/// The tokens of a file.
#[derive(Debug)]
pub(crate) struct TokenStream {
    tokens: Vec<StreamToken>,
    /// Each token's text and a zero byte.
    texts: Vec<u8>,
}

impl TokenStream {
    /// Reads a file. The sorted `boundaries` cut it into segments that are read each for itself,
    /// so that a string misread in one definition leaves the next alone.
    pub(crate) fn read(bytes: &[u8], rules: &'static LexRules, boundaries: &[u32]) -> Self {
        let mut scanner = Scanner::new(bytes, rules);
        for boundary in boundaries {
            scanner.read_to(*boundary as usize);
        }
        scanner.read_to(bytes.len());
        let lexemes = without_layout(bytes, rules, &scanner.finish());
        let are_quotes_alike = matches!(rules.layout, LayoutRule::Python | LayoutRule::JavaScript);
        let mut texts = Vec::with_capacity(bytes.len());
        let mut tokens = Vec::with_capacity(lexemes.len());
        for lexeme in lexemes {
            let begin = texts.len();
            push_text(&mut texts, lexeme, bytes, are_quotes_alike);
            let hash = xxh3_64(texts.get(begin..).unwrap_or_default());
            texts.push(0);
            let Lexeme { kind, start, line, .. } = lexeme;
            tokens.push(StreamToken { kind, start, line, text: offset(begin), hash });
        }
        Self { tokens, texts }
    }

    /// How many tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The tokens that begin in a range of the file's bytes.
    pub(crate) fn between(&self, bytes: Range<u32>) -> Range<usize> {
        let first = self.tokens.partition_point(|token| token.start < bytes.start);
        let last = self.tokens.partition_point(|token| token.start < bytes.end);
        first..last.max(first)
    }

    /// The texts of some tokens, each followed by a zero byte.
    pub(crate) fn texts(&self, tokens: Range<usize>) -> &[u8] {
        let at = |index: usize| {
            self.tokens.get(index).map_or(self.texts.len(), |token| token.text as usize)
        };
        self.texts.get(at(tokens.start)..at(tokens.end)).unwrap_or_default()
    }

    /// The hash of each token.
    pub(crate) fn hashes(&self) -> Vec<u64> {
        self.tokens.iter().map(|token| token.hash).collect()
    }

    /// Each token with its kind, its line, its hash and its text.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LexemeKind, u32, u64, &[u8])> {
        self.tokens.iter().enumerate().map(|(index, token)| {
            let text = self.texts(index..index + 1);
            let text = text.strip_suffix(b"\0").unwrap_or(text);
            (token.kind, token.line, token.hash, text)
        })
    }
}

fn push_text(texts: &mut Vec<u8>, lexeme: Lexeme, bytes: &[u8], are_quotes_alike: bool) {
    let text = lexeme.text(bytes);
    let quote = text.first().copied().unwrap_or_default();
    if lexeme.kind != LexemeKind::Text || !are_quotes_alike || !matches!(quote, b'\'' | b'"') {
        texts.extend_from_slice(text);
        return;
    }
    let is_triple = text.len() >= 6 && text.get(..3).is_some_and(|marks| marks == [quote; 3]);
    let width = if is_triple { 3 } else { 1 };
    let inner = text.get(width..text.len().saturating_sub(width).max(width)).unwrap_or_default();
    texts.push(b'"');
    let mut rest = inner.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        // Which marks need a backslash depends on those around them.
        if byte == b'\\' && matches!(rest.peek(), Some(b'\'' | b'"')) {
            continue;
        }
        texts.push(byte);
        if byte == b'\\' {
            texts.extend(rest.next());
        }
    }
    texts.push(b'"');
}
