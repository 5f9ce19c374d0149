//! A record as the audit sees it.

use twining_model::{AnchoredRecord, Decision, text};

/// Characters of a summary that are shown.
const SUMMARY: usize = 100;

/// A decision that binds, or an entry that is open.
pub(super) struct AuditedRecord {
    /// Its kind and id.
    pub name: AnchoredRecord,
    /// `decision`, or the type of the entry.
    pub kind: String,
    pub scope: String,
    pub summary: String,
    /// All that it says.
    pub text: String,
    /// The name of its vector.
    pub vector: u64,
    /// The decision, if it is one.
    pub decision: Option<Decision>,
}

impl AuditedRecord {
    /// How to end it.
    pub(super) fn way_out(&self) -> String {
        let id = self.name.id();
        match self.decision {
            Some(_) => format!("`twining reconsider {id}`, or a decision that supersedes it"),
            None => format!("`twining dismiss {id}`"),
        }
    }
}

/// Words without case and layout, to be compared.
pub(super) fn folded(words: &str) -> String {
    words.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As much of a summary as is shown.
pub(super) fn short(summary: &str) -> String {
    text::excerpt(summary, SUMMARY)
}
