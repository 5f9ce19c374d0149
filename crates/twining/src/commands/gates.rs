//! `gates`: the bar a task must clear.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, GateProfile, GatesInput, GatesOutcome};

use super::shown;
use crate::desk::Desk;
use crate::page::{Cell, Page, dim, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Gates;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// feature, testing, documentation, scaffolding, or the project's own
    task_type: String,
    /// 1 to 10
    complexity: i64,
}

impl Verb for Gates {
    const NAME: &'static str = "gates";
    const GROUP: Group = Group::Governance;
    const TITLE: &'static str = "Quality gates";
    const ABOUT: &'static str = "The quality gates a task must pass, by type and complexity, and where each threshold came from.";
    const EXAMPLE: &'static str = "twining gates feature 5";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = GatesOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<GatesOutcome, Failure> {
        let Input { task_type, complexity } = input;
        desk.engine.gates(&desk.user_policy(), &GatesInput { task_type: Some(task_type), complexity })
    }

    fn show(outcome: &GatesOutcome, page: &mut Page) {
        page.line([strong(&outcome.profile.id), dim(format!("{}, complexity {}", outcome.task_type, outcome.complexity))]);
        page.table(2, &bars(&outcome.profile));
        outcome.notes.iter().for_each(|note| page.line([warn("note"), plain(note)]));
        shown::mistakes(&outcome.mistakes, page);
    }
}

/// Each gate, what it asks for, and who said so.
fn bars(profile: &GateProfile) -> Vec<Vec<Cell>> {
    let source = |names: [&str; 2]| {
        let told = names.iter().filter_map(|name| profile.sources.get(*name));
        // Of two values the one that somebody set tells more.
        dim(told.max_by_key(|source| source.layer).map(ToString::to_string).unwrap_or_default())
    };
    let bar = |required: bool, threshold: Option<String>| match (required, threshold) {
        (true, Some(threshold)) => plain(format!("at least {threshold}")),
        (true, None) => plain("required"),
        (false, _) => dim("not required"),
    };
    let tests = match (profile.tests_required, profile.tests_must_pass) {
        (true, true) => plain("required, must pass"),
        (true, false) => plain("required"),
        (false, _) => dim("not required"),
    };
    let arch = profile.arch_review_threshold.map(|threshold| threshold.to_string());
    let coverage = profile.coverage_threshold.map(|threshold| threshold.to_string());
    vec![
        vec![plain("architecture"), bar(profile.arch_review_required, arch), source(["arch_review_required", "arch_review_threshold"])],
        vec![plain("coverage"), bar(profile.coverage_required, coverage), source(["coverage_required", "coverage_threshold"])],
        vec![plain("tests"), tests, source(["tests_required", "tests_must_pass"])],
    ]
}
