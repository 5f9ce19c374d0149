//! Merging: what two branches made of one file, as one file.
//!
//! Three texts in, one text out; no disk, no lock, no clock. Nothing is lost: what
//! only one side has stays, what both changed is joined field by field, and where
//! they truly disagree both words are kept and the record says so. Which side is
//! called ours makes no difference to the bytes.

mod file_merge;
pub mod lossless_json;
mod record_merge;
#[cfg(test)]
mod tests;

pub(crate) use file_merge::is_marker;
pub use file_merge::merge_decision;
pub use file_merge::merge_lines;
pub use file_merge::{
    DECISION, HAS_CONFLICT_MARKERS, MergeFunctions, has_markers, one_decision, resolve_conflict,
    sides,
};
pub use file_merge::{FileMergeError, Merged, Versions};
pub use record_merge::{CLASHES, FieldConflict, RecordMerge};
