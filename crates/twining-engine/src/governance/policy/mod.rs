//! Policy: three layers of values, each knowing where it came from.
//!
//! A layer is a patch. Patches combine by [`Patch::then`], which is associative
//! and changes nothing when repeated, so it does not matter in which order files
//! are read, only which lies above which. The compiled-in defaults are a patch
//! like any other.

mod defaults;
mod patch;
mod reader;
#[cfg(test)]
mod tests;
mod values;
mod write;

use twining_store::TextFile;

pub(crate) use defaults::{defaults, strict};
pub(crate) use patch::{Cell, HARDEST, ListPatch, ModePatch, Patch};
pub(crate) use reader::{Dialect, read, word};
pub(crate) use twining_guard::policy::source::{Sourced, list};
pub use twining_guard::policy::{Layer, Mistake, Source, UserPolicy};
pub(crate) use write::to_yaml;

use twining_guard::policy::PROJECT_FILE;

/// What holds in a project.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub(crate) patch: Patch,
    /// What was wrong with the files; the rest of them holds.
    pub mistakes: Vec<Mistake>,
}

impl Policy {
    /// Lays the user's file over the defaults, and the project's over both.
    #[must_use]
    pub fn resolve(user: &UserPolicy, project: &TextFile) -> Self {
        let mut policy = Self { patch: defaults(), mistakes: Vec::new() };
        policy.lay(Layer::User, &user.name, &user.file);
        policy.lay(Layer::Project, PROJECT_FILE, project);
        let file_of = |layer| if layer == Layer::User { user.name.clone() } else { PROJECT_FILE.to_owned() };
        policy.mistakes.extend(policy.patch.idle_thresholds(file_of));
        policy
    }

    /// Whether an override needs a person's word.
    #[must_use]
    pub fn wants_confirmed_overrides(&self) -> bool {
        self.patch.confirmed_overrides
    }

    fn lay(&mut self, layer: Layer, name: &str, file: &TextFile) {
        match file {
            TextFile::Missing => {}
            TextFile::Unusable(why) => self.mistakes.push(Mistake::whole(name, why)),
            TextFile::Text(text) => {
                let (patch, mistakes) = read(text, name, layer, Dialect::Twining);
                self.patch = std::mem::take(&mut self.patch).then(patch);
                self.mistakes.extend(mistakes);
            }
        }
    }
}
