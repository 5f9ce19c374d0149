//! `graph_query`: find things in the graph.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, GraphQueryInput, GraphQueryOutcome};

use super::shown;
use super::words::{self, ENTITY_TYPES};
use crate::desk::Desk;
use crate::page::{Page, dim};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct GraphQuery;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Part of a name or property
    query: String,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Only these types", long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = words::one_of(ENTITY_TYPES))]
    entity_types: Vec<String>,
    /// Default 10
    #[arg(long, value_name = "N", value_parser = words::number)]
    limit: Option<usize>,
}

impl Verb for GraphQuery {
    const NAME: &'static str = "graph_query";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Find entities";
    const ABOUT: &'static str = "Find entities by name or property.";
    const EXAMPLE: &'static str = "twining graph-query session --type class,module";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = GraphQueryOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<GraphQueryOutcome, Failure> {
        let Input { query, entity_types, limit } = input;
        desk.engine.graph_query(&GraphQueryInput { query, entity_types, limit })
    }

    fn show(outcome: &GraphQueryOutcome, page: &mut Page) {
        if outcome.entities.is_empty() {
            page.line([dim("nothing matches")]);
        }
        page.table(0, &outcome.entities.iter().map(shown::entity_row).collect::<Vec<_>>());
        shown::cut(page, outcome.truncated, "raise --limit or search for more of the name");
    }
}
