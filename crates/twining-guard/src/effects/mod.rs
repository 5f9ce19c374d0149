//! What a tool call would change, worked out in memory.
//!
//! Files are only read, through [`Files`]. What cannot be worked out is listed in
//! [`Effects::unread`] and judged by nobody: predicting all that a shell could do
//! is not the aim, predicting plain edits and plain command lines is.

mod file_changes;
pub mod shell;
mod simulated_edits;

pub use file_changes::{ChangeExtent, Effects, FileAccess, FileChange, NewContent};
