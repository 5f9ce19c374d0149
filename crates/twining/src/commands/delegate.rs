//! `delegate`: ask for help from whoever can give it.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{DelegateInput, Delegated, Failure};

use super::{discover, shown, words};
use crate::desk::Desk;
use crate::page::{Page, dim, good, plain, strong, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Delegate;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What is to be done
    summary: String,
    #[arg(help = "What it takes, with commas between", long = "needs", value_name = "WORD", value_delimiter = ',', required = true)]
    required_capabilities: Vec<String>,
    #[schemars(extend("enum" = URGENCIES))]
    #[arg(help = "How soon; default normal", long, value_parser = words::one_of(URGENCIES))]
    urgency: Option<String>,
    #[arg(help = "How long it waits; by its urgency by default", long, value_name = "MS")]
    timeout_ms: Option<u64>,
    #[arg(help = words::SCOPE_OR_PROJECT, long)]
    scope: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Domain tags", long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    #[arg(skip)]
    agent_id: Option<String>,
}

const URGENCIES: [&str; 3] = ["high", "normal", "low"];

impl Verb for Delegate {
    const NAME: &'static str = "delegate";
    const GROUP: Group = Group::Agents;
    const TITLE: &'static str = "Delegate";
    const ABOUT: &'static str = "Post a need that says which capabilities it takes; the reply names who can, and offers on the board.";
    const EXAMPLE: &'static str = "twining delegate \"make the report query fast\" --needs sql --urgency high --scope src/report/";
    const EFFECT: Effect = Effect::Adds;

    type Input = Input;
    type Output = Delegated;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Delegated, Failure> {
        let Input { summary, required_capabilities, urgency, timeout_ms, scope, tags, agent_id } = input;
        desk.engine.delegate(&desk.caller, &DelegateInput { summary, required_capabilities, urgency, timeout_ms, scope, tags, agent_id })
    }

    fn show(delegated: &Delegated, page: &mut Page) {
        page.line([good("asked"), plain(&delegated.id), dim("until"), when(&delegated.expires_at)]);
        discover::found(&delegated.suggested_agents, page);
        let offers = delegated.offers.iter().map(|offer| vec![dim(&offer.id), strong(&offer.agent_id), plain(&offer.summary)]);
        shown::section(page, "Offers", offers);
    }
}
