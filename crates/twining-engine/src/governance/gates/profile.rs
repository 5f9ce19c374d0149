//! The profile of a task: what is required of it, and who said so.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::governance::gates::percent::Percent;
use crate::governance::gates::task::{Task, task};
use crate::governance::policy::{GovernancePolicy, HARDEST, Mistake, PolicySource, Settings, strict};

/// Which gates, in the caller's words.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatesInput {
    /// feature, testing, documentation, scaffolding, or the project's own
    pub task_type: String,
    /// 1 to 10
    pub complexity: i64,
}

/// What a task must clear. A threshold stands only where its gate is required.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateProfile {
    /// `QG-{task_type}-{low}-{high}`.
    pub id: String,
    /// What kind of task.
    pub task_type: String,
    /// The complexities it holds for.
    #[schemars(with = "Vec<u8>")]
    pub complexity_range: (u8, u8),
    /// Whether the architecture is reviewed.
    pub arch_review_required: bool,
    /// The score it must reach, to 100.
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
    /// What kind of task, in the known word.
    pub task_type: String,
    /// How hard, from 1 to 10.
    pub complexity: u8,
    /// What it must clear.
    pub profile: GateProfile,
    /// What was taken for something else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is wrong with the policy files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
}

/// Answers which gates hold for a task.
pub(crate) fn gates(policy: &GovernancePolicy, input: &GatesInput) -> Result<GatesOutcome, Failure> {
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
    // A type that speaks of some complexities only: an override for small tasks is
    // none for large ones, which meet what any type of a project's own meets.
    let range = gate.gap_around(task.complexity);
    if range != (1, HARDEST) {
        let (name, complexity) = (&task.task_type, task.complexity);
        task.notes.push(format!("`{name}` says nothing of complexity {complexity}; the gates of a type that says nothing hold"));
    }
    filled(&task.task_type, range, &Settings::default())
}

fn filled(task_type: &str, range: (u8, u8), said: &Settings) -> GateProfile {
    let mut cell = strict();
    cell.lay(said.clone());
    for (required, threshold) in [("arch_review_required", "arch_review_threshold"), ("coverage_required", "coverage_threshold")] {
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
        arch_review_threshold: cell.value("arch_review_threshold").and_then(|score| score.as_u64()?.try_into().ok()),
        coverage_required: is_on("coverage_required"),
        coverage_threshold: cell.value("coverage_threshold").and_then(|share| Percent::read(share.as_f64()?)),
        tests_required: is_on("tests_required"),
        tests_must_pass: is_on("tests_must_pass"),
        sources: cell.values.iter().map(|(key, value)| ((*key).to_owned(), value.source)).collect(),
    }
}
