//! `search_decisions`: find decisions.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, SearchDecisionsInput, SearchDecisionsOutcome};

use super::shown;
use super::words::{self, CONFIDENCES, STATUSES};
use crate::desk::Desk;
use crate::page::Page;
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct SearchDecisions;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to look for
    query: String,
    #[arg(help = "Only this domain", long)]
    domain: Option<String>,
    #[schemars(extend("enum" = STATUSES))]
    #[arg(help = "Only those that stand so", long, value_parser = words::one_of(STATUSES))]
    status: Option<String>,
    #[schemars(extend("enum" = CONFIDENCES))]
    #[arg(help = "Only those so sure", long, value_parser = words::one_of(CONFIDENCES))]
    confidence: Option<String>,
    #[arg(help = "Only where the scope overlaps this one", long)]
    scope: Option<String>,
    /// ISO 8601
    #[arg(help = "Only made from this time on", long, value_name = "TIME")]
    since: Option<String>,
    /// Default 20
    #[arg(long, value_name = "N", value_parser = words::number)]
    limit: Option<usize>,
}

impl Verb for SearchDecisions {
    const NAME: &'static str = "search_decisions";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Search decisions";
    const ABOUT: &'static str = "Search decisions in any scope, by words and meaning, best match first.";
    const EXAMPLE: &'static str = "twining search-decisions \"session storage\" --status active";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = SearchDecisionsOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<SearchDecisionsOutcome, Failure> {
        let Input { query, domain, status, confidence, scope, since, limit } = input;
        desk.engine.search_decisions(&SearchDecisionsInput { query, domain, status, confidence, scope, since, limit })
    }

    fn show(outcome: &SearchDecisionsOutcome, page: &mut Page) {
        shown::hits(outcome.results.iter().map(|hit| (hit.relevance, shown::decision_row(&hit.decision))), page);
        shown::embedding(page, outcome.mode, outcome.not_yet_embedded);
        shown::cut(page, outcome.truncated, "search for less at a time");
    }
}
