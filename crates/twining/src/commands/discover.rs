//! `discover`: who can do this?

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{AgentFound, DiscoverInput, DiscoverOutcome, Failure};

use super::agents::liveness;
use crate::desk::Desk;
use crate::page::{Page, dim, plain, strong};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Discover;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "What they must be able to do, with commas between", value_name = "WORD", value_delimiter = ',', required = true)]
    required_capabilities: Vec<String>,
    #[arg(help = "Also those who are gone", long, num_args = 0, default_missing_value = "true")]
    include_gone: Option<bool>,
    #[arg(help = "Leave out worse fits; from 0 to 1", long, value_name = "SCORE")]
    min_score: Option<f64>,
}

impl Verb for Discover {
    const NAME: &'static str = "discover";
    const GROUP: Group = Group::Agents;
    const TITLE: &'static str = "Discover agents";
    const ABOUT: &'static str = "Who can do this, best fit first.";
    const EXAMPLE: &'static str = "twining discover rust,sql";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = DiscoverOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<DiscoverOutcome, Failure> {
        let Input { required_capabilities, include_gone, min_score } = input;
        desk.engine.discover(&DiscoverInput { required_capabilities, include_gone, min_score })
    }

    fn show(outcome: &DiscoverOutcome, page: &mut Page) {
        found(&outcome.agents, page);
    }
}

/// Those who fit, one a line.
pub fn found(agents: &[AgentFound], page: &mut Page) {
    if agents.is_empty() {
        page.line([dim("nobody who can is known")]);
    }
    let rows = agents.iter().map(|agent| {
        let missing = if agent.missing.is_empty() { String::new() } else { format!("without {}", agent.missing.join(", ")) };
        vec![
            dim(format!("{:.2}", agent.score)),
            strong(&agent.agent_id),
            liveness(agent.liveness),
            plain(agent.matched.join(", ")),
            dim(missing),
        ]
    });
    page.table(0, &rows.collect::<Vec<_>>());
}
