//! The profile of a task: its requirements, and which layer set them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{InvalidInput, limits, text};

use crate::failure::Failure;
use crate::fields;
use crate::governance::gates::check::Percent;
use crate::governance::policy::{
    GovernancePolicy, HARDEST, Mistake, PolicySource, Settings, strict, word,
};

/// Which gates the caller asks for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatesInput {
    /// feature, testing, documentation, scaffolding, or a custom type
    pub task_type: String,
    /// 1 to 10
    pub complexity: i64,
}

/// A task's gates. A threshold is set only if its gate is required.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateProfile {
    /// `QG-{task_type}-{low}-{high}`.
    pub id: String,
    /// What kind of task.
    pub task_type: String,
    /// The complexity range.
    #[schemars(with = "Vec<u8>")]
    pub complexity_range: (u8, u8),
    /// Whether the architecture is reviewed.
    pub arch_review_required: bool,
    /// The minimum score, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch_review_threshold: Option<u8>,
    /// Whether coverage counts.
    pub coverage_required: bool,
    /// The share that must be covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_threshold: Option<Percent>,
    /// Whether there must be tests.
    pub tests_required: bool,
    /// Whether all of them must pass.
    pub tests_must_pass: bool,
    /// Where each value came from.
    pub sources: BTreeMap<String, PolicySource>,
}

/// The gates of a task.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GatesOutcome {
    /// The resolved task type.
    pub task_type: String,
    /// Complexity, 1 to 10.
    pub complexity: u8,
    /// Its gate profile.
    pub profile: GateProfile,
    /// How unclear input was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is wrong with the policy files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
}

/// Answers which gates hold for a task.
pub(crate) fn gates(
    policy: &GovernancePolicy,
    input: &GatesInput,
) -> Result<GatesOutcome, Failure> {
    let mut task = task(policy, &input.task_type, input.complexity)?;
    let profile = profile(policy, &mut task);
    Ok(GatesOutcome {
        task_type: task.task_type,
        complexity: task.complexity,
        profile,
        notes: task.notes,
        mistakes: policy.mistakes.clone(),
    })
}

/// The profile of a task; what it took for something else is added to its notes.
pub(crate) fn profile(policy: &GovernancePolicy, task: &mut Task) -> GateProfile {
    let gate = policy.patch.gates.get(&task.task_type).cloned().unwrap_or_default();
    if let Some((range, cell)) = gate.at(task.complexity) {
        return filled(&task.task_type, range, cell);
    }
    // The type covers only some complexities: an override for small tasks does not apply to large
    // ones, which get the defaults of any custom type.
    let range = gate.gap_around(task.complexity);
    if range != (1, HARDEST) {
        let (name, complexity) = (&task.task_type, task.complexity);
        task.notes.push(format!(
            "`{name}` defines no gates for complexity {complexity}; the default gates apply"
        ));
    }
    filled(&task.task_type, range, &Settings::default())
}

fn filled(task_type: &str, range: (u8, u8), overrides: &Settings) -> GateProfile {
    let mut cell = strict();
    cell.overlay(overrides.clone());
    for (required, threshold) in [
        ("arch_review_required", "arch_review_threshold"),
        ("coverage_required", "coverage_threshold"),
    ] {
        if cell.flag(required) == Some(false) {
            cell.values.remove(threshold);
        }
    }
    let is_on = |key: &str| cell.flag(key).unwrap_or(true);
    GateProfile {
        id: format!("QG-{task_type}-{}-{}", range.0, range.1),
        task_type: task_type.to_owned(),
        complexity_range: range,
        arch_review_required: is_on("arch_review_required"),
        arch_review_threshold: cell
            .value("arch_review_threshold")
            .and_then(|score| score.as_u64()?.try_into().ok()),
        coverage_required: is_on("coverage_required"),
        coverage_threshold: cell
            .value("coverage_threshold")
            .and_then(|share| Percent::read(share.as_f64()?)),
        tests_required: is_on("tests_required"),
        tests_must_pass: is_on("tests_must_pass"),
        sources: cell.values.iter().map(|(key, value)| ((*key).to_owned(), value.source)).collect(),
    }
}

/// What to take a word for that no profile has. Never for something easier than
/// `feature`, unless the word is plainly another one for it.
const ALIASES: [(&str, &str); 5] = [
    (
        "feature",
        "implementation|enhancement|bug_fix|bugfix|fix|hotfix|refactor|refactoring|glue|wiring",
    ),
    ("testing", "benchmark|test|tests"),
    ("documentation", "research|docs|doc"),
    ("scaffolding", "scaffold"),
    ("declarative", "config|configuration|dto"),
];

/// What every task is judged as when its word is not known.
const FALLBACK: &str = "feature";

/// A task's type and complexity, in known words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) task_type: String,
    pub(crate) complexity: u8,
    /// How unclear input was read.
    pub(crate) notes: Vec<String>,
}

/// Reads a task's type and complexity as callers write them.
pub(crate) fn task(
    policy: &GovernancePolicy,
    task_type: &str,
    complexity: i64,
) -> Result<Task, InvalidInput> {
    let mut notes = Vec::new();
    text::bounded("task_type", task_type, limits::NAME_BYTES)?;
    let clamped = complexity.clamp(1, i64::from(HARDEST));
    if clamped != complexity {
        notes.push(format!(
            "complexity {complexity} is out of range (1 to {HARDEST}); using {clamped}"
        ));
    }
    Ok(Task {
        task_type: known_type(policy, task_type, &mut notes),
        complexity: u8::try_from(clamped).unwrap_or(HARDEST),
        notes,
    })
}

fn known_type(policy: &GovernancePolicy, given: &str, notes: &mut Vec<String>) -> String {
    let given = word(given);
    let is_known = |name: &str| policy.patch.gates.contains_key(name);
    if is_known(&given) {
        return given;
    }
    let alias = ALIASES
        .iter()
        .find(|(_, words)| words.split('|').any(|word| word == given))
        .map(|(name, _)| *name);
    match alias {
        Some(name) if is_known(name) => name.to_owned(),
        _ if given.is_empty() => {
            notes.push(format!("no task type was given; the gates of `{FALLBACK}` apply"));
            FALLBACK.to_owned()
        }
        _ => {
            let known = fields::some_names(policy.patch.gates.keys().map(String::as_str));
            let shown = text::excerpt(&given, 40);
            notes.push(format!(
                "`{shown}` is not a known task type; the gates of `{FALLBACK}` apply. Known types: {known}"
            ));
            FALLBACK.to_owned()
        }
    }
}
