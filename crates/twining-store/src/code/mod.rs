//! Source code as definitions: what a file of a working tree defines now, and what a version of it
//! in git defined.
//!
//! `local/code.db` keeps what was read, by git's name for the content, so that a branch that was
//! seen once is not read again. It is a cache: deleted at any moment, it changes no answer.

mod checkout_files;
mod code_index;
mod database;
mod moved_definition;
mod outline;

pub use code_index::{
    CodeIndex, CodeVersion, FileVersion, IndexedSource, READING_TIME, SourceLookup,
};
pub use database::{AssumedLines, MovedTo, SweepProgress};
pub use moved_definition::{
    DefinitionSearch, MAX_SEARCH_TIME, OutlineChange, SeenDefinition, find_moved_in_history,
    likeliest_move,
};
pub use outline::SourceOutline;
