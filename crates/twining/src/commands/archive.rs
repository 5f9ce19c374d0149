//! `archive`: move what is settled off the blackboard.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{ArchiveInput, ArchiveOutcome, Failure};

use crate::desk::Desk;
use crate::page::{Page, count, dim, good, place};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Archive;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// ISO 8601 time; default now
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    #[arg(help = "Accepted for old clients: decisions always stay", long, value_name = "BOOL")]
    keep_decisions: Option<bool>,
    /// Post a summary; default true
    #[arg(long, value_name = "BOOL")]
    summarize: Option<bool>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Archive {
    const NAME: &'static str = "archive";
    const GROUP: Group = Group::Lifecycle;
    const TITLE: &'static str = "Archive entries";
    const ABOUT: &'static str =
        "Move old entries off the blackboard into the archive. Decisions and open needs, questions and warnings stay.";
    const EXAMPLE: &'static str = "twining archive --before 2026-11-01";
    const EFFECT: Effect = Effect::Removes;

    type Input = Input;
    type Output = ArchiveOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<ArchiveOutcome, Failure> {
        let Input { before, keep_decisions, summarize, agent_id } = input;
        desk.engine.archive(&desk.signing(agent_id.as_deref())?, &ArchiveInput { before, keep_decisions, summarize })
    }

    fn show(outcome: &ArchiveOutcome, page: &mut Page) {
        if outcome.archived_count == 0 {
            page.line([dim("nothing to archive")]);
        } else {
            page.line([good("archived"), dim(count(outcome.archived_count, "entry")), dim("to"), place(&outcome.archive_file)]);
        }
        if outcome.kept_open > 0 {
            page.line([dim(format!("{} still open and kept", count(outcome.kept_open, "entry")))]);
        }
        for text in outcome.summary.iter().chain(&outcome.note) {
            page.block(2, text);
        }
    }
}
