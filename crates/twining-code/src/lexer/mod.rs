//! Tokens of source text by rules of our own, so that hashes do not change with a grammar.
//!
//! `scan` cuts bytes into lexemes and leaves comments and white space out, `layout` drops what
//! formatters add and remove, `stream` keeps the rest with a hash of each token.

mod layout;
mod rules;
mod scan;
mod stream;
mod strings;

pub(crate) use rules::LexRules;
pub(crate) use scan::LexemeKind;
pub(crate) use stream::TokenStream;
