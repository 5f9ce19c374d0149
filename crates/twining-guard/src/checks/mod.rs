//! Checks: each compares one kind of thing before and after a change.

pub mod claims;
pub mod feature_list;
pub mod forbidden_use;
mod imports;
mod languages;
mod lexer;
pub(crate) mod records;
pub mod tests_changed;
pub mod wiring;
