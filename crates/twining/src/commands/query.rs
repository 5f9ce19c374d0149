//! `query`: search the blackboard.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, QueryInput, QueryOutcome};

use super::shown;
use super::words::{self, ENTRY_TYPES};
use crate::desk::Desk;
use crate::page::Page;
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Query;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to look for
    query: String,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Only these types", long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = words::one_of(ENTRY_TYPES))]
    entry_types: Vec<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Only with one of these tags", long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    #[arg(help = "Only inside this scope", long)]
    scope: Option<String>,
    /// `open`: only what waits for an answer
    #[schemars(extend("enum" = STANDINGS))]
    #[arg(long, value_parser = words::one_of(STANDINGS))]
    status: Option<String>,
    /// ISO 8601
    #[arg(help = "Only from this time on", long, value_name = "TIME")]
    since: Option<String>,
    /// Default 10
    #[arg(long, value_name = "N", value_parser = words::number)]
    limit: Option<usize>,
}

const STANDINGS: [&str; 2] = ["open", "any"];

impl Verb for Query {
    const NAME: &'static str = "query";
    const GROUP: Group = Group::Blackboard;
    const TITLE: &'static str = "Search entries";
    const ABOUT: &'static str =
        "Search what agents posted, by words and meaning, best match first. Ask before you investigate something yourself.";
    const EXAMPLE: &'static str = "twining query \"token expiry\" --type finding,warning";
    const EFFECT: Effect = Effect::Reads;
    const ALWAYS_LOADED: bool = true;

    type Input = Input;
    type Output = QueryOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<QueryOutcome, Failure> {
        let Input { query, entry_types, tags, scope, status, since, limit } = input;
        desk.engine.query(&QueryInput { query, entry_types, tags, scope, status, since, limit })
    }

    fn show(outcome: &QueryOutcome, page: &mut Page) {
        shown::hits(outcome.results.iter().map(|hit| (hit.relevance, shown::entry_row(&hit.entry))), page);
        shown::embedding(page, outcome.mode, outcome.not_yet_embedded);
        shown::cut(page, outcome.truncated, "search for less at a time");
    }
}
