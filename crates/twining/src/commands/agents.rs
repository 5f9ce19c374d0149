//! `agents`: who is there, who holds what, and what waits to be taken over.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{AgentsInput, AgentsOutcome, Failure, HandoffShown, Liveness};
use twining_model::Claim;

use super::shown;
use crate::desk::Desk;
use crate::page::{Cell, Page, count, dim, good, place, plain, strong, warn, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Agents;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "Also those who are gone", long, num_args = 0, default_missing_value = "true")]
    include_gone: Option<bool>,
}

impl Verb for Agents {
    const NAME: &'static str = "agents";
    const GROUP: Group = Group::Agents;
    const TITLE: &'static str = "Agents";
    const ABOUT: &'static str = "Who is at work, what they can do, who holds which paths, and handoffs nobody took.";
    const EXAMPLE: &'static str = "twining agents";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = AgentsOutcome;

    fn run(desk: &Desk<'_>, Input { include_gone }: Input) -> Result<AgentsOutcome, Failure> {
        desk.engine.agents(&AgentsInput { include_gone })
    }

    fn show(outcome: &AgentsOutcome, page: &mut Page) {
        if outcome.agents.is_empty() {
            page.line([dim("nobody is here")]);
        }
        let rows = outcome.agents.iter().map(|agent| {
            let said = agent.suspicious.as_deref().map_or_else(|| dim(agent.description.as_deref().unwrap_or_default()), warn);
            vec![
                strong(&agent.agent_id),
                liveness(agent.liveness),
                when(&agent.last_active),
                plain(agent.role.as_deref().unwrap_or_default()),
                plain(agent.capabilities.join(", ")),
                said,
            ]
        });
        page.table(0, &rows.collect::<Vec<_>>());
        if outcome.gone > 0 {
            page.line([dim(format!("{} gone; --include-gone shows them", count(outcome.gone, "more agent")))]);
        }
        shown::section(page, "Held", outcome.claims.iter().map(claim_row));
        shown::section(page, "Waiting to be taken over", outcome.handoffs.iter().map(handoff_row));
    }
}

/// Whether an agent is at work.
pub fn liveness(liveness: Liveness) -> Cell {
    match liveness {
        Liveness::Active => good(liveness.as_str()),
        Liveness::Idle => plain(liveness.as_str()),
        Liveness::Gone => dim(liveness.as_str()),
    }
}

/// A claim on one line.
pub fn claim_row(claim: &Claim) -> Vec<Cell> {
    let held = claim.feature.iter().chain(&claim.paths).cloned().collect::<Vec<_>>().join(" ");
    vec![strong(&claim.agent_id), place(held), dim("until"), when(&claim.until), plain(&claim.reason)]
}

/// A handoff on one line.
pub fn handoff_row(handoff: &HandoffShown) -> Vec<Cell> {
    vec![
        dim(&handoff.id),
        when(&handoff.created_at),
        plain(&handoff.source_agent),
        dim("to"),
        plain(handoff.target_agent.as_deref().unwrap_or("anyone")),
        place(&handoff.scope),
        strong(&handoff.summary),
    ]
}
