//! `features`: what is to be built, and how far it is.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::workflow::Status;
use twining_engine::{Failure, Feature, FeaturesInput, FeaturesOutcome};

use super::words::{self, FEATURE_ACTIONS, FEATURE_STATUSES};
use crate::desk::Desk;
use crate::page::{Cell, Page, bad, dim, good, place, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Features;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[schemars(extend("enum" = FEATURE_ACTIONS))]
    #[arg(help = "list (default), add or update")]
    action: Option<String>,
    #[arg(help = "The feature's id")]
    id: Option<String>,
    #[arg(help = "What is to be built", long)]
    description: Option<String>,
    #[schemars(extend("enum" = FEATURE_STATUSES))]
    #[arg(help = "One step from where it is; with list, which to show", long)]
    status: Option<String>,
    #[arg(help = "Whether it was shown to work; needs a recorded run", long, value_name = "BOOL")]
    tested: Option<bool>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Its files and folders, with commas between", long = "file", value_name = "PATH", value_delimiter = ',')]
    files: Vec<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Its tests, paths or ids, with commas between", long = "test", value_name = "TEST", value_delimiter = ',')]
    tests: Vec<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "What must hold for it to work; repeat the flag for more", long = "criterion", value_name = "TEXT")]
    acceptance_criteria: Vec<String>,
    /// A number, lower first, or high, medium, low
    #[serde(default, deserialize_with = "words::number_or_text")]
    #[schemars(with = "Option<String>")]
    #[arg(long)]
    priority: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Features to be tested before it, with commas between", long = "depends-on", value_name = "ID", value_delimiter = ',')]
    depends_on: Vec<String>,
    #[arg(help = "Why it is blocked or reopened", long)]
    reason: Option<String>,
    #[arg(help = "How many to show; default 50", long, value_name = "N")]
    limit: Option<usize>,
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Features {
    const NAME: &'static str = "features";
    const GROUP: Group = Group::Workflow;
    const TITLE: &'static str = "Features";
    const ABOUT: &'static str =
        "List, add or update features. A status moves one step at a time; tested needs a recorded run. Prefer twining_report for progress.";
    const EXAMPLE: &'static str =
        "twining features add F7 --description \"Log out everywhere\" --file src/auth/ --criterion \"old tokens are refused\"";
    const EFFECT: Effect = Effect::Changes;

    type Input = Input;
    type Output = FeaturesOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<FeaturesOutcome, Failure> {
        let Input {
            action,
            id,
            description,
            status,
            tested,
            files,
            tests,
            acceptance_criteria,
            priority,
            depends_on,
            reason,
            limit,
            agent_id,
        } = input;
        let input = FeaturesInput {
            action,
            id,
            description,
            status,
            tested,
            files,
            tests,
            acceptance_criteria,
            priority,
            depends_on,
            reason,
            limit,
            agent_id,
        };
        desk.engine.features(&desk.caller, desk.checkout, &input)
    }

    fn show(outcome: &FeaturesOutcome, page: &mut Page) {
        if outcome.features.is_empty() {
            page.line([dim("no features")]);
        }
        page.table(0, &outcome.features.iter().map(row).collect::<Vec<_>>());
        super::shown::cut(page, outcome.truncated, "--limit shows more, --status chooses");
        page.line([dim(format!("{} in all", outcome.total)), place(&outcome.path)]);
        outcome.problems.iter().for_each(|problem| page.line([warn("problem"), plain(problem)]));
    }
}

/// How far a feature is.
pub fn standing(status: Status) -> Cell {
    match status {
        Status::Tested => good(status.as_str()),
        Status::Blocked => bad(status.as_str()),
        Status::InProgress | Status::Completed => warn(status.as_str()),
        Status::Pending => plain(status.as_str()),
    }
}

fn row(feature: &Feature) -> Vec<Cell> {
    let waits = if feature.depends_on.is_empty() { String::new() } else { format!("after {}", feature.depends_on.join(", ")) };
    let by = feature.verified_by.as_ref().map(|by| format!("({by})")).unwrap_or_default();
    vec![
        strong(&feature.id),
        standing(feature.status),
        dim(by),
        dim(format!("p{}", feature.priority)),
        dim(waits),
        plain(&feature.description),
    ]
}
