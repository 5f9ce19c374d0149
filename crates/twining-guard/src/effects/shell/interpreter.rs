//! What is known while a line is followed, and what it was found to do.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use crate::effects::shell::cwd::{WordTarget, WorkingDir};
use crate::effects::shell::words::ShellWord;
use crate::effects::shell::{MAX_STEPS, MAX_UNREAD, MAX_WRITES, ShellEffects, ShellError, ShellWrite, WriteKind, grammar};

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
    /// Whether this line stands in another: `bash -c`, `eval`.
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
            Rc::make_mut(&mut self.variables).retain(|name, value| other.variables.get(name) == Some(value));
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
    /// Follows a line that stands in a line; one in that is not followed.
    pub(super) fn run_nested(&mut self, program: &str, line: &str) -> CommandOutput {
        if !std::mem::replace(&mut self.is_nested, true) {
            let depth = self.depth;
            let output = grammar::run(line, self);
            (self.is_nested, self.depth) = (false, depth);
            if let Ok(output) = output {
                return output;
            }
        }
        self.note(format!("the command of `{program}`"));
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

    /// Remembers text that goes into a file.
    pub(super) fn insert(&mut self, text: &str) {
        if self.charge(text.len() / 64).is_ok() && !text.trim().is_empty() {
            self.effects.inserted.push(text.to_owned());
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
