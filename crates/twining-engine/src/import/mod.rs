//! Importing: what other tools wrote down, as records of ours.
//!
//! A reader takes texts and says what it found and, with its line, what it could
//! not read. Every record gets the id that its source always gives, so that
//! importing twice is importing once. What comes in is marked as imported and
//! believed no further; nothing in it is carried out.

mod adr;
mod apply;
mod claude_md;
mod json_lines;
mod markdown;
mod reader;
#[cfg(test)]
mod tests;
mod twining_folder;

pub use apply::{ImportCounts, ImportMode, ImportOutcome};
pub use reader::{ImportProblem, ImportRecords, ImportSource, ImportedFile, read};
pub use twining_folder::FOLDER_FILES;
