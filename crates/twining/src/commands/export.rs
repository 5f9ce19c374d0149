//! `export`: the memory as a document.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{ExportInput, ExportOutcome, Failure};

use super::words::{self, FORMATS};
use crate::desk::Desk;
use crate::page::{Page, dim};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Export;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[schemars(extend("enum" = FORMATS))]
    #[arg(help = "Default markdown", long, value_parser = words::one_of(FORMATS))]
    format: Option<String>,
    #[arg(help = "Only what lies in this file or directory, relative to the project", long)]
    scope: Option<String>,
}

impl Verb for Export {
    const NAME: &'static str = "export";
    const GROUP: Group = Group::Lifecycle;
    const TITLE: &'static str = "Export";
    const ABOUT: &'static str = "The memory as one document, for people.";
    const EXAMPLE: &'static str = "twining export --format markdown --scope src/auth/ > decisions.md";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = ExportOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<ExportOutcome, Failure> {
        let Input { format, scope } = input;
        desk.engine.export(&ExportInput { format, scope })
    }

    fn show(outcome: &ExportOutcome, page: &mut Page) {
        if outcome.files.is_empty() {
            page.verbatim(&outcome.content);
        }
        for file in &outcome.files {
            page.line([dim(format!("==> {} <==", file.name))]);
            page.verbatim(&file.content);
        }
    }
}
