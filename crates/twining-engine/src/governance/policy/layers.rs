//! The layers of a project: the compiled-in defaults, the user's file, the project's.

use std::sync::LazyLock;

use twining_guard::policy::{Mistake, PROJECT_FILE, PolicyLayer, UserPolicy};
use twining_store::TextFile;

use crate::governance::policy::patch::{PolicyPatch, Settings};
use crate::governance::policy::reader::{Dialect, read};

/// The lowest layer, as the `policy.yml` that `seed` writes.
pub const DEFAULT_POLICY: &str = include_str!("defaults.yml");

static DEFAULTS: LazyLock<PolicyPatch> = LazyLock::new(|| {
    read(DEFAULT_POLICY, "defaults.yml", PolicyLayer::Default, Dialect::Twining).0
});

/// What a task type that a project adds asks for where it says nothing, which is
/// what a feature of middling complexity asks for: a new word must not be a way
/// around the gates.
pub(crate) fn strict() -> Settings {
    let feature = DEFAULTS.gates.get("feature").and_then(|gate| gate.at(5));
    feature.map(|(_, cell)| cell.clone()).unwrap_or_default()
}

/// What holds in a project.
#[derive(Clone, Debug, Default)]
pub struct GovernancePolicy {
    pub(crate) patch: PolicyPatch,
    /// What was wrong with the files; the rest of them holds.
    pub mistakes: Vec<Mistake>,
}

impl GovernancePolicy {
    /// Lays the user's file over the defaults, and the project's over both.
    #[must_use]
    pub fn resolve(user: &UserPolicy, project: &TextFile) -> Self {
        let mut policy = Self { patch: DEFAULTS.clone(), mistakes: Vec::new() };
        policy.add_layer(PolicyLayer::User, &user.name, &user.file);
        policy.add_layer(PolicyLayer::Project, PROJECT_FILE, project);
        policy
    }

    /// Whether an override needs a person's word.
    #[must_use]
    pub fn wants_confirmed_overrides(&self) -> bool {
        self.patch.confirmed_overrides
    }

    fn add_layer(&mut self, layer: PolicyLayer, name: &str, file: &TextFile) {
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
