//! `export`: the memory as a document.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_engine::{ExportInput, ExportOutcome, Extent, Failure};
use twining_model::Refused;

use super::words::{self, FORMATS};
use crate::desk::Desk;
use crate::page::{Page, dim, good, place};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Export;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[schemars(extend("enum" = FORMATS))]
    #[arg(help = "Default markdown", value_parser = words::one_of(FORMATS))]
    format: Option<String>,
    #[arg(help = "Only what lies in this file or directory, relative to the project", long)]
    scope: Option<String>,
    #[serde(skip)]
    #[arg(long = "format", value_name = "FORMAT", value_parser = words::one_of(FORMATS), conflicts_with = "format", hide = true)]
    spelled_format: Option<String>,
    /// Only at a command line: an agent has its own tools for files.
    #[serde(skip)]
    #[arg(help = "Write it to this file, or madr into this folder; all of it, however large", long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    out: Option<PathBuf>,
}

/// What it answers, and where it went.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Exported {
    #[serde(flatten)]
    outcome: ExportOutcome,
    /// Files that were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
}

impl Verb for Export {
    const NAME: &'static str = "export";
    const GROUP: Group = Group::Lifecycle;
    const TITLE: &'static str = "Export";
    const ABOUT: &'static str = "The memory as one document, for people.";
    const EXAMPLE: &'static str = "twining export html --out memory.html";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = Exported;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Exported, Failure> {
        let Input { format, scope, spelled_format, out } = input;
        let extent = if out.is_some() { Extent::Whole } else { Extent::Answer };
        let mut outcome = desk.engine.export(&ExportInput { format: format.or(spelled_format), scope, extent })?;
        let written = match out {
            Some(out) => write(&mut outcome, &out)?,
            None => Vec::new(),
        };
        Ok(Exported { outcome, written })
    }

    fn show(exported: &Exported, page: &mut Page) {
        let outcome = &exported.outcome;
        for file in &exported.written {
            page.line([good("written"), place(file)]);
        }
        if !exported.written.is_empty() {
            return;
        }
        if outcome.files.is_empty() {
            page.verbatim(&outcome.content);
        }
        for file in &outcome.files {
            page.line([dim(format!("==> {} <==", file.name))]);
            page.verbatim(&file.content);
        }
    }
}

/// Writes the documents out, and takes them from the answer.
fn write(outcome: &mut ExportOutcome, out: &Path) -> Result<Vec<String>, Failure> {
    let failed = |path: &Path, error: &std::io::Error| {
        Failure::from(Refused::new("out", "cannot be written").because(format!("{}: {error}", path.display())))
    };
    let mut written = Vec::new();
    let mut put = |path: PathBuf, content: &str| {
        fs::write(&path, content).map_err(|error| failed(&path, &error))?;
        written.push(path.display().to_string());
        Ok::<_, Failure>(())
    };
    if outcome.format == "madr" {
        fs::create_dir_all(out).map_err(|error| failed(out, &error))?;
        for file in &outcome.files {
            put(out.join(&file.name), &file.content)?;
        }
        put(out.join("index.md"), &outcome.content)?;
    } else {
        put(out.to_path_buf(), &outcome.content)?;
    }
    outcome.content.clear();
    outcome.files.clear();
    Ok(written)
}
