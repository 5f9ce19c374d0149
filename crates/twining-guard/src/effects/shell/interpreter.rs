//! What is known while a line is followed, and what it was found to do.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use crate::effects::shell::grammar;
use crate::effects::shell::words::{ShellWord, WordPart};

/// Longest value of a variable that is followed.
const MAX_VALUE: usize = 4_096;

#[derive(Default)]
pub(super) struct Interpreter {
    pub(super) effects: ShellEffects,
    pub(super) state: ShellState,
    /// Levels of commands around the one that is parsed.
    pub(super) depth: usize,
    pub(super) written: HashSet<ShellWrite>,
    steps: usize,
    /// Whether this line is inside another: `bash -c`, `eval`.
    is_nested: bool,
}

/// What a subshell has for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellState {
    pub(super) dir: WorkingDir,
    /// Variables that the line itself sets.
    pub(super) variables: Rc<BTreeMap<String, ShellWord>>,
}

impl ShellState {
    /// Keeps what holds whichever of two ways was gone.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.dir != other.dir {
            self.dir.lost_by = Some("cd".to_owned());
        }
        if self.variables != other.variables {
            Rc::make_mut(&mut self.variables)
                .retain(|name, value| other.variables.get(name) == Some(value));
        }
    }
}

/// What a command prints, as far as the line says.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandOutput {
    pub(super) text: String,
    /// Whether there is more that is not known.
    pub(super) is_partial: bool,
}

impl CommandOutput {
    pub(super) fn unknown() -> Self {
        Self { text: String::new(), is_partial: true }
    }

    pub(super) fn of(value: &ShellWord) -> Self {
        Self { text: value.text_lossy(), is_partial: value.known().is_none() }
    }

    pub(super) fn whole(&self) -> Option<&str> {
        (!self.is_partial).then_some(self.text.as_str())
    }

    /// The write of all that is printed.
    pub(super) fn written(&self, appends: bool) -> WriteKind {
        let content = self.whole().map(str::to_owned);
        if appends { WriteKind::Append { content } } else { WriteKind::Create { content } }
    }
}

impl Interpreter {
    /// Interprets a nested command line, one level deep only.
    pub(super) fn run_nested(&mut self, program: &str, line: &str) -> CommandOutput {
        if !std::mem::replace(&mut self.is_nested, true) {
            let depth = self.depth;
            let output = grammar::run(line, self);
            (self.is_nested, self.depth) = (false, depth);
            if let Ok(output) = output {
                return output;
            }
        }
        self.note(format!("the command run by `{program}`"));
        CommandOutput::unknown()
    }

    /// Follows something that keeps its folder and its variables to itself.
    pub(super) fn in_subshell<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let state = self.state.clone();
        let result = run(self);
        self.state = state;
        result
    }

    /// Counts work. Once too much is done, everything stops at the next word.
    pub(super) fn charge(&mut self, steps: usize) -> Result<(), ShellError> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS { Err(ShellError::TooManySteps) } else { Ok(()) }
    }

    /// Remembers the value of a variable.
    pub(super) fn assign(&mut self, name: &str, value: ShellWord) {
        let length: usize = value.0.iter().map(|part| 64 + part.shown().len()).sum();
        self.forget(name);
        if length <= MAX_VALUE {
            Rc::make_mut(&mut self.state.variables).insert(name.to_owned(), value);
        }
    }

    /// From here on the value of a variable is not known.
    pub(super) fn forget(&mut self, name: &str) {
        if self.state.variables.contains_key(name) {
            Rc::make_mut(&mut self.state.variables).remove(name);
        }
    }

    /// Adds a line to what could not be read.
    pub(super) fn note(&mut self, what: String) {
        if self.effects.unread.len() < MAX_UNREAD && !self.effects.unread.contains(&what) {
            self.effects.unread.push(what);
        }
    }

    /// Writes the file that a word names, if it can be named.
    pub(super) fn write(&mut self, target: &ShellWord, kind: WriteKind, by: &str) {
        let located = self.state.dir.locate(target);
        self.write_located(located, kind, by);
    }

    pub(super) fn write_located(&mut self, located: WordTarget, kind: WriteKind, by: &str) {
        match located {
            WordTarget::Nowhere => {}
            WordTarget::Unclear(what) => self.note(what),
            WordTarget::Path(path) => {
                let write = ShellWrite { path, kind, by: by.to_owned() };
                let steps = if self.written.len() < MAX_WRITES { 1 } else { MAX_STEPS };
                if self.charge(steps).is_ok() && self.written.insert(write.clone()) {
                    self.effects.writes.push(write);
                }
            }
        }
    }
}

/// Longest path of a folder that is followed.
const MAX_PATH: usize = 1_024;

/// The folder that the next command runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkingDir {
    /// Relative to where the line starts.
    path: String,
    /// The command after which the path is no longer known.
    pub(super) lost_by: Option<String>,
    previous: Option<String>,
    /// What `popd` goes back to.
    stack: Vec<String>,
}

/// What a word names where a file is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordTarget {
    Path(String),
    /// No file of interest: a device, a descriptor, a process.
    Nowhere,
    /// A file whose name is not known, in a few words.
    Unclear(String),
}

