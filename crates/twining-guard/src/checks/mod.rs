//! Checks: each compares one kind of thing before and after a change.

pub mod claims;
pub mod feature_list;
pub mod forbidden_use;
mod imports;
mod lexer;
pub(crate) mod person_commands;
pub(crate) mod records;
pub mod tests_changed;
pub mod wiring;

/// Whether a list of words, separated by blanks, has this one.
pub(crate) fn contains(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}
