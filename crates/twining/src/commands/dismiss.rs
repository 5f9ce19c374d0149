//! `dismiss`: close what is settled.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{DismissInput, DismissOutcome, Failure};

use super::words;
use crate::desk::Desk;
use crate::page::{Page, bad, dim, good, plain};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Dismiss;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[serde(deserialize_with = "words::list")]
    #[arg(help = "The entries to close", required = true, value_name = "ID", value_delimiter = ',')]
    ids: Vec<String>,
    /// Why they are settled
    #[arg(long)]
    reason: Option<String>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Dismiss {
    const NAME: &'static str = "dismiss";
    const GROUP: Group = Group::Blackboard;
    const TITLE: &'static str = "Close entries";
    const ABOUT: &'static str = "Close needs, questions or warnings that are settled. Nothing is deleted.";
    const EXAMPLE: &'static str = "twining dismiss 01M7EB3QWY4C5CPJF6982ZJQ18 --reason \"fixed in 3f2a91c\"";
    const EFFECT: Effect = Effect::AddsOnce;

    type Input = Input;
    type Output = DismissOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<DismissOutcome, Failure> {
        let Input { ids, reason, agent_id } = input;
        desk.engine.dismiss(&desk.caller, &DismissInput { ids, reason, agent_id })
    }

    fn show(outcome: &DismissOutcome, page: &mut Page) {
        let closed = outcome.dismissed.iter().map(|id| vec![good("closed"), plain(id)]);
        let already = outcome.already_closed.iter().map(|id| vec![dim("closed before"), plain(id)]);
        let unknown = outcome.not_found.iter().map(|id| vec![bad("not found"), plain(id)]);
        page.table(0, &closed.chain(already).chain(unknown).collect::<Vec<_>>());
    }
}
