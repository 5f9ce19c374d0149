//! Checks: each compares one kind of thing before and after a change.

pub mod tests_changed;
