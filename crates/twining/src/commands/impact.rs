//! `impact`: what a change of a decision would touch.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, Impact as Touched, ImpactInput};

use super::shown;
use crate::desk::Desk;
use crate::page::{Page, dim, kind, place, plain, standing};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Impact;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "Which decision", value_name = "ID")]
    decision_id: String,
}

impl Verb for Impact {
    const NAME: &'static str = "impact";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Impact of a decision";
    const ABOUT: &'static str = "What changing a decision would touch: decisions that rest on it, files, symbols, entries, commits.";
    const EXAMPLE: &'static str = "twining impact 01M7EB3QWY4C5CPJF6982ZJQ18";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = Touched;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Touched, Failure> {
        let Input { decision_id } = input;
        desk.engine.impact(&ImpactInput { decision_id })
    }

    fn show(impact: &Touched, page: &mut Page) {
        page.line([plain(&impact.summary)]);
        shown::section(
            page,
            "Decisions that rest on it",
            impact.dependents.iter().map(|decision| vec![dim(&decision.id), standing(decision.status), plain(&decision.summary)]),
        );
        shown::section(page, "Files", impact.affected_files.iter().map(|file| vec![place(file)]));
        shown::section(page, "Symbols", impact.affected_symbols.iter().map(|symbol| vec![plain(symbol)]));
        shown::section(page, "Entities", impact.entities.iter().map(shown::entity_row));
        shown::section(
            page,
            "Entries",
            impact.entries.iter().map(|entry| vec![dim(&entry.id), kind(&entry.entry_type), plain(&entry.summary)]),
        );
        shown::section(page, "Commits", impact.commits.iter().map(|hash| vec![plain(hash)]));
        shown::cut(page, impact.truncated, "trace one of the decisions that rest on it");
    }
}
