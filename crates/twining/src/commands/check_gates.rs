//! `check-gates`: hold results against the bar.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{CheckGatesInput, Evidence, Failure, GatesChecked, Standing};

use super::test_counts::Tests;
use super::{shown, words};
use crate::desk::Desk;
use crate::page::{Cell, Page, bad, dim, good, plain, warn};
use crate::problem::Ending;
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct CheckGates;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "feature, testing, documentation, scaffolding, or the project's own")]
    task_type: String,
    /// 1 to 10
    complexity: i64,
    #[serde(default, deserialize_with = "words::part")]
    #[command(flatten)]
    results: Results,
    /// Paths of JUnit, Cobertura, lcov, nextest, pytest or go test reports; they count over results
    #[serde(default, deserialize_with = "words::list")]
    #[arg(long = "report", value_name = "PATH", value_delimiter = ',')]
    reports: Vec<String>,
}

/// What you measured
#[derive(Debug, Default, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Results {
    #[serde(deserialize_with = "words::part")]
    #[command(flatten)]
    tests: Tests,
    #[arg(help = "As a fraction or in percent", long)]
    coverage: Option<f64>,
    #[arg(help = "The architecture review's score, to 100", long)]
    arch_score: Option<f64>,
}

impl Verb for CheckGates {
    const NAME: &'static str = "check_gates";
    const GROUP: Group = Group::Governance;
    const TITLE: &'static str = "Check quality gates";
    const ABOUT: &'static str = "Judge a task against its quality gates: pass, fail or unknown each, and what to do next. Unknown is not approval. Give results or report paths.";
    const EXAMPLE: &'static str = "twining check-gates feature 5 --report target/nextest/default/junit.xml,lcov.info --arch-score 72";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = GatesChecked;

    fn run(desk: &Desk<'_>, input: Input) -> Result<GatesChecked, Failure> {
        let Input { task_type, complexity, results: Results { tests, coverage, arch_score }, reports } = input;
        let input = CheckGatesInput {
            task_type: Some(task_type),
            complexity,
            tests_run: tests.run,
            tests_passed: tests.passed,
            tests_failed: tests.failed,
            coverage,
            arch_score,
            reports,
        };
        desk.engine.check_gates(&desk.user_policy(), desk.checkout, &input)
    }

    fn show(checked: &GatesChecked, page: &mut Page) {
        page.line([standing(checked.overall), plain(&checked.profile.id)]);
        let rows = checked.gates.iter().map(|gate| {
            let evidence = match gate.evidence {
                Evidence::Report => "report",
                Evidence::Claimed => "claimed",
                Evidence::None => "",
            };
            vec![standing(gate.standing), plain(gate.gate), dim(evidence), plain(&gate.reason)]
        });
        page.table(2, &rows.collect::<Vec<_>>());
        page.heading("Next");
        page.table(2, &checked.next.iter().map(|next| vec![plain(next)]).collect::<Vec<_>>());
        checked.notes.iter().for_each(|note| page.line([warn("note"), plain(note)]));
        shown::mistakes(&checked.mistakes, page);
    }

    fn ending(checked: &GatesChecked) -> Ending {
        if checked.approved { Ending::Done } else { Ending::FoundProblems }
    }
}

fn standing(standing: Standing) -> Cell {
    match standing {
        Standing::Pass => good(standing.as_str()),
        Standing::Unknown => warn(standing.as_str()),
        Standing::Fail => bad(standing.as_str()),
    }
}
