//! Modes: how much ceremony fits a task. Advice, never a gate.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::words;

use crate::failure::Failure;
use crate::governance::gates::task;
use crate::governance::policy::{GovernancePolicy, HARDEST, Mistake, PolicySource, Settings};

words! {
    /// Ceremony level, lowest to highest.
    pub enum Ceremony {
        /// Almost none.
        Minimal = "minimal",
        /// Plan, gates, review.
        Standard = "standard",
        /// Player and coach, turn by turn.
        Full = "full",
    }
}

/// The task, as the caller gave it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuggestModeInput {
    /// feature, testing, documentation, scaffolding, or a custom type
    pub task_type: String,
    /// 1 to 10
    pub complexity: i64,
}

/// A mode that fits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ModeAdvice {
    /// `MODE-{mode}`.
    pub id: String,
    /// Its name.
    pub mode: String,
    /// Its ceremony level.
    pub ceremony: Ceremony,
    /// Its complexity range.
    #[schemars(with = "Vec<u8>")]
    pub complexity_range: (u8, u8),
    /// What it is good for.
    pub when_to_use: Vec<String>,
    /// What goes wrong with it.
    pub pitfalls: Vec<String>,
    /// How it is started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invocation_method: Option<String>,
    /// Where its results end up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_location_pattern: Option<String>,
    /// How to resume it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_recovery_strategy: Option<String>,
    /// Where each value came from; for a list, each of its items in order.
    pub sources: BTreeMap<String, Vec<PolicySource>>,
}

/// The advice and its basis.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuggestModeOutcome {
    /// The mode, if any is defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<ModeAdvice>,
    /// Always true: a person or agent may choose otherwise.
    pub advisory: bool,
    /// The resolved task type.
    pub task_type: String,
    /// 1 to 10.
    pub complexity: u8,
    /// How unclear input was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is wrong with the policy files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
}

/// Answers which mode fits a task.
pub(crate) fn suggest(
    policy: &GovernancePolicy,
    input: &SuggestModeInput,
) -> Result<SuggestModeOutcome, Failure> {
    let task = task(policy, &input.task_type, input.complexity)?;
    Ok(SuggestModeOutcome {
        suggestion: fitting(policy, task.complexity),
        advisory: true,
        task_type: task.task_type,
        complexity: task.complexity,
        notes: task.notes,
        mistakes: policy.mistakes.clone(),
    })
}

/// The mode whose range has the nearest middle; of two, the one with more
/// ceremony. Ranges overlap, so the first that fits would depend on their order.
pub(crate) fn fitting(policy: &GovernancePolicy, complexity: u8) -> Option<ModeAdvice> {
    let modes = policy.patch.modes.iter().map(|(name, mode)| advice(name, mode));
    let modes: Vec<ModeAdvice> = modes.collect();
    let fits = |mode: &&ModeAdvice| {
        (mode.complexity_range.0..=mode.complexity_range.1).contains(&complexity)
    };
    let best = |modes: &mut dyn Iterator<Item = &ModeAdvice>| {
        modes.min_by_key(|mode| rank(mode, complexity)).cloned()
    };
    best(&mut modes.iter().filter(fits)).or_else(|| best(&mut modes.iter()))
}

fn rank(mode: &ModeAdvice, complexity: u8) -> (u8, std::cmp::Reverse<Ceremony>, String) {
    let (low, high) = mode.complexity_range;
    // Twice the middle, to stay whole.
    ((low + high).abs_diff(2 * complexity), std::cmp::Reverse(mode.ceremony), mode.mode.clone())
}

fn advice(name: &str, mode: &Settings) -> ModeAdvice {
    let mut sources = mode.sources();
    let level = sources.remove("ceremony_level").unwrap_or_else(|| vec![PolicySource::DEFAULT]);
    sources.insert("ceremony".to_owned(), level);
    sources.entry("complexity_range".to_owned()).or_insert_with(|| vec![PolicySource::DEFAULT]);
    for list in ["when_to_use", "pitfalls"] {
        sources.entry(list.to_owned()).or_default();
    }
    ModeAdvice {
        id: format!("MODE-{name}"),
        mode: name.to_owned(),
        ceremony: mode
            .text("ceremony_level")
            .and_then(|level| Ceremony::read(&level))
            .unwrap_or(Ceremony::Standard),
        complexity_range: mode.range().unwrap_or((1, HARDEST)),
        when_to_use: mode.list("when_to_use"),
        pitfalls: mode.list("pitfalls"),
        invocation_method: mode.text("invocation_method"),
        result_location_pattern: mode.text("result_location_pattern"),
        state_recovery_strategy: mode.text("state_recovery_strategy"),
        sources,
    }
}

#[cfg(test)]
mod tests {
    use twining_store::TextFile;

    use super::*;
    use crate::governance::policy::UserPolicy;

    fn mode_at(complexity: i64) -> String {
        let policy = GovernancePolicy::resolve(&UserPolicy::default(), &TextFile::Missing);
        let input = SuggestModeInput { task_type: "feature".into(), complexity };
        suggest(&policy, &input).expect("suggests").suggestion.expect("one fits").mode
    }

    #[test]
    fn every_complexity_has_one_mode_though_the_ranges_overlap() {
        let modes: Vec<String> = (1..=10).map(mode_at).collect();
        let expected = [&["direct"; 3][..], &["task_work"; 3], &["autobuild"; 4]].concat();
        assert_eq!(modes, expected);
    }

    #[test]
    fn a_mode_of_the_projects_own_is_suggested_where_it_fits() {
        let text = "modes:\n  spike:\n    complexity_range: [9, 10]\n    ceremony_level: minimal\n    when_to_use: [Throwaway trials]\n";
        let policy =
            GovernancePolicy::resolve(&UserPolicy::default(), &TextFile::Text(text.into()));
        let suggested = fitting(&policy, 10).expect("one fits");
        assert_eq!(suggested.id, "MODE-spike");
        assert_eq!(suggested.sources["when_to_use"][0].to_string(), "project:5");
        assert_eq!(fitting(&policy, 2).expect("one fits").id, "MODE-direct");
    }
}
