//! `link_commit`: a commit carries a decision out.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, LinkCommitInput, LinkCommitOutcome};

use crate::desk::Desk;
use crate::page::{Page, dim, good, plain};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct LinkCommit;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "Which decision", value_name = "ID")]
    decision_id: String,
    #[arg(help = "The commit", value_name = "HASH")]
    commit_hash: String,
    /// What the commit did
    #[arg(long)]
    summary: Option<String>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for LinkCommit {
    const NAME: &'static str = "link_commit";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Link a commit";
    const ABOUT: &'static str = "Record that a commit carries a decision out.";
    const EXAMPLE: &'static str = "twining link-commit 01M7EB3QWY4C5CPJF6982ZJQ18 3f2a91c";
    const EFFECT: Effect = Effect::AddsOnce;

    type Input = Input;
    type Output = LinkCommitOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<LinkCommitOutcome, Failure> {
        let Input { decision_id, commit_hash, summary, agent_id } = input;
        desk.engine.link_commit(&desk.signing(agent_id.as_deref())?, &LinkCommitInput { decision_id, commit_hash, summary })
    }

    fn show(outcome: &LinkCommitOutcome, page: &mut Page) {
        let state = if outcome.linked { good("linked") } else { dim("linked before") };
        page.line([state, plain(&outcome.commit_hash), dim("to"), plain(&outcome.decision_summary)]);
    }
}
