//! `commits`: the decisions behind a commit.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{CommitsInput, CommitsOutcome, Failure};

use crate::desk::Desk;
use crate::page::{Page, dim, place, plain, standing};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Commits;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Hash, or its first 4 digits or more
    #[arg(value_name = "HASH")]
    commit_hash: String,
}

impl Verb for Commits {
    const NAME: &'static str = "commits";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Decisions of a commit";
    const ABOUT: &'static str = "The decisions a commit carries out.";
    const EXAMPLE: &'static str = "twining commits 3f2a91c";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = CommitsOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<CommitsOutcome, Failure> {
        let Input { commit_hash } = input;
        desk.engine.commits(&CommitsInput { commit_hash })
    }

    fn show(outcome: &CommitsOutcome, page: &mut Page) {
        if outcome.decisions.is_empty() {
            page.line([dim("no decision is linked to"), plain(&outcome.commit_hash)]);
        }
        let rows = outcome.decisions.iter().map(|decision| {
            vec![dim(&decision.id), standing(decision.status), place(&decision.scope), dim(&decision.commit_hash), plain(&decision.summary)]
        });
        page.table(0, &rows.collect::<Vec<_>>());
    }
}
