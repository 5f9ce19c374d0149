//! `neighbors`: what hangs together with a thing.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, NeighborsInput, NeighborsOutcome};

use super::shown;
use super::words::{self, RELATION_TYPES};
use crate::desk::Desk;
use crate::page::{Page, dim, plain};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Neighbors;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Entity id or name
    entity: String,
    /// Steps, 1 (default) to 3
    #[arg(long, value_name = "N", value_parser = words::number)]
    depth: Option<usize>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Only over these relations", long = "relation-type", value_name = "TYPE", value_delimiter = ',', value_parser = words::one_of(RELATION_TYPES))]
    relation_types: Vec<String>,
}

impl Verb for Neighbors {
    const NAME: &'static str = "neighbors";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Neighbours of an entity";
    const ABOUT: &'static str = "The entities connected to one.";
    const EXAMPLE: &'static str = "twining neighbors SessionStore --depth 2";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = NeighborsOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<NeighborsOutcome, Failure> {
        let Input { entity, depth, relation_types } = input;
        desk.engine.neighbors(&NeighborsInput { entity, depth, relation_types })
    }

    fn show(outcome: &NeighborsOutcome, page: &mut Page) {
        page.table(0, &[shown::entity_row(&outcome.center)]);
        let rows = outcome.neighbors.iter().map(|neighbor| {
            let arrow = shown::arrow(&neighbor.relation, neighbor.direction);
            [dim(neighbor.depth.to_string()), plain(arrow)].into_iter().chain(shown::entity_met(&neighbor.entity)).collect()
        });
        page.table(2, &rows.collect::<Vec<_>>());
        shown::cut(page, outcome.truncated, "ask for a smaller depth or for one relation type");
    }
}
