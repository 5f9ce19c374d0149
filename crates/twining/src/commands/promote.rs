//! `promote`: provisional decisions become active.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, PromoteInput, PromoteOutcome};

use super::words;
use crate::desk::Desk;
use crate::page::{Page, bad, dim, good, plain, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Promote;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[serde(deserialize_with = "words::list")]
    #[arg(help = "Which decisions", required = true, value_name = "ID", value_delimiter = ',')]
    decision_ids: Vec<String>,
    /// Who
    #[arg(long, value_name = "NAME")]
    promoted_by: Option<String>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Promote {
    const NAME: &'static str = "promote";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Promote decisions";
    const ABOUT: &'static str = "Make provisional decisions active, once the user has settled a conflict.";
    const EXAMPLE: &'static str = "twining promote 01M7EB3QWY4C5CPJF6982ZJQ18";
    const EFFECT: Effect = Effect::Changes;

    type Input = Input;
    type Output = PromoteOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<PromoteOutcome, Failure> {
        let Input { decision_ids, promoted_by, agent_id } = input;
        desk.engine.promote(&desk.signing(agent_id.as_deref())?, &PromoteInput { decision_ids, promoted_by })
    }

    fn show(outcome: &PromoteOutcome, page: &mut Page) {
        let promoted = outcome.promoted.iter().map(|id| vec![good("active"), plain(id)]);
        let before = outcome.already_active.iter().map(|id| vec![dim("active before"), plain(id)]);
        let refused = outcome.refused.iter().map(|refused| vec![bad("refused"), plain(&refused.id), plain(&refused.reason)]);
        page.table(0, &promoted.chain(before).chain(refused).collect::<Vec<_>>());
        for contested in &outcome.contested {
            let rivals = contested.rivals.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            page.line([warn("contested:"), plain(&contested.id), dim("disagrees with"), plain(rivals)]);
        }
    }
}
