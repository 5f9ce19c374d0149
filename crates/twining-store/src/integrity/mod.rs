//! Integrity: whether the records that git has are still there and say the same.
//!
//! Stateless. What git committed is the only witness: a record that a commit has
//! and that is gone, altered or unreadable now is a [`Difference`]. Nothing is
//! remembered between two calls, nobody is accused, and nothing is put right here.

mod permitted_changes;
mod record_diff;
#[cfg(test)]
mod tests;

pub use record_diff::{Difference, DifferenceKind, RecordKind, RecordTree, compare_changed};
