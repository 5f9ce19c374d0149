//! `path`: how two things hang together.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, PathInput, PathOutcome};

use super::shown;
use super::words::{self, RELATION_TYPES};
use crate::desk::Desk;
use crate::page::{Page, count, dim, plain};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Path;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Entity id or name
    from: String,
    /// Entity id or name
    to: String,
    /// Default 6
    #[arg(long, value_name = "N", value_parser = words::number)]
    max_depth: Option<usize>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Only over these relations", long = "relation-type", value_name = "TYPE", value_delimiter = ',', value_parser = words::one_of(RELATION_TYPES))]
    relation_types: Vec<String>,
}

impl Verb for Path {
    const NAME: &'static str = "path";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Path between entities";
    const ABOUT: &'static str = "The shortest path between two entities.";
    const EXAMPLE: &'static str = "twining path LoginPage redis";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = PathOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<PathOutcome, Failure> {
        let Input { from, to, max_depth, relation_types } = input;
        desk.engine.path(&PathInput { from, to, max_depth, relation_types })
    }

    fn show(outcome: &PathOutcome, page: &mut Page) {
        if !outcome.found {
            page.line([dim("no path")]);
            shown::cut(page, outcome.truncated, "the search stopped at its limit; ask for one relation type");
            return;
        }
        page.line([dim(count(outcome.length, "step"))]);
        let rows = outcome.path.iter().map(|step| {
            let arrow = match (&step.relation, &step.direction) {
                (Some(relation), Some(direction)) => shown::arrow(relation, *direction),
                _ => String::new(),
            };
            std::iter::once(plain(arrow)).chain(shown::entity_met(&step.entity)).collect()
        });
        page.table(2, &rows.collect::<Vec<_>>());
    }
}
