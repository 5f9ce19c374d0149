//! `trace`: what a decision rests on, and what rests on it.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, TraceInput, TraceOutcome};

use super::words::{self, DIRECTIONS};
use crate::desk::Desk;
use crate::page::{Page, bad, dim, plain, standing, strong};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Trace;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "Where to start", value_name = "ID")]
    decision_id: String,
    #[schemars(extend("enum" = DIRECTIONS))]
    #[arg(help = "Default both", long, value_parser = words::one_of(DIRECTIONS))]
    direction: Option<String>,
}

impl Verb for Trace {
    const NAME: &'static str = "trace";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Follow a decision";
    const ABOUT: &'static str = "What a decision rests on, and what rests on it.";
    const EXAMPLE: &'static str = "twining trace 01M7EB3QWY4C5CPJF6982ZJQ18 --direction upstream";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = TraceOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<TraceOutcome, Failure> {
        let Input { decision_id, direction } = input;
        desk.engine.trace(&TraceInput { decision_id, direction })
    }

    fn show(outcome: &TraceOutcome, page: &mut Page) {
        for link in &outcome.chain {
            page.table(0, &[vec![dim(&link.id), standing(link.status), strong(&link.summary)]]);
            let below = link.depends_on.iter().map(|id| vec![dim("rests on"), plain(id)]);
            let above = link.dependents.iter().map(|id| vec![dim("carries"), plain(id)]);
            page.table(2, &below.chain(above).collect::<Vec<_>>());
        }
        page.table(0, &outcome.missing.iter().map(|id| vec![bad("missing"), plain(id)]).collect::<Vec<_>>());
        if outcome.truncated {
            page.line([dim("the chain goes on; trace from one of its ends")]);
        }
    }
}
