//! Bytes into text and back.
//!
//! DOT is UTF-8 unless it cannot be: a file that is not valid UTF-8 is read as
//! Latin-1 as a whole, one character a byte, so that two different ids never become
//! one and every byte is written back as it came.

use std::borrow::Cow;

/// How the bytes of a document become text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// The rule.
    #[default]
    Utf8,
    /// What is left when the bytes are not UTF-8.
    Latin1,
}

impl Charset {
    /// The one these bytes are in.
    #[must_use]
    pub fn of(source: &[u8]) -> Self {
        if std::str::from_utf8(source).is_ok() { Self::Utf8 } else { Self::Latin1 }
    }

    /// The text of these bytes.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Latin1 => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
        }
    }

    /// The bytes of this text, or the first character that has none in this charset.
    ///
    /// # Errors
    /// A character above U+00FF in Latin-1.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Latin1 => text
                .chars()
                .map(|letter| u8::try_from(u32::from(letter)).map_err(|_| letter))
                .collect(),
        }
    }
}
