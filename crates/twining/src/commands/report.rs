//! `report`: what was done to a feature, and what shows it.

use std::path::Path;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{EvidenceInput, Failure, ReportContext, ReportInput, ReportOutcome};
use twining_guard::checks::tests_changed::{compare_files, is_test_file};
use twining_model::limits;
use twining_store::disk;
use twining_store::git::{BranchChanges, Git};

use super::features::{coloured, standing};
use super::test_counts::Tests;
use super::words::{self, OUTCOMES};
use crate::desk::Desk;
use crate::page::{Page, dim, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// Test files that are compared with their versions before.
const MAX_TEST_FILES: usize = 500;

/// The verb.
pub struct Report;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "The feature's id")]
    feature: String,
    /// coder or tester
    #[arg(long)]
    role: String,
    #[schemars(extend("enum" = OUTCOMES))]
    #[arg(help = "started, completed, passed, failed, blocked or reopened", long)]
    outcome: String,
    /// What was done, what broke, or why
    #[arg(long)]
    summary: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Files that were changed, with commas between", long = "file", value_name = "PATH", value_delimiter = ',')]
    files: Vec<String>,
    #[serde(default, deserialize_with = "words::part")]
    #[command(flatten)]
    evidence: Evidence,
    #[arg(skip)]
    agent_id: Option<String>,
}

/// The run that shows it; passed needs one
#[derive(Debug, Default, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Evidence {
    #[arg(help = "What was run", long)]
    command: Option<String>,
    #[arg(help = "How it ended", long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i64>,
    #[serde(deserialize_with = "words::part")]
    #[command(flatten)]
    tests: Tests,
    /// What it printed, or the end of it
    #[arg(long, value_name = "TEXT")]
    output: Option<String>,
    #[serde(deserialize_with = "words::list")]
    #[arg(
        help = "Paths of its test reports, with commas between; they count over the counts given",
        long = "report",
        value_name = "PATH",
        value_delimiter = ','
    )]
    reports: Vec<String>,
    #[serde(deserialize_with = "words::list")]
    #[arg(help = "Paths of data it produced, with commas between", long = "data", value_name = "PATH", value_delimiter = ',')]
    data: Vec<String>,
    #[arg(help = "When it ended; default now", long, value_name = "TIME")]
    finished_at: Option<String>,
    #[arg(help = "The JSON of twining verify --ci, of a commit HEAD builds on", long, value_name = "PATH")]
    ci_report: Option<String>,
}

impl Verb for Report {
    const NAME: &'static str = "report";
    const GROUP: Group = Group::Workflow;
    const TITLE: &'static str = "Report on a feature";
    const ABOUT: &'static str = "Report what you did to a feature; it moves one step and the answer says what is next. passed needs a test run newer than the feature's files; by default one that the host's hook saw.";
    const EXAMPLE: &'static str = "twining report F7 --role tester --outcome passed --command \"cargo nextest run\" --exit-code 0 \\
      --report target/nextest/default/junit.xml";
    const EFFECT: Effect = Effect::Changes;

    type Input = Input;
    type Output = ReportOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<ReportOutcome, Failure> {
        let Input { feature, role, outcome, summary, files, evidence, agent_id } = input;
        let Evidence { command, exit_code, tests, output, reports, data, finished_at, ci_report } = evidence;
        let evidence = EvidenceInput {
            command,
            exit_code,
            tests_run: tests.run,
            tests_passed: tests.passed,
            tests_failed: tests.failed,
            output,
            reports,
            data,
            finished_at,
            ci_report,
        };
        let is_hash = |commit: &str| commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_ancestor = |commit: &str| is_hash(commit) && desk.history.is_before(commit, "HEAD");
        let tests_changed = tests_changed(desk.history, desk.checkout);
        let context = ReportContext { tests_changed: tests_changed.as_deref(), is_ancestor: Some(&is_ancestor) };
        let input = ReportInput { feature, role, outcome, summary, files, evidence, agent_id };
        desk.engine.report(&desk.caller, desk.checkout, &input, &context)
    }

    fn show(outcome: &ReportOutcome, page: &mut Page) {
        let was = coloured(outcome.was, outcome.was.as_str());
        page.line([strong(&outcome.feature.id), was, dim("->"), standing(&outcome.feature)]);
        if let Some(need) = &outcome.need {
            page.line([warn("need"), plain(need), dim("asks a person to look at it")]);
        }
        outcome.notes.iter().for_each(|note| page.line([warn("note"), plain(note)]));
        page.line([dim("next"), plain(&outcome.next.say), dim(&outcome.next.why)]);
    }
}

/// How tests changed since the base of the work: where the branch left what it follows, else HEAD.
fn tests_changed(history: &Git, checkout: &Path) -> Option<String> {
    let BranchChanges { base, files, .. } = history.branch_changes()?;
    let base = base.unwrap_or_else(|| "HEAD".to_owned());
    let paths: Vec<String> = files.into_iter().filter(|path| is_test_file(path)).take(MAX_TEST_FILES).collect();
    let before = history.blobs(&paths.iter().map(|path| format!("{base}:./{path}")).collect::<Vec<_>>());
    let before: Vec<Option<String>> = before.into_iter().map(|bytes| String::from_utf8(bytes?).ok()).collect();
    let after = |path: &String| {
        let bytes = disk::read_inside(checkout, path, limits::EVIDENCE_BYTES).ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let after: Vec<Option<String>> = paths.iter().map(after).collect();
    let versions =
        paths.iter().zip(&before).zip(&after).map(|((path, before), after)| (path.as_str(), before.as_deref(), after.as_deref()));
    compare_files(versions).summary()
}
