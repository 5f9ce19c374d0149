//! `claim`: hold a part of the project for yourself, for a while.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{ClaimInput, ClaimOutcome, Failure};

use super::agents::claim_row;
use super::{shown, words};
use crate::desk::Desk;
use crate::page::{Page, count, dim, good, place, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Claim;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Files and directories", value_name = "PATH")]
    paths: Vec<String>,
    #[arg(help = "A feature, with its files if no path is given", long, value_name = "ID")]
    feature: Option<String>,
    #[schemars(extend("enum" = ACTIONS))]
    #[arg(help = "What to do; default claim", long, value_parser = words::one_of(ACTIONS))]
    action: Option<String>,
    /// 90s, 30m (default), 2h
    #[serde(default, deserialize_with = "words::number_or_text")]
    #[arg(help = "For how long: 90s, 30m, 2h; at most 24h", long, value_name = "TIME")]
    ttl: Option<String>,
    #[arg(help = "What for", long)]
    reason: Option<String>,
    #[arg(skip)]
    agent_id: Option<String>,
}

const ACTIONS: [&str; 3] = ["claim", "release", "list"];

impl Verb for Claim {
    const NAME: &'static str = "claim";
    const GROUP: Group = Group::Agents;
    const TITLE: &'static str = "Claim";
    const ABOUT: &'static str =
        "Hold paths or a feature for yourself before you edit; it ends by itself. CLAIMED says who has it. Release when done.";
    const EXAMPLE: &'static str = "twining claim src/auth --ttl 2h --reason \"rewriting tokens\"";
    const EFFECT: Effect = Effect::Changes;

    type Input = Input;
    type Output = ClaimOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<ClaimOutcome, Failure> {
        let Input { paths, feature, action, ttl, reason, agent_id } = input;
        desk.engine.claim(&desk.caller, &ClaimInput { action, paths, feature, ttl, reason, agent_id })
    }

    fn show(outcome: &ClaimOutcome, page: &mut Page) {
        if let Some(claim) = &outcome.claim {
            page.line([good("held"), place(claim.paths.join(" ")), dim("until"), when(&claim.until)]);
        }
        if !outcome.released.is_empty() {
            page.line([good(format!("let go of {}", count(outcome.released.len() as u64, "claim")))]);
        }
        if outcome.claims.is_empty() {
            page.line([dim("nobody holds anything")]);
        }
        shown::section(page, "Held", outcome.claims.iter().map(claim_row));
    }
}
