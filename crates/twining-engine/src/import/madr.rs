//! The whole decision inside one of our own Markdown records.
//!
//! What people read in the record is not all of the decision. The rest stands in a
//! comment, and counts as long as nobody has edited what people read.

use twining_model::Decision;

use super::{SourceFile, origin};
use crate::lifecycle::madr_record;

const OPEN: &str = "<!-- twining-decision: ";
const CLOSE: &str = " -->";

/// A decision as a comment that no text inside it can end.
pub(crate) fn comment(decision: &Decision) -> String {
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

/// The decision in a record of ours that nobody edited; believed as far as any import is.
pub(super) fn whole(text: &str) -> Option<Decision> {
    let (_, rest) = text.rsplit_once(OPEN)?;
    let mut decision: Decision = serde_json::from_str(rest.split_once(CLOSE)?.0).ok()?;
    if madr_record(&decision) != text {
        return None;
    }
    decision.origin = Some(origin());
    Some(decision)
}

/// Whether a file is a table of contents of these records and nothing else: a title, a
/// line that says when it was made, and a link to each. It loses nothing not to be read.
pub(super) fn is_contents(name: &str, text: &str, files: &[SourceFile]) -> bool {
    let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let leads_to_record = |line: &str| {
        let target = line.rsplit_once("](").and_then(|(_, rest)| rest.split_once(')')).map(|(target, _)| target);
        target.is_some_and(|target| files.iter().any(|file| base(&file.name) == base(target)))
    };
    let is_known = |line: &str| {
        line.starts_with("# ")
            || line.starts_with("Exported ")
            || ((line.starts_with("- [") || line.starts_with("* [")) && leads_to_record(line))
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    matches!(base(name).as_str(), "index.md" | "readme.md") && lines().any(leads_to_record) && lines().all(is_known)
}
