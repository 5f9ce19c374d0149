//! Which tests a change removed, skipped, edited or emptied of assertions.
//!
//! Two versions of a file are read as tokens, so that layout, comments, quotes and
//! trailing commas do not count: a formatter's run is no edit. Reading is by convention,
//! not by a grammar: it makes a lazy change visible and decides nothing by itself.

mod compare;
mod definitions;
mod test_files;
#[cfg(test)]
mod tests;
mod tokens;

pub use compare::{TestChanges, compare_files};
pub use test_files::is_test_file;
