//! Edits carried out in memory, so that checks compare the file as it was with the
//! file as it would be, not with the text of the edit.

use std::borrow::Cow;

use memchr::memmem;

use crate::event::Replacement;

/// Bytes that the edits of one file may make, each the whole file once.
const MAX_EDITED_BYTES: usize = 64 * 1024 * 1024;
/// Places where all of them together may replace something everywhere.
const MAX_REPLACED: usize = 100_000;

/// Edits that nobody makes: to carry them out would take all the time there is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyEdits;

/// The text with replacements made one after another; none where one of them
/// finds nothing, as the tool itself will say.
pub(super) fn edited(before: &str, replacements: &[Replacement]) -> Result<Option<String>, TooManyEdits> {
    if before.len().saturating_mul(replacements.len()) > MAX_EDITED_BYTES {
        return Err(TooManyEdits);
    }
    let mut budget = EditBudget { bytes: MAX_EDITED_BYTES, places: MAX_REPLACED };
    let mut text = Cow::Borrowed(before);
    for Replacement { old, new, everywhere } in replacements {
        let found = memmem::find(text.as_bytes(), old.as_bytes());
        let edited = match (old.is_empty(), found, everywhere) {
            (true, ..) => new.clone(),
            (_, Some(at), false) => [&text[..at], new, &text[at + old.len()..]].concat(),
            (_, Some(_), true) => budget.replace_all(&text, old, new)?,
            // Hosts take straight quotes for curly ones, and CRLF for LF.
            (_, None, _) if normalized(&text).contains(&normalized(old)) => {
                budget.replace_all(&normalized(&text), &normalized(old), new)?
            }
            (_, None, _) => return Ok(None),
        };
        budget.bytes = budget.bytes.checked_sub(edited.len()).ok_or(TooManyEdits)?;
        text = Cow::Owned(edited);
    }
    Ok(Some(text.into_owned()))
}

/// What edits may still take.
struct EditBudget {
    bytes: usize,
    places: usize,
}

impl EditBudget {
    /// Replaces everywhere, once it is known how long the result is.
    fn replace_all(&mut self, text: &str, old: &str, new: &str) -> Result<String, TooManyEdits> {
        let places = memmem::find_iter(text.as_bytes(), old.as_bytes()).take(self.places + 1).count();
        self.places = self.places.checked_sub(places).ok_or(TooManyEdits)?;
        let length = places.checked_mul(new.len()).and_then(|added| added.checked_add(text.len()));
        if length.is_none_or(|length| length > self.bytes) { Err(TooManyEdits) } else { Ok(text.replace(old, new)) }
    }
}

fn normalized(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\u{2018}', '\u{2019}'], "'").replace(['\u{201c}', '\u{201d}'], "\"")
}
