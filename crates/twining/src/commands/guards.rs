//! `guards`: which guards hold.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, GuardsOutcome};

use super::shown;
use crate::desk::Desk;
use crate::page::{Page, bad, dim, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Guards;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {}

impl Verb for Guards {
    const NAME: &'static str = "guards";
    const GROUP: Group = Group::Learning;
    const TITLE: &'static str = "Guards";
    const ABOUT: &'static str = "The guards that hold: what each does, and whether it is proposed or dead.";
    const EXAMPLE: &'static str = "twining guards";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = GuardsOutcome;

    fn run(desk: &Desk<'_>, _input: Input) -> Result<GuardsOutcome, Failure> {
        Ok(desk.engine.list_guards(&desk.user_policy()))
    }

    fn show(outcome: &GuardsOutcome, page: &mut Page) {
        let rows = outcome.guards.iter().map(|guard| {
            let standing = match (&guard.dead, guard.proposed) {
                (Some(why), _) => bad(format!("dead: {why}")),
                (None, true) => warn("proposed"),
                (None, false) => plain(&guard.say),
            };
            vec![strong(&guard.id), plain(guard.action.as_str()), dim(&guard.source), standing]
        });
        page.table(0, &rows.collect::<Vec<_>>());
        shown::mistakes(&outcome.mistakes, page);
    }
}
