//! Whether code is still what it was when something was said about it.
//!
//! A change of code seldom makes a statement false, so drift is graded by likeness, and only
//! the upper grade asks for attention.

use crate::definition::Definition;
use crate::excerpt::Excerpt;
use crate::sketch::{FEWEST_TOKENS, Sketch, likeness};

/// From this likeness on, code was merely touched.
const TOUCHED: f64 = 0.8;

/// Under this likeness, code was rewritten.
const REWRITTEN: f64 = 0.5;

/// What was seen of a definition when something was said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Hash of the signature.
    pub signature: u64,
    /// Hash of the body.
    pub body: u64,
    /// For the likeness.
    pub sketch: Sketch,
    /// How many tokens it had.
    pub tokens: u32,
    /// Words of the statement that stood in the code.
    pub words: Vec<String>,
    /// Hashes of the lines that the statement names.
    pub lines: Vec<u32>,
}

impl Sighting {
    /// A definition as it is now, with the words and lines of what is said about it.
    #[must_use]
    pub fn of(definition: &Definition, words: Vec<String>, lines: Vec<u32>) -> Self {
        Self {
            signature: definition.signature,
            body: definition.body,
            sketch: definition.sketch,
            tokens: definition.tokens,
            words,
            lines,
        }
    }
}

/// How much of a statement's code is left, from all to little.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freshness {
    /// The same tokens.
    Fresh,
    /// Changed a little.
    Touched,
    /// Changed.
    Drifted,
    /// Changed so that the statement is in doubt.
    Doubtful {
        /// Why it is.
        reason: Doubt,
    },
}

/// Why a statement is in doubt; at least one holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Doubt {
    /// The statement's words that left the code.
    pub words_gone: Vec<String>,
    /// Two thirds of the named lines changed, or more: how many.
    pub lines_changed: Option<u32>,
    /// Less than half of the code is left.
    pub is_rewritten: bool,
}

/// A freshness and what it was told by.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The state.
    pub freshness: Freshness,
    /// How alike the code is; nothing where there is too little code to say.
    pub likeness: Option<f64>,
    /// Whether the signature is another one.
    pub is_signature_changed: bool,
}

/// Holds a definition against what was seen of it. `excerpt` reads its lines; it is asked only
/// if the code changed and the sighting has words or lines.
pub fn judge(seen: &Sighting, now: &Definition, excerpt: impl FnOnce() -> Excerpt) -> Judgement {
    let is_signature_changed = seen.signature != now.signature;
    if !is_signature_changed && seen.body == now.body {
        return Judgement {
            freshness: Freshness::Fresh,
            likeness: Some(1.0),
            is_signature_changed,
        };
    }
    let is_enough = seen.tokens.min(now.tokens) >= FEWEST_TOKENS;
    let likeness = is_enough.then(|| likeness(&seen.sketch, &now.sketch));
    let reason = doubt(seen, likeness, excerpt);
    let freshness = if reason != Doubt::default() {
        Freshness::Doubtful { reason }
    } else if likeness.is_some_and(|likeness| likeness >= TOUCHED) {
        Freshness::Touched
    } else {
        Freshness::Drifted
    };
    Judgement { freshness, likeness, is_signature_changed }
}

fn doubt(seen: &Sighting, likeness: Option<f64>, excerpt: impl FnOnce() -> Excerpt) -> Doubt {
    let is_rewritten = likeness.is_some_and(|likeness| likeness < REWRITTEN);
    if seen.words.is_empty() && seen.lines.is_empty() {
        return Doubt { is_rewritten, ..Doubt::default() };
    }
    let now = excerpt();
    let words_gone = seen.words.iter().filter(|word| !now.words.contains(*word)).cloned().collect();
    let gone = seen.lines.iter().filter(|line| !now.lines.contains(line)).count();
    let lines_changed = (gone > 0 && gone * 3 >= seen.lines.len() * 2)
        .then(|| u32::try_from(gone).unwrap_or(u32::MAX));
    Doubt { words_gone, lines_changed, is_rewritten }
}
