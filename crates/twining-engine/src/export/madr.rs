//! The whole decision inside one of our own Markdown records.
//!
//! What people read in the record is not all of the decision. The rest stands in a
//! comment, and counts as long as nobody has edited what people read.

use twining_model::Decision;

use super::markdown::record;

const OPEN: &str = "<!-- twining-decision: ";
const CLOSE: &str = " -->";

/// A decision as a comment that no text inside it can end.
pub(super) fn comment(decision: &Decision) -> String {
    let json = serde_json::to_string(decision).unwrap_or_default();
    let mut safe = String::with_capacity(json.len());
    let mut units = [0_u16; 2];
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' => safe.push_str(&format!("\\u{:04x}", letter as u32)),
            '-' if safe.ends_with('-') => safe.push_str("\\u002d"),
            _ if letter.is_ascii() => safe.push(letter),
            _ => letter.encode_utf16(&mut units).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    format!("{OPEN}{safe}{CLOSE}\n")
}

/// The decision in a record of ours that nobody edited.
pub(crate) fn decision_in(text: &str) -> Option<Decision> {
    let (_, rest) = text.rsplit_once(OPEN)?;
    let decision: Decision = serde_json::from_str(rest.split_once(CLOSE)?.0).ok()?;
    (record(&decision) == text).then_some(decision)
}
