//! The entry that a verification leaves: there to be looked up. An agent with a task
//! has nothing from it.

use twining_model::Entry;

/// Its tag.
pub(crate) const VERIFIED_TAG: &str = "verification";
/// How its summary begins.
pub(crate) const VERIFIED: &str = "Verified ";

/// Whether an entry only says that a scope was verified.
pub(crate) fn is_report(entry: &Entry) -> bool {
    entry.tags.iter().any(|tag| tag == VERIFIED_TAG) && entry.summary.starts_with(VERIFIED)
}
