//! Words to tokens: the longest piece first, then the longest that continues it.
//!
//! A text that spells `[SEP]` gets brackets and letters, not the mark itself: texts
//! are material, and cannot speak to the model in its own signs.

use std::ops::ControlFlow;

use crate::lookup::{Vocabulary, WordPosition};
use crate::words::{TextWord, words};

/// Stands for a word no pieces spell.
pub const UNKNOWN: u32 = 100;
/// Opens every sequence.
pub const OPEN: u32 = 101;
/// Closes every sequence.
pub const CLOSE: u32 = 102;

/// The first `most` tokens of a text, without the opening and closing ones.
pub fn tokens(lookup: &Vocabulary<'_>, text: &str, most: usize) -> Vec<u32> {
    let mut tokens = Vec::new();
    // Broken off when there are enough: the rest of a long text is never looked at.
    let _ = words(text, &mut |word| {
        match word {
            TextWord::Known(word) => split(lookup, word.as_bytes(), &mut tokens),
            TextWord::TooLong => tokens.push(UNKNOWN),
        }
        if tokens.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    tokens.truncate(most);
    tokens
}

fn split(lookup: &Vocabulary<'_>, word: &[u8], tokens: &mut Vec<u32>) {
    let before = tokens.len();
    let (mut rest, mut place) = (word, WordPosition::Start);
    while !rest.is_empty() {
        let Some((number, length)) = lookup.longest(rest, place) else {
            // One part that cannot be spelled makes the whole word unknown.
            tokens.truncate(before);
            tokens.push(UNKNOWN);
            return;
        };
        tokens.push(number);
        (rest, place) = (&rest[length..], WordPosition::Inside);
    }
}
