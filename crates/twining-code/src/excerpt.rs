//! Words and lines of a piece of code, beside which a statement about it is held.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use xxhash_rust::xxh3::xxh3_64;

use crate::lexer::{LexRules, LexemeKind, TokenStream};

/// Letters that a witness has at least.
const FEWEST_LETTERS: usize = 4;

/// Digits that a number has at least to be a witness.
const FEWEST_DIGITS: usize = 2;

/// The words and lines of a piece of code, without comments and docstrings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Its identifiers, keywords and numbers, and the words in its strings.
    pub words: BTreeSet<String>,
    /// For each line with a token: the low half of the hash of its tokens.
    pub lines: Vec<u32>,
}

impl Excerpt {
    /// Reads some lines of a file, counted from 1.
    #[must_use]
    pub fn read(path: &str, bytes: &[u8], lines: &RangeInclusive<u32>) -> Self {
        let tokens = TokenStream::read(bytes, LexRules::of_path(path), &[]);
        let mut excerpt = Self::default();
        let mut open: Option<(u32, Vec<u8>)> = None;
        for (kind, line, _, text) in tokens.iter().filter(|token| lines.contains(&token.1)) {
            if open.as_ref().is_some_and(|(number, _)| *number != line) {
                excerpt.close_line(open.take());
            }
            let (_, texts) = open.get_or_insert((line, Vec::new()));
            texts.extend_from_slice(text);
            texts.push(0);
            if kind != LexemeKind::Sign {
                excerpt.words.extend(words(&String::from_utf8_lossy(text)).map(str::to_owned));
            }
        }
        excerpt.close_line(open);
        excerpt
    }

    fn close_line(&mut self, line: Option<(u32, Vec<u8>)>) {
        let low = |hash: u64| u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default();
        self.lines.extend(line.map(|(_, texts)| low(xxh3_64(&texts))));
    }

    /// The words of a statement that stand in this code, in their order: its witnesses. The name
    /// of the definition itself and words that are in every text or every code are none.
    #[must_use]
    pub fn witnesses(&self, statement: &str, own_name: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for word in words(statement).filter(|word| is_telling(word)) {
            let is_own = own_name.split('.').any(|part| part == word);
            if !is_own && self.words.contains(word) && !found.iter().any(|one| one == word) {
                found.push(word.to_owned());
            }
        }
        found
    }
}

/// For each of some lines of a file that has tokens: the low half of the hash of its tokens.
/// Lines are counted from 1; those with nothing but comments are passed over.
#[must_use]
pub fn line_hashes(path: &str, bytes: &[u8], lines: &RangeInclusive<u32>) -> Vec<u32> {
    Excerpt::read(path, bytes, lines).lines
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
        .filter(|word| !word.is_empty())
}

fn is_telling(word: &str) -> bool {
    let length = word.chars().count();
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return length >= FEWEST_DIGITS;
    }
    length >= FEWEST_LETTERS && STOP_WORDS.binary_search(&word.to_lowercase().as_str()).is_err()
}

/// Words of every text and keywords of every code, sorted.
const STOP_WORDS: &[&str] = &[
    "about",
    "after",
    "also",
    "async",
    "await",
    "because",
    "been",
    "before",
    "being",
    "bool",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "does",
    "each",
    "elif",
    "else",
    "enum",
    "even",
    "every",
    "except",
    "false",
    "finally",
    "float",
    "from",
    "func",
    "function",
    "have",
    "here",
    "impl",
    "import",
    "into",
    "just",
    "lambda",
    "like",
    "make",
    "match",
    "more",
    "most",
    "must",
    "need",
    "none",
    "null",
    "only",
    "other",
    "over",
    "pass",
    "private",
    "public",
    "raise",
    "return",
    "same",
    "self",
    "should",
    "some",
    "static",
    "string",
    "struct",
    "such",
    "super",
    "switch",
    "than",
    "that",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "this",
    "those",
    "throw",
    "trait",
    "true",
    "type",
    "undefined",
    "under",
    "until",
    "used",
    "uses",
    "using",
    "void",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "without",
    "would",
    "yield",
    "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_words_are_sorted_and_small() {
        assert!(STOP_WORDS.windows(2).all(|two| two[0] < two[1]));
        assert!(STOP_WORDS.iter().all(|word| word.len() >= FEWEST_LETTERS));
    }
}
