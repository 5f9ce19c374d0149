//! `read`: the blackboard, filtered.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, ReadInput, ReadOutcome};
use twining_model::limits;

use super::shown;
use super::words::{self, ENTRY_TYPES};
use crate::desk::Desk;
use crate::page::{Page, count, dim, plain, strong};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Read;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Only these types", long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = words::one_of(ENTRY_TYPES))]
    entry_types: Vec<String>,
    /// Any of these
    #[serde(default, deserialize_with = "words::list")]
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Only what lies in it
    #[arg(help = "Only what lies in this file or directory, relative to the project", long)]
    scope: Option<String>,
    /// ISO 8601 time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Default 50
    #[arg(long, value_name = "N", value_parser = words::number)]
    limit: Option<usize>,
    /// These entries or decisions, such as assemble omitted
    #[serde(default, deserialize_with = "words::list")]
    #[arg(long = "id", value_name = "ID", value_delimiter = ',', conflicts_with_all = ["entry_types", "tags", "scope", "since", "limit"])]
    ids: Vec<String>,
}

impl Verb for Read {
    const NAME: &'static str = "read";
    const GROUP: Group = Group::Blackboard;
    const TITLE: &'static str = "Read entries";
    const ABOUT: &'static str = "Read the blackboard, filtered; the newest entries, oldest first.";
    const EXAMPLE: &'static str = "twining read --type need,warning --scope src/auth/ --since 2026-11-01";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = ReadOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<ReadOutcome, Failure> {
        let Input { entry_types, tags, scope, since, limit, ids } = input;
        desk.engine.read(&ReadInput { entry_types, tags, scope, since, limit, ids })
    }

    fn show(outcome: &ReadOutcome, page: &mut Page) {
        if !outcome.entries.is_empty() || outcome.decisions.is_empty() {
            shown::entries(&outcome.entries, page);
        }
        for decision in &outcome.decisions {
            page.line([strong(&decision.summary), dim(format!("{} {}", decision.id, decision.status.as_str()))]);
            page.line([plain(&decision.rationale)]);
        }
        if !outcome.missing.is_empty() {
            page.line([dim(format!("nothing here has the id {}", outcome.missing.join(", ")))]);
        }
        let left_out = outcome.total_count.saturating_sub((outcome.entries.len() + outcome.decisions.len()) as u64);
        if left_out > 0 {
            // More than a page, or more than an answer may hold: no limit brings the rest.
            let is_full = outcome.truncated || outcome.entries.len() >= limits::PAGE;
            let next = if is_full { "narrow it with --type, --tag, --scope or --since" } else { "raise --limit" };
            page.line([dim(format!("{} older left out; {next}", count(left_out, "entry")))]);
        }
    }
}
