//! `store_trace`: remember what went wrong, was put right or allowed.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, StoreTraceInput, TraceStored};

use super::words::{self, TRACE_TYPES};
use crate::desk::Desk;
use crate::page::{Page, dim, good};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct StoreTrace;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[serde(rename = "type")]
    #[schemars(extend("enum" = TRACE_TYPES))]
    #[arg(help = "correction, violation, decision or approval", value_name = "TYPE", value_parser = words::one_of(TRACE_TYPES))]
    kind: String,
    #[arg(help = "What was done, or tried")]
    what_happened: String,
    #[arg(help = "What would have been right", long = "correct", value_name = "TEXT")]
    what_was_correct: Option<String>,
    #[arg(help = "Why", long, value_name = "TEXT")]
    why: Option<String>,
    /// Tool and command or path: `Bash: git push`
    #[arg(help = "What was tried, as `Bash: git push`", long)]
    action: Option<String>,
    #[arg(help = "The guard it is about", long)]
    guard: Option<String>,
    #[arg(help = "It was kept from happening", long, num_args = 0..=1, default_missing_value = "true")]
    blocked: Option<bool>,
    #[arg(help = "The feature", long)]
    feature: Option<String>,
    #[arg(help = "The task", long)]
    task: Option<String>,
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for StoreTrace {
    const NAME: &'static str = "store_trace";
    const GROUP: Group = Group::Learning;
    const TITLE: &'static str = "Store a trace";
    const ABOUT: &'static str = "Store that a person corrected you, or that you broke a rule. Hooks store blocks by themselves.";
    const EXAMPLE: &'static str = "twining store-trace correction \"pushed to main\" --correct \"people push\" --action \"Bash: git push\"";
    const EFFECT: Effect = Effect::Adds;

    type Input = Input;
    type Output = TraceStored;

    fn run(desk: &Desk<'_>, input: Input) -> Result<TraceStored, Failure> {
        let Input { kind, what_happened, what_was_correct, why, action, guard, blocked, feature, task, agent_id } = input;
        let input = StoreTraceInput { kind, what_happened, what_was_correct, why, action, guard, blocked, feature, task, agent_id };
        desk.engine.store_trace(&desk.caller, &input)
    }

    fn show(stored: &TraceStored, page: &mut Page) {
        page.line([good("stored"), dim(&stored.id)]);
    }
}
