//! `summarize`: the state of a scope in a paragraph.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, SummarizeInput, Summary};

use super::words;
use crate::desk::Desk;
use crate::page::{Page, count, dim, place, plain, strong};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Summarize;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Default `project`
    #[arg(help = words::SCOPE)]
    scope: Option<String>,
}

impl Verb for Summarize {
    const NAME: &'static str = "summarize";
    const GROUP: Group = Group::Context;
    const TITLE: &'static str = "Summarize";
    const ABOUT: &'static str =
        "The state of a scope in one paragraph: warnings, disputes, recent decisions, what waits. Good for catching up.";
    const EXAMPLE: &'static str = "twining summarize src/auth/";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = Summary;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Summary, Failure> {
        desk.engine.summarize(&SummarizeInput { scope: input.scope })
    }

    fn show(summary: &Summary, page: &mut Page) {
        page.line([strong("Summary of"), place(&summary.scope)]);
        let counts = [
            count(summary.active_decisions, "active decision"),
            format!("{} provisional", summary.provisional_decisions),
            count(summary.active_warnings, "open warning"),
            count(summary.open_needs, "open need"),
            count(summary.unanswered_questions, "unanswered question"),
        ];
        page.line([dim(counts.join(", "))]);
        page.line([plain("")]);
        page.block(0, &summary.recent_activity_summary);
    }
}
