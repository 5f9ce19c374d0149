//! `reconsider`: flag a decision for review.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, ReconsiderInput, Reconsidered};

use crate::desk::Desk;
use crate::page::{Page, dim, good, plain, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Reconsider;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "Which decision", value_name = "ID")]
    decision_id: String,
    /// What changed
    #[arg(long, value_name = "WHAT")]
    new_context: String,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Reconsider {
    const NAME: &'static str = "reconsider";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Reconsider a decision";
    const ABOUT: &'static str = "Flag a decision for review because something changed; it becomes provisional and the team is warned.";
    const EXAMPLE: &'static str = "twining reconsider 01M7EB3QWY4C5CPJF6982ZJQ18 --new-context \"The library is no longer maintained\"";
    const EFFECT: Effect = Effect::Changes;

    type Input = Input;
    type Output = Reconsidered;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Reconsidered, Failure> {
        let Input { decision_id, new_context, agent_id } = input;
        desk.engine.reconsider(&desk.caller, &ReconsiderInput { decision_id, new_context, agent_id })
    }

    fn show(outcome: &Reconsidered, page: &mut Page) {
        let standing = if outcome.flagged { good("now provisional:") } else { warn("noted; it was not active:") };
        page.line([standing, plain(&outcome.decision_summary)]);
        if let Some(note) = &outcome.note {
            page.block(2, note);
        }
        page.table(2, &outcome.dependents.iter().map(|id| vec![dim("rests on it:"), plain(id)]).collect::<Vec<_>>());
    }
}
