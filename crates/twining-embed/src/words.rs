//! Text to words, the way BERT was trained: lower case, no accents, punctuation apart.
//!
//! Control characters vanish, each Chinese character is a word, each punctuation
//! mark is a word, blanks separate. One pass; a character is looked at once.

use std::ops::ControlFlow;

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

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
            GeneralCategory::Control | GeneralCategory::Format | GeneralCategory::PrivateUse => CharClass::Dropped,
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
                if lower.is_ascii_punctuation() || lower.general_category_group() == GeneralCategoryGroup::Punctuation {
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
