//! `turns`: what earlier turns came to.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, TurnsInput, TurnsOutcome};

use super::{shown, words};
use crate::desk::Desk;
use crate::page::{Cell, Page, bad, dim, good, place, plain, strong, warn, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Turns;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "The feature's id")]
    feature: String,
    #[arg(help = "Only this task's", long)]
    task: Option<String>,
    #[arg(help = "Only the latest; default 10", long, value_name = "N", value_parser = words::number)]
    last: Option<usize>,
}

impl Verb for Turns {
    const NAME: &'static str = "turns";
    const GROUP: Group = Group::Governance;
    const TITLE: &'static str = "Turns";
    const ABOUT: &'static str = "What earlier player-coach turns of a feature came to, oldest first.";
    const EXAMPLE: &'static str = "twining turns FEAT-GE --task TASK-GE-001 --last 3";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = TurnsOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<TurnsOutcome, Failure> {
        let Input { feature, task, last } = input;
        desk.engine.turns(&TurnsInput { feature, task, last })
    }

    fn show(outcome: &TurnsOutcome, page: &mut Page) {
        if outcome.turns.is_empty() {
            page.line([dim("no turns")]);
        }
        for turn in &outcome.turns {
            page.table(0, &[vec![dim(&turn.id), when(&turn.timestamp), verdict(&turn.coach_decision), strong(&turn.player_decision)]]);
            page.block(2, &turn.progress_summary);
            page.block(2, &turn.coach_feedback);
        }
        shown::cut(page, outcome.truncated, "give --last");
        let unreadable = outcome.unreadable.iter().map(|file| vec![place(&file.file), plain(&file.why)]);
        shown::section(page, "Skipped, because they are no turns", unreadable);
    }
}

fn verdict(word: &str) -> Cell {
    match word {
        "approve" => good(word),
        "escalate" => bad(word),
        _ => warn(word),
    }
}
