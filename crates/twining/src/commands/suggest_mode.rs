//! `suggest-mode`: how much ceremony fits.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, ModeSuggested, SuggestModeInput};

use super::shown;
use crate::desk::Desk;
use crate::page::{Page, dim, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct SuggestMode;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "feature, testing, documentation, scaffolding, or the project's own")]
    task_type: String,
    /// 1 to 10
    complexity: i64,
}

impl Verb for SuggestMode {
    const NAME: &'static str = "suggest_mode";
    const GROUP: Group = Group::Governance;
    const TITLE: &'static str = "Suggest a mode";
    const ABOUT: &'static str = "How much ceremony fits a task: mode, when to use it, pitfalls. Advice, not a gate.";
    const EXAMPLE: &'static str = "twining suggest-mode feature 3";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = ModeSuggested;

    fn run(desk: &Desk<'_>, input: Input) -> Result<ModeSuggested, Failure> {
        let Input { task_type, complexity } = input;
        desk.engine.suggest_mode(&desk.user_policy(), &SuggestModeInput { task_type: Some(task_type), complexity })
    }

    fn show(suggested: &ModeSuggested, page: &mut Page) {
        match &suggested.suggestion {
            Some(mode) => {
                page.line([strong(&mode.mode), dim(format!("{} ceremony; advice only", mode.ceremony.as_str()))]);
                shown::section(page, "Meant for", mode.when_to_use.iter().map(|item| vec![plain(item)]));
                shown::section(page, "Beware", mode.pitfalls.iter().map(|item| vec![plain(item)]));
            }
            None => page.line([dim("no mode is defined")]),
        }
        suggested.notes.iter().for_each(|note| page.line([warn("note"), plain(note)]));
        shown::mistakes(&suggested.mistakes, page);
    }
}
