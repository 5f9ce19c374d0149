//! What a command line would do, as far as it is plain.
//!
//! The line is parsed with a grammar of our own (`grammar`), then interpreted without
//! running anything (`interpreter`): variables the line sets itself, `cd`, literal loops,
//! here-documents, `bash -c` and `eval` once. Programs that write named files are known
//! (`programs`, `git`); every other program runs unpredicted. What has an unknown part is
//! never guessed: it becomes one line of `unread`.
//!
//! Work is bounded by counts, never by a clock: the same line gets the same answer.

mod arguments;
mod code;
mod cwd;
mod git;
mod grammar;
mod interpreter;
mod programs;
mod text;
mod words;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;

/// Longest line that is read.
pub const MAX_BYTES: usize = 256 * 1024;
/// Most commands of one line, those of loops counted each time.
const MAX_COMMANDS: usize = 4_096;
/// Most files that one line may write.
const MAX_WRITES: usize = 4_096;
/// Most levels of commands in commands.
const MAX_DEPTH: usize = 32;
/// Most work on one line: one for each command and part of a word, one for each 64 bytes of text.
const MAX_STEPS: usize = 32_768;
/// Most lines of `unread`.
const MAX_UNREAD: usize = 64;

/// What a command line would do, as far as it is plain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellEffects {
    /// Files that it writes or removes, in order, each effect once.
    pub writes: Vec<ShellWrite>,
    /// Every simple command that would run, wrappers such as `sudo` taken off.
    pub commands: Vec<SimpleCommand>,
    /// Literal text that it puts into files.
    pub inserted: Vec<String>,
    /// What could not be read, each in a few words; empty for plain lines.
    pub unread: Vec<String>,
}

/// One program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The words, with unknown parts as `$name` or `$(…)`.
    pub words: Vec<String>,
}

/// One effect on one path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShellWrite {
    /// The path relative to where the line starts; absolute paths and `~` are kept. A
    /// glob stays as written.
    pub path: String,
    /// What happens to it.
    pub kind: WriteKind,
    /// The program that does it, or the redirection operator.
    pub by: String,
}

/// What happens to a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WriteKind {
    /// It is written from its beginning.
    Create {
        /// The whole content, where the line holds it.
        content: Option<String>,
    },
    /// Something is added at its end.
    Append {
        /// What is added, where the line holds it.
        content: Option<String>,
    },
    /// It is changed in place; its new content is unknown.
    Edit,
    /// It is removed.
    Remove,
    /// It and everything below it are removed.
    RemoveTree,
    /// It becomes a copy of another file.
    Copy {
        /// That file.
        from: String,
    },
    /// Another file takes its place.
    Move {
        /// That file.
        from: String,
    },
    /// Its mode, owner or time changes; its content stays.
    Metadata,
    /// Uncommitted work at and below it is thrown away.
    Discard,
}

/// Why a whole line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellError {
    /// It is longer than [`MAX_BYTES`].
    #[error("the command is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// It has more commands, files or levels than are followed.
    #[error("the command takes too many steps to read")]
    TooManySteps,
    /// Bash would refuse it.
    #[error("the command is not valid bash")]
    NotBash,
}

/// Reads a command line.
pub fn read(line: &str) -> Result<ShellEffects, ShellError> {
    if line.len() > MAX_BYTES {
        return Err(ShellError::TooLong);
    }
    let mut shell = interpreter::Interpreter::default();
    grammar::run(line, &mut shell)?;
    shell.charge(0)?;
    Ok(shell.effects)
}

/// The words of each command of a line; none where the line cannot be read.
pub fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let effects = read(line).unwrap_or_default();
    effects.commands.into_iter().map(|command| command.words).collect()
}
