//! Merging: what two branches made of one file, as one file.
//!
//! Three texts in, one text out; no disk, no lock, no clock. Nothing is lost: what
//! only one side has stays, what both changed is joined field by field, and where
//! they truly disagree both words are kept and the record says so. Which side is
//! called ours makes no difference to the bytes.

mod conflict;
mod decision;
mod lines;
mod three_way;
pub mod tree;

pub(crate) use conflict::is_marker;
pub use conflict::{DECISION, HAS_CONFLICT_MARKERS, MergeFunctions, has_markers, one_decision, resolve_conflict, sides};
pub use decision::merge_decision;
pub use lines::merge_lines;
pub use three_way::{CLASHES, FieldConflict, RecordMerge};

/// What came of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The file.
    pub text: Vec<u8>,
    /// Where both sides had their own word, and both were kept; one line each.
    pub contested: Vec<String>,
}

/// Why nothing was merged; ours stands as it is, and people settle it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileMergeError {
    /// A side cannot be read.
    #[error("{side} cannot be read: {why}")]
    Unreadable {
        /// Which side.
        side: &'static str,
        /// Why.
        why: String,
    },
    /// The sides speak of different things.
    #[error("{0}")]
    Unlike(String),
}

/// Three versions of a file.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'t> {
    /// What both started from; empty if there is none.
    pub base: &'t [u8],
    /// One side.
    pub ours: &'t [u8],
    /// The other.
    pub theirs: &'t [u8],
}

impl<'t> Versions<'t> {
    /// The answer where it needs no thought: both agree, or only one changed.
    #[must_use]
    pub fn trivial_merge(&self) -> Option<Merged> {
        let text = if self.ours == self.theirs || self.theirs == self.base {
            self.ours
        } else if self.ours == self.base {
            self.theirs
        } else {
            return None;
        };
        Some(Merged { text: text.to_vec(), contested: Vec::new() })
    }

    /// The two sides in an order of their own, so that it does not matter who merges.
    #[must_use]
    pub fn ordered(&self) -> (&'t [u8], &'t [u8]) {
        if self.ours <= self.theirs { (self.ours, self.theirs) } else { (self.theirs, self.ours) }
    }

    /// What a person calls this side.
    #[must_use]
    pub fn name(&self, side: &[u8]) -> &'static str {
        if side == self.ours { "our side" } else { "their side" }
    }
}

#[cfg(test)]
mod tests;