impl WorkingDir {
    /// The folder as a place in a word: `$PWD`.
    pub(super) fn place(&self) -> Option<&str> {
        self.lost_by.is_none().then_some(self.path.as_str())
    }

    /// Follows `cd`, `pushd` and `popd`.
    pub(super) fn change(&mut self, program: &str, folder: Option<&ShellWord>) {
        let before = self.place().map(str::to_owned);
        let shown = format!("{program} {}", folder.map(ShellWord::text_lossy).unwrap_or_default())
            .trim_end()
            .to_owned();
        let next = match (program, folder) {
            ("popd", _) => self.stack.pop(),
            (_, None) => (program == "cd").then(|| "~".to_owned()),
            (_, Some(folder)) if folder.known().as_deref() == Some("-") => self.previous.clone(),
            (_, Some(folder)) => match self.locate(folder) {
                WordTarget::Path(path)
                    if path.len() < MAX_PATH && !path.contains(['*', '?', '[']) =>
                {
                    Some(if path == "." { String::new() } else { path })
                }
                _ => None,
            },
        };
        self.stack.extend(before.clone().filter(|_| program == "pushd"));
        self.previous = before;
        self.lost_by = next.is_none().then_some(shown);
        self.path = next.unwrap_or_default();
    }

    /// The file that a word names here.
    pub(super) fn locate(&self, word: &ShellWord) -> WordTarget {
        let text = word.text_lossy();
        if text.is_empty()
            || text == "-"
            || text.starts_with("/dev/")
            || text.starts_with("<(")
            || text.starts_with(">(")
        {
            return WordTarget::Nowhere;
        }
        let (place, parts) = match word.0.split_first() {
            Some((WordPart::Place(_, path), rest)) => (Some(path), rest),
            _ => (None, word.0.as_slice()),
        };
        if parts.iter().any(|part| matches!(part, WordPart::Unknown(_) | WordPart::Place(..))) {
            // Whatever the rest is called, the project is elsewhere.
            let is_temporary =
                text.starts_with("/tmp/") || place.is_some_and(|place| place.starts_with("/tmp"));
            return if is_temporary {
                WordTarget::Nowhere
            } else {
                WordTarget::Unclear(format!("the file named by `{text}`"))
            };
        }
        let named: String = parts
            .iter()
            .map(|part| if part.shown().starts_with('{') { "*" } else { part.shown() })
            .collect();
        let path = match (place, &self.lost_by) {
            (Some(place), _) => format!("{place}{named}"),
            _ if named.starts_with(['/', '~'])
                || (self.path.is_empty() && self.lost_by.is_none()) =>
            {
                named
            }
            (None, Some(by)) => {
                return WordTarget::Unclear(format!("the path `{text}` after `{by}`"));
            }
            (None, None) => format!("{}/{named}", self.path),
        };
        // `$PWD/x` at the start of the line is `x`.
        let path = normalize(if place.is_some_and(String::is_empty) {
            path.trim_start_matches('/')
        } else {
            &path
        });
        // Before a pattern a folder has to be named.
        let folder = path
            .split(['*', '?', '['])
            .next()
            .and_then(|before| before.rsplit_once('/'))
            .map_or("", |(folder, _)| folder);
        let is_pattern = parts.iter().any(|part| matches!(part, WordPart::Glob(_)));
        if is_pattern && folder.split('/').all(|name| matches!(name, "" | ".." | "~")) {
            return WordTarget::Unclear(format!("the files named by `{text}`"));
        }
        WordTarget::Path(path)
    }
}

/// The path without `.`, and without `..` that follows a name; `.` if nothing is left.
fn normalize(path: &str) -> String {
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match (name, names.last()) {
            ("..", Some(last)) if !matches!(*last, ".." | "~") => drop(names.pop()),
            ("..", None) if !root.is_empty() => {}
            _ => names.push(name),
        }
    }
    let path = format!("{root}{}", names.join("/"));
    if path.is_empty() { ".".to_owned() } else { path }
}

/// Longest line that is read.
pub const MAX_BYTES: usize = 256 * 1024;
/// Most commands of one line, those of loops counted each time.
pub(super) const MAX_COMMANDS: usize = 4_096;
/// Most files that one line may write.
pub(super) const MAX_WRITES: usize = 4_096;
/// Most levels of commands in commands.
pub(super) const MAX_DEPTH: usize = 32;
/// Most work on one line: one for each command and part of a word, one for each 64 bytes of text.
pub(super) const MAX_STEPS: usize = 32_768;
/// Most lines of `unread`.
pub(super) const MAX_UNREAD: usize = 64;

/// What a command line would do, as far as it is plain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellEffects {
    /// Files that it writes or removes, in order, each effect once.
    pub writes: Vec<ShellWrite>,
    /// Every simple command that would run, wrappers such as `sudo` taken off.
    pub commands: Vec<SimpleCommand>,
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
    let mut shell = super::interpreter::Interpreter::default();
    super::grammar::run(line, &mut shell)?;
    shell.charge(0)?;
    Ok(shell.effects)
}

/// The words of each command of a line; none where the line cannot be read.
pub fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let effects = read(line).unwrap_or_default();
    effects.commands.into_iter().map(|command| command.words).collect()
}
