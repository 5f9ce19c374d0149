//! `query_traces`: what went wrong before.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, QueryTracesInput, QueryTracesOutcome, SearchMode};

use super::words::{self, TRACE_TYPES};
use crate::desk::Desk;
use crate::page::{Cell, Page, bad, count, dim, good, plain, strong, warn, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct QueryTraces;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Words; none gives the newest
    query: Option<String>,
    #[serde(rename = "type")]
    #[schemars(extend("enum" = TRACE_TYPES))]
    #[arg(help = "Only this type", long = "type", value_name = "TYPE", value_parser = words::one_of(TRACE_TYPES))]
    kind: Option<String>,
    #[arg(help = "Only about this guard", long)]
    guard: Option<String>,
    #[serde(rename = "agent")]
    #[arg(help = "Only of this agent", long = "of", value_name = "AGENT")]
    of: Option<String>,
    #[arg(help = "Only what was blocked, or `false` for the rest", long, num_args = 0..=1, default_missing_value = "true")]
    blocked: Option<bool>,
    /// ISO 8601
    #[arg(help = "Only from this time on", long, value_name = "TIME")]
    since: Option<String>,
    #[arg(help = "Only before this time", long, value_name = "TIME")]
    until: Option<String>,
    /// Default 20
    #[arg(long, value_name = "N", value_parser = words::number)]
    limit: Option<usize>,
    #[arg(help = "Where the page begins", long, value_name = "N", value_parser = words::number)]
    offset: Option<usize>,
}

impl Verb for QueryTraces {
    const NAME: &'static str = "query_traces";
    const GROUP: Group = Group::Learning;
    const TITLE: &'static str = "Query traces";
    const ABOUT: &'static str = "Find violations, corrections and approvals of the past, before you decide.";
    const EXAMPLE: &'static str = "twining query-traces \"push to main\" --type correction";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = QueryTracesOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<QueryTracesOutcome, Failure> {
        let Input { query, kind, guard, of, blocked, since, until, limit, offset } = input;
        desk.engine.query_traces(&QueryTracesInput { query, kind, guard, agent: of, blocked, since, until, limit, offset })
    }

    fn show(outcome: &QueryTracesOutcome, page: &mut Page) {
        if outcome.traces.is_empty() {
            page.line([dim("no traces")]);
        }
        let rows = outcome.traces.iter().map(|hit| {
            let trace = &hit.trace;
            let guard = trace.guard.as_deref().or(trace.action.as_deref()).unwrap_or_default();
            vec![
                dim(&trace.id),
                when(&trace.timestamp),
                kind(&trace.kind, trace.blocked),
                strong(guard),
                dim(&trace.context.agent),
                plain(&trace.event.what_happened),
            ]
        });
        page.table(0, &rows.collect::<Vec<_>>());
        if let Some(next) = outcome.next_offset {
            page.line([dim(format!("{} in all; give --offset {next} for more", count(outcome.total as u64, "trace")))]);
        }
        if outcome.mode == SearchMode::Keyword && outcome.traces.iter().any(|hit| hit.relevance.is_some()) {
            page.line([dim("searched by words alone")]);
        }
    }
}

fn kind(word: &str, blocked: bool) -> Cell {
    match (word, blocked) {
        ("violation", true) => bad("blocked"),
        ("violation", false) => warn("violation"),
        ("approval", _) => good("approval"),
        (word, _) => plain(word),
    }
}
