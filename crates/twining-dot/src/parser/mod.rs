//! Tokens into statements, by recursive descent.
//!
//! An error never ends the reading: within an attribute list it goes on at the next
//! attribute, elsewhere at the next statement, so that one run reports everything.

mod cursor;
mod identifiers;
mod parse;

pub use parse::{DEEPEST, MOST_ERRORS};
pub(crate) use parse::{ParseOutput, parse};
