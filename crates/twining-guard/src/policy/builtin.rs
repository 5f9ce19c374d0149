//! The guards that are compiled in.

use std::sync::LazyLock;

use crate::policy::guard::Guard;
use crate::policy::parse::{self, Examples, GuardSource};
use crate::policy::provenance::PolicyLayer;

/// The guard of Twining's own records.
pub(crate) const RECORDS: &str = "protect-twining-state";
/// The guard of coders that return with nothing done.
pub const RETURNS: &str = "return-needs-changes";
/// The guard of features that are called tested.
pub const TESTED: &str = "tested-needs-evidence";
/// The guard of the policy.
pub const POLICY: &str = "policy-only-grows";
/// The guard of hooks.
pub const WIRING: &str = "hooks-stay-wired";

/// The guard of commands that only a person gives. It is never lifted: it keeps what lifts the others.
pub const PERSON_COMMANDS: &str = "people-lift-guards";

/// Our own feature list.
pub const OWN_LIST: &str = ".twining/features.json";

/// The user's own settings, in any folder; `?` matches a blank.
const OWN_SETTINGS: &str =
    ".config/twining/** Library/Application?Support/twining/** AppData/Roaming/twining/**";

/// Where feature lists are: ours, and those of other loops that go by this name.
pub const FEATURE_LISTS: [&str; 5] = [
    ".twining/features.json",
    ".claude/progress/feature-list.json",
    ".claude/progress/feature_list.json",
    "feature-list.json",
    "feature_list.json",
];

/// Files in which hosts and git are wired to Twining, in any folder, blank-separated.
pub const WIRING_FILES: &str = ".claude/settings.json .claude/settings.local.json .codex/hooks.json .codex/config.toml .gemini/settings.json \
    .cursor/hooks.json .github/hooks/*.json .git/config .git/hooks/pre-commit .husky/pre-commit";

static GUARDS: LazyLock<Vec<Guard>> = LazyLock::new(|| {
    let written = parse::read(include_str!("builtin.yml"), "builtin.yml", &mut Vec::new());
    written.guards.iter().map(built_in).collect()
});

/// Every built-in guard.
pub(crate) fn guards() -> Vec<Guard> {
    GUARDS.clone()
}

fn built_in(written: &GuardSource) -> Guard {
    let mut guard = parse::compile(written, PolicyLayer::Default, None, Examples::Read)
        .expect("builtin.yml is tried by the tests of this crate");
    let anywhere = match guard.id.as_str() {
        RECORDS => OWN_SETTINGS,
        WIRING => WIRING_FILES,
        _ => "",
    };
    let anywhere = anywhere.split_whitespace();
    guard.paths.extend(anywhere.flat_map(|glob| [format!("**/{glob}"), format!("/**/{glob}")]));
    if guard.id == TESTED {
        guard.paths.extend(FEATURE_LISTS.map(str::to_owned));
    }
    guard
}
