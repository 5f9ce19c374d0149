//! What a command line would do, as far as it is plain.
//!
//! The line is parsed with a grammar of our own (`grammar`), then interpreted without
//! running anything (`interpreter`): variables the line sets itself, `cd`, literal loops,
//! here-documents, `bash -c` and `eval` once. Programs that write named files are known
//! (`programs`, `git`); every other program runs unpredicted. What has an unknown part is
//! never guessed: it becomes one line of `unread`.
//!
//! Work is bounded by counts, never by a clock: the same line gets the same answer.

#[cfg(test)]
mod fuzz;
mod git;
mod grammar;
mod interpreter;
mod program_text;
mod programs;
#[cfg(test)]
mod tests;
mod words;

pub use interpreter::{
    MAX_BYTES, ShellEffects, ShellError, ShellWrite, SimpleCommand, WriteKind, read,
    simple_commands,
};
