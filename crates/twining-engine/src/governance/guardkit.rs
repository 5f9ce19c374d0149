//! GuardKit's two configuration files as a policy: what they say, in our words.

use crate::governance::policy::{Dialect, Mistake, PolicyLayer, PolicyPatch, read, to_yaml};

/// Where GuardKit keeps what it lets a project override, inside the project.
pub const OVERRIDES: &str = ".guardkit/config/entity-overrides.yaml";
/// Where it keeps gate thresholds.
pub const GATES: &str = ".guardkit/config/quality-gates.yaml";

const COMMENT: &str = "Project policy, imported from GuardKit's configuration.\nKeys that end in _additions extend a list, all others replace a value.";

/// A policy made of another tool's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyImport {
    /// The files that were found, inside the project.
    pub files: Vec<String>,
    /// `policy.yml`, empty if they say nothing.
    pub text: String,
    /// What in them could not be taken over.
    pub mistakes: Vec<Mistake>,
}

/// Turns the two files into a policy; the gates file lies over the overrides,
/// because GuardKit calls it authoritative.
#[must_use]
pub fn import_guardkit(overrides: Option<&str>, gates: Option<&str>) -> PolicyImport {
    let mut imported =
        PolicyImport { files: Vec::new(), text: String::new(), mistakes: Vec::new() };
    let mut policy = PolicyPatch::default();
    for (name, text) in [(OVERRIDES, overrides), (GATES, gates)] {
        let Some(text) = text else { continue };
        let is_bare = name == GATES && !names_its_parts(text);
        let (patch, mut mistakes) = read(
            &if is_bare { wrapped(text) } else { text.to_owned() },
            name,
            PolicyLayer::Project,
            Dialect::GuardKit,
        );
        if is_bare {
            // Places are those of the file, not of what we made of it.
            mistakes.iter_mut().for_each(|mistake| {
                mistake.line = mistake.line.saturating_sub(1).max(1);
                mistake.column = mistake.column.saturating_sub(2).max(1);
            });
        }
        imported.files.push(name.to_owned());
        imported.mistakes.extend(mistakes);
        policy = policy.then(patch);
    }
    if policy != PolicyPatch::default() {
        imported.text = to_yaml(&policy, COMMENT);
    }
    imported
}

/// Whether a file's top level is parts of a policy, rather than task types.
fn names_its_parts(text: &str) -> bool {
    let parts = [
        "quality_gate_configs",
        "quality_gates",
        "profiles",
        "gates",
        "role_constraints",
        "implementation_modes",
    ];
    let is_part = |line: &str| {
        parts.iter().any(|part| {
            line.strip_prefix(part).is_some_and(|rest| rest.trim_start().starts_with(':'))
        })
    };
    text.lines().any(is_part)
}

fn wrapped(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}\n"));
    std::iter::once("gates:\n".to_owned()).chain(lines).collect()
}
