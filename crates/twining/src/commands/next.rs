//! `next`: what to do now.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, NextInput, NextOutcome};

use crate::desk::Desk;
use crate::page::{Page, dim, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Next;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// false: without the role's prompt
    #[arg(long, value_name = "BOOL")]
    prompt: Option<bool>,
}

impl Verb for Next {
    const NAME: &'static str = "next";
    const GROUP: Group = Group::Workflow;
    const TITLE: &'static str = "What to do now";
    const ABOUT: &'static str =
        "What to do now in the feature loop: initialize, code, test, resume, blocked or done, with the prompt for whoever does it.";
    const EXAMPLE: &'static str = "twining next";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = NextOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<NextOutcome, Failure> {
        let Input { prompt } = input;
        desk.engine.next(&desk.user_policy(), NextInput { prompt })
    }

    fn show(outcome: &NextOutcome, page: &mut Page) {
        page.line([strong(&outcome.next.say), dim(&outcome.next.why)]);
        let counts = outcome.counts;
        page.line([dim(format!(
            "{} pending, {} in progress, {} completed, {} tested, {} blocked",
            counts.pending, counts.in_progress, counts.completed, counts.tested, counts.blocked
        ))]);
        outcome.problems.iter().for_each(|problem| page.line([warn("problem"), plain(problem)]));
        if let Some(prompt) = &outcome.prompt {
            page.blank();
            page.verbatim(prompt);
        }
    }
}
