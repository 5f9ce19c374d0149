//! What a command line may write.
//!
//! The line is read with bash's own grammar, never with patterns over its text:
//! quoting, variables set on the same line, here-documents, `bash -c`, `eval` and
//! programs given as code are followed. What cannot be known stays a hole in a
//! path, and a hole is only taken for a protected file where something says so.
//!
//! Work is bounded by steps and sizes, so that the same line gets the same answer;
//! where the grammar itself loses its way, by the patience of whoever waits.

mod code;
mod commands;
mod handed;
mod inline;
mod interpreters;
mod keepers;
mod known_calls;
mod lists;
mod patches;
mod spared;
mod stand;
mod steps;
mod tokens;
mod tree;
mod word;

#[cfg(test)]
mod tests;

pub(crate) use code::squeezed;
pub(crate) use commands::TOUCH;
pub(crate) use lists::CODE;
pub(crate) use patches::named as named_in_patch;
pub(crate) use spared::SPARED;
pub(crate) use stand::{Ground, Stand};
pub use steps::Patience;
pub(crate) use word::{Piece, UNTOLD, Word};

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use steps::Steps;

/// Longest line that is read. A system does not start a program with a longer
/// argument, so nothing honest is lost.
pub(crate) const MOST_BYTES: usize = 128 * 1024;

/// How sure we are that a path is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// A program nobody knows is handed the path.
    Possible,
    /// Code or a search names the path and writes.
    Likely,
    /// The line says so.
    Certain,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A path, perhaps with holes.
    Path(Word),
    /// A path and everything below it.
    Tree(Word),
    /// Whatever this code names.
    Code(String),
    /// The files that a patch names.
    Patch(PatchGiven),
    /// What git does not hold yet, here and below.
    Unsaved(Word, Loses),
}

/// A patch that a command carries out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PatchGiven {
    /// What it says, where the line does.
    pub(crate) text: Option<String>,
    /// Files it may stand in.
    pub(crate) files: Vec<Word>,
    /// The folder its names begin in.
    pub(crate) folder: Option<Word>,
    /// Folders that are left off its names; all of them where nobody says.
    pub(crate) strip: Option<usize>,
}

/// What a command throws away that git does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loses {
    /// Files that git does not know.
    Untracked,
    /// Files as they are, where that differs from what is staged or committed.
    Modified,
}

/// One thing a command may write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShellWrite {
    pub(crate) target: Target,
    pub(crate) certainty: Certainty,
    /// What does it: `>`, `sed -i`.
    pub(crate) by: String,
    /// The whole new content, where the line holds it.
    pub(crate) content: Option<String>,
    /// Where the command stands that does it.
    pub(crate) stood: Stood,
}

/// Where a command stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stood {
    /// Not told yet.
    #[default]
    Untold,
    /// In any folder that the line enters.
    Anywhere,
    /// In one of these.
    At(Rc<[Stand]>),
}

impl ShellWrite {
    /// Whether anything is there afterwards: what goes to a device is gone.
    pub(crate) fn leaves_something(&self) -> bool {
        !matches!(&self.target, Target::Path(word) if word.known().is_some_and(|path| path.starts_with("/dev/") && !path.starts_with("/dev/shm/")))
    }

    /// How many places may be meant.
    pub(crate) fn places(&self) -> usize {
        match &self.target {
            Target::Path(word) | Target::Tree(word) | Target::Unsaved(word, _) => 1 + word.sources().count(),
            Target::Code(_) | Target::Patch(_) => 1,
        }
    }
}

/// What a command line does, as far as it can be known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pub(crate) writes: Vec<ShellWrite>,
    /// Every simple command, wrappers such as `sudo` taken off.
    pub(crate) runs: Vec<Vec<Word>>,
    /// Directories the line changes into; for commands of which nobody knows where they stand.
    pub(crate) enters: Vec<Word>,
    /// Text that it prints or feeds somewhere.
    pub(crate) texts: Vec<String>,
    /// Functions and aliases it makes.
    pub(crate) defines: BTreeSet<String>,
    /// Aliases it makes once, and what each stands for.
    aliases: BTreeMap<String, String>,
    /// Places whose whole new content is known already.
    known: BTreeSet<(Word, Stood)>,
    /// Where the command stands that is being read.
    here: Stood,
    steps: Steps,
}

impl Effects {
    /// A folder that the command being read takes for its own, beside where it stands.
    fn stands_in_too(&mut self, folder: Option<&Word>) {
        let Some(folder) = folder else { return };
        self.enters.push(folder.clone());
        if let Stood::At(stands) = &self.here {
            let there = stands.iter().map(|stand| Stand { at: stand::joined(&stand.at, folder.clone()), ..stand.clone() });
            self.here = Stood::At(stands.iter().cloned().chain(there).collect());
        }
    }
}

/// Why a line cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Longer than any system would start.
    #[error("the command is longer than {MOST_BYTES} bytes")]
    TooLong,
    /// The grammar took more steps than a command deserves.
    #[error("it takes too many steps to read")]
    TooManySteps,
    /// Characters that the grammar cannot be given.
    #[error("the command holds characters that cannot be read here")]
    Odd,
    /// More levels than a command deserves.
    #[error("the command is nested too deeply")]
    TooDeep,
}

/// Reads a command line.
pub(crate) fn effects(line: &str) -> Result<Effects, Unreadable> {
    effects_within(line, || true, None)
}

/// The same while somebody waits, on ground of which something is known.
pub(crate) fn effects_within(line: &str, patience: Patience, ground: Option<Ground<'_>>) -> Result<Effects, Unreadable> {
    let here = Stood::At(Rc::new([Stand::default()]));
    let mut effects = Effects { steps: Steps::within(patience), here, ..Effects::default() };
    tree::read_on(line, &mut effects, &[], 0, ground)?;
    Ok(effects)
}
