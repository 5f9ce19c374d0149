//! `recent`: the latest entries.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, RecentInput, RecentOutcome};

use super::shown;
use super::words::{self, ENTRY_TYPES};
use crate::desk::Desk;
use crate::page::Page;
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Recent;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// How many; default 20
    #[arg(value_name = "N", value_parser = words::number)]
    n: Option<usize>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Only these types", long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = words::one_of(ENTRY_TYPES))]
    entry_types: Vec<String>,
}

impl Verb for Recent {
    const NAME: &'static str = "recent";
    const GROUP: Group = Group::Blackboard;
    const TITLE: &'static str = "Latest entries";
    const ABOUT: &'static str = "The latest entries, newest first.";
    const EXAMPLE: &'static str = "twining recent 5 --type finding";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = RecentOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<RecentOutcome, Failure> {
        let Input { n, entry_types } = input;
        desk.engine.recent(&RecentInput { n, entry_types })
    }

    fn show(outcome: &RecentOutcome, page: &mut Page) {
        shown::entries(&outcome.entries, page);
        shown::cut(page, outcome.truncated, "ask for fewer");
    }
}
