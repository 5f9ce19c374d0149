//! Text to words, the way BERT was trained: lower case, no accents, punctuation apart.
//!
//! Control characters vanish, each Chinese character is a word, each punctuation
//! mark is a word, blanks separate. One pass; a character is looked at once.

use std::ops::ControlFlow;

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::model_file::{ModelFile, SLOTS};

/// Words of more characters are not looked up.
const LONGEST_WORD: usize = 100;

/// One word.
pub enum TextWord<'a> {
    /// To be looked up.
    Known(&'a str),
    /// Too long to be looked up.
    TooLong,
}

/// Calls `each` with every word of `text` until it breaks.
pub fn words(text: &str, each: &mut dyn FnMut(TextWord<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
    let mut pending = WordBuffer { word: String::new(), characters: 0, each };
    for c in text.chars() {
        match kind(c) {
            CharClass::Letter if c.is_ascii() => pending.letter(c.to_ascii_lowercase()),
            CharClass::Letter => pending.decompose(c)?,
            CharClass::Blank => pending.finish()?,
            CharClass::Alone => {
                pending.finish()?;
                pending.decompose(c)?;
                pending.finish()?;
            }
            CharClass::Dropped => {}
        }
    }
    pending.finish()
}

enum CharClass {
    Letter,
    Blank,
    /// A word by itself.
    Alone,
    Dropped,
}

fn kind(c: char) -> CharClass {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => CharClass::Letter,
        ' ' | '\t' | '\n' | '\r' => CharClass::Blank,
        '\0'..='\u{7f}' => {
            if c.is_ascii_punctuation() {
                CharClass::Alone
            } else {
                CharClass::Dropped
            }
        }
        '\u{fffd}' => CharClass::Dropped,
        _ if is_chinese(c) => CharClass::Alone,
        _ => match c.general_category() {
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse => {
                CharClass::Dropped
            }
            _ if c.is_whitespace() => CharClass::Blank,
            _ => CharClass::Letter,
        },
    }
}

/// The blocks of Chinese characters that the original names; kana and hangul are not among them.
fn is_chinese(c: char) -> bool {
    matches!(
        u32::from(c),
        0x3400..=0x4dbf
            | 0x4e00..=0x9fff
            | 0xf900..=0xfaff
            | 0x20000..=0x2a6df
            | 0x2a700..=0x2b73f
            | 0x2b740..=0x2b81f
            | 0x2b920..=0x2ceaf
            | 0x2f800..=0x2fa1f
    )
}

/// The word being put together.
struct WordBuffer<'a> {
    word: String,
    characters: usize,
    each: &'a mut dyn FnMut(TextWord<'_>) -> ControlFlow<()>,
}

impl WordBuffer<'_> {
    fn letter(&mut self, c: char) {
        self.characters += 1;
        // A word that is too long is never read, so it need not be kept.
        if self.characters <= LONGEST_WORD {
            self.word.push(c);
        }
    }

    /// Takes a character apart, leaves out its accents, and lowers the rest.
    fn decompose(&mut self, c: char) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        decompose_canonical(c, |part| {
            if flow.is_break() || part.general_category() == GeneralCategory::NonspacingMark {
                return;
            }
            for lower in part.to_lowercase() {
                if lower.is_ascii_punctuation()
                    || lower.general_category_group() == GeneralCategoryGroup::Punctuation
                {
                    flow = self.alone(lower);
                } else {
                    self.letter(lower);
                }
            }
        });
        flow
    }

    fn alone(&mut self, c: char) -> ControlFlow<()> {
        self.finish()?;
        self.letter(c);
        self.finish()
    }

    fn finish(&mut self) -> ControlFlow<()> {
        let flow = match self.characters {
            0 => ControlFlow::Continue(()),
            1..=LONGEST_WORD => (self.each)(TextWord::Known(&self.word)),
            _ => (self.each)(TextWord::TooLong),
        };
        self.word.clear();
        self.characters = 0;
        flow
    }
}

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

/// The bytes of the longest piece.
const LONGEST: usize = 18;
/// What pieces that continue a word are spelled with in front.
const CONTINUES: &[u8] = b"##";

/// Position of a piece in its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordPosition {
    /// At the beginning.
    Start,
    /// After another piece.
    Inside,
}

/// The table, probed in place.
pub struct Vocabulary<'a> {
    /// Number + 1 of the piece in this slot; zero is empty.
    locations: &'a [u16],
    /// Where each piece's spelling ends.
    ends: &'a [u32],
    spellings: &'a [u8],
}

impl<'a> Vocabulary<'a> {
    /// The vocabulary of a model.
    pub fn of(layout: &'a ModelFile) -> Self {
        Self {
            locations: bytemuck::cast_slice(layout.section(0)),
            ends: bytemuck::cast_slice(layout.section(1)),
            spellings: layout.section(2),
        }
    }

    /// The longest piece that `rest` begins with: its number and its length.
    ///
    /// Bytes, not characters: no piece ends inside a character, so none matches there.
    pub fn longest(&self, rest: &[u8], place: WordPosition) -> Option<(u32, usize)> {
        let mut hashes = [0; LONGEST];
        let mut hash = match place {
            WordPosition::Start => FNV_START,
            WordPosition::Inside => {
                CONTINUES.iter().fold(FNV_START, |hash, &byte| fnv1a(hash, byte))
            }
        };
        let reach = rest.len().min(LONGEST);
        for (slot, &byte) in hashes.iter_mut().zip(&rest[..reach]) {
            hash = fnv1a(hash, byte);
            *slot = hash;
        }
        (1..=reach).rev().find_map(|length| {
            Some((self.find(hashes[length - 1], &rest[..length], place)?, length))
        })
    }

    fn find(&self, hash: u32, spelling: &[u8], place: WordPosition) -> Option<u32> {
        let first = hash as usize % SLOTS;
        // At most once around: a forged table may have no empty slot.
        for step in 0..SLOTS {
            let number = u32::from(self.locations[(first + step) % SLOTS]).checked_sub(1)?;
            let found = self.spelling(number)?;
            let same = match place {
                WordPosition::Start => found == spelling,
                WordPosition::Inside => found.strip_prefix(CONTINUES) == Some(spelling),
            };
            if same {
                return Some(number);
            }
        }
        None
    }

    /// How a piece is spelled; none when a forged table leads astray.
    fn spelling(&self, number: u32) -> Option<&'a [u8]> {
        let number = number as usize;
        let start = if number == 0 { 0 } else { *self.ends.get(number - 1)? as usize };
        self.spellings.get(start..*self.ends.get(number)? as usize)
    }
}

const FNV_START: u32 = 0x811c_9dc5;

fn fnv1a(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}
