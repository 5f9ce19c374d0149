//! Runs that the host's hook saw.
//!
//! A command whose output carries a summary of tests ran tests, whatever its line
//! looks like: behind pipes, in a container, in a script. The counts say how it went.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use twining_guard::hosts::ToolResult;
use twining_model::{Change, EvidenceSource, InvalidInput, ProjectRoot, Scope, limits, text};
use twining_store::{Durability, StoreError, disk};

use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::{TestCounts, reports};
use crate::secrets::redact;
use crate::workflow::evidence::run_log::{file_states, is_there, written_at};
use crate::workflow::evidence::{FileStates, RunLog, TestCommand, TestRun, counts_in};
use crate::workflow::feature::FeatureStatus;
use crate::workflow::list::read_list;
use crate::workflow::report::{EvidenceInput, ReportContext, ReportDraft};

/// The note of the last command that went to the background.
const BACKGROUND: &str = "background-command";
/// Paths whose state is kept with one run.
const MOST_PATHS: usize = 256;

impl TestRun {
    /// What the agent should know at once: why the run will not count.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        let is_empty =
            self.tests.is_some_and(|tests| tests.run == 0).then(|| "it ran no test".to_owned());
        let why = self.problem.clone().or(is_empty)?;
        Some(format!("Twining does not count this test run as evidence: {why}."))
    }
}

impl Engine {
    /// Records a command that a host ran, if its output shows that it ran tests; else
    /// none. `cwd` is the folder it began in, from the top of the working tree; none
    /// where that is outside. A command that goes on in the background is remembered:
    /// its output comes later, with an empty `command`.
    pub fn capture_run(
        &self,
        caller: &Caller,
        checkout: &Path,
        cwd: Option<&str>,
        command: &str,
        outcome: &ToolResult,
    ) -> Result<Option<TestRun>, Failure> {
        if outcome.is_unfinished && !command.is_empty() && self.store().exists()? {
            self.store().local_state().write_note(BACKGROUND, command.as_bytes())?;
        }
        let tests = counts_in(&outcome.output);
        let has_exit_failed = outcome.exit_code.is_some_and(|code| code != 0);
        // A run that was cut off may have failed, and has not passed.
        let is_cut_off = outcome.is_unfinished && tests.is_none_or(|tests| tests.failed == 0);
        if is_cut_off || (tests.is_none() && !has_exit_failed) || !self.store().exists()? {
            return Ok(None);
        }
        let command = match command {
            "" => self
                .store()
                .local_state()
                .note(BACKGROUND)?
                .map_or("a background command".into(), |note| {
                    String::from_utf8_lossy(&note).into_owned()
                }),
            command => command.to_owned(),
        };
        let recorded = text::excerpt(&redact(&command).0, limits::ELEMENT_BYTES);
        let line = TestCommand::read(&command, checkout, cwd, &|path| is_there(checkout, path));
        if line.is_read_only
            || (tests.is_none() && !(line.has_exit_code && self.was_counted(&recorded)?))
        {
            return Ok(None);
        }
        self.note_post_tool_use()?;
        let has_passed = tests.is_some_and(|tests| tests.passed > 0 && tests.failed == 0);
        let exit_code =
            outcome.exit_code.filter(|code| line.has_exit_code || (*code == 0 && has_passed));
        let note = exit_code
            .filter(|code| *code != 0 && has_passed)
            .map(|code| format!("exit code {code} after all tests passed"));
        let run = TestRun {
            id: self.store().ids().next().into(),
            at: self.store().ids().now(),
            feature: None,
            agent: caller.agent.clone(),
            source: EvidenceSource::Seen,
            problem: line.elsewhere.map(|folder| {
                format!("`{}` ran in {folder}, outside the project", text::excerpt(&recorded, 80))
            }),
            command: recorded,
            exit_code,
            tests,
            selection: line.selection,
            note,
            tree: self.files_in_work(checkout)?,
        };
        let change = || Change { runs: vec![run.to_line()], ..Change::default() };
        self.store().write(Durability::Normal, &change())?;
        Ok(Some(run))
    }

    /// Whether the same command was recorded as a run with counts: if it now ends
    /// without any, its tests were not reached.
    fn was_counted(&self, command: &str) -> Result<bool, Failure> {
        let lines = self.store().documents().runs()?;
        Ok(RunLog::read(&lines)
            .runs
            .iter()
            .any(|run| run.command == command && run.tests.is_some()))
    }

    /// How the files are of features that somebody may soon call tested.
    fn files_in_work(&self, checkout: &Path) -> Result<FileStates, Failure> {
        // An unreadable list has no features; the code that judges by it reports that.
        let Ok(Some(list)) = read_list(&self.store().documents().features()?) else {
            return Ok(FileStates::new());
        };
        let is_open = |status: FeatureStatus| {
            matches!(status, FeatureStatus::InProgress | FeatureStatus::Completed)
        };
        let open = list.features.iter().filter(|feature| is_open(feature.status));
        file_states(
            checkout,
            &open
                .flat_map(|feature| feature.watched())
                .take(MOST_PATHS)
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }
}

/// What `twining verify --ci --json` found good.
#[derive(Deserialize)]
struct CiReportFile {
    head: String,
    #[serde(default)]
    evidence: Vec<CiProof>,
}

#[derive(Deserialize)]
struct CiProof {
    feature: String,
    #[serde(default)]
    tests: u64,
}

impl Engine {
    /// The run described by a report, with everything verifiable read from disk; `None` if it names
    /// at most a command.
    pub(in crate::workflow) fn reported_run(
        &self,
        caller: &Caller,
        checkout: &Path,
        draft: &ReportDraft,
        evidence: &EvidenceInput,
        context: &ReportContext<'_>,
    ) -> Result<Option<TestRun>, Failure> {
        let now = self.store().ids().now();
        let run = TestRun {
            id: self.store().ids().next().into(),
            at: draft.finished_at.unwrap_or(now).min(now),
            feature: Some(draft.feature.clone()),
            agent: caller.agent.clone(),
            ..TestRun::default()
        };
        if let Some(path) = &evidence.ci_report {
            return ci_run(checkout, path, context, TestRun { at: now, ..run }).map(Some);
        }
        let has_details =
            evidence.exit_code.is_some() || draft.claimed.is_some() || evidence.output.is_some();
        let Some(command) = draft
            .command
            .as_deref()
            .filter(|_| has_details || !evidence.reports.is_empty() || !evidence.data.is_empty())
        else {
            return Ok(None);
        };
        limits::at_most("data", &evidence.data, limits::REPORTS)?;
        let project = &self.store().location().project;
        let read = reports::read(&evidence.reports, checkout, project, self.store().root())?;
        let data = evidence
            .data
            .iter()
            .map(|path| Ok(Scope::parse("data", path, &ProjectRoot::new([checkout]))?.to_string()));
        let data = data.collect::<Result<Vec<String>, InvalidInput>>()?;
        let files = read.iter().map(|report| &report.path).chain(&data);
        let written = files
            .filter_map(|path| written_at(checkout, path).or_else(|| written_at(project, path)));
        let at = written.fold(run.at, std::cmp::Ord::min);
        // Reports on disk take precedence over printed output, and that over claimed counts.
        let counted = read.iter().filter_map(|report| report.tests).reduce(TestCounts::plus);
        let tests =
            counted.or_else(|| evidence.output.as_deref().and_then(counts_in)).or(draft.claimed);
        let line = TestCommand::read(command, checkout, Some(""), &|path| is_there(checkout, path));
        let command = text::excerpt(command, limits::ELEMENT_BYTES);
        let shown = text::excerpt(&command, 80);
        let unread = || {
            read.iter().find_map(|report| {
                Some(format!("`{}` {}", text::excerpt(&report.path, 80), report.problem.as_ref()?))
            })
        };
        let is_blank = data.is_empty()
            && evidence.exit_code.is_none_or(|code| code == 0)
            && is_blank(evidence.output.as_deref().unwrap_or(""));
        let problem = match unread() {
            _ if line.is_read_only => {
                Some(format!("`{shown}` does not run tests, whatever its result"))
            }
            _ if line.elsewhere.is_some() => Some(format!("`{shown}` ran outside the project")),
            None if tests.is_some() => None,
            None if !read.is_empty() => Some("the reports contain no tests".to_owned()),
            None if is_blank => Some(format!("the output of `{shown}` is empty")),
            None if evidence.exit_code.is_none() => {
                Some(format!("the exit code of `{shown}` is unknown"))
            }
            None => data_problem(checkout, &data)?,
            unread => unread,
        };
        Ok(Some(TestRun {
            at,
            command,
            exit_code: evidence.exit_code,
            tests,
            problem,
            selection: line.selection,
            ..run
        }))
    }
}

/// What CI found of a feature, in the JSON of a commit that this working tree builds on.
fn ci_run(
    checkout: &Path,
    path: &str,
    context: &ReportContext<'_>,
    run: TestRun,
) -> Result<TestRun, Failure> {
    let refused = |why: String| Failure::from(InvalidInput::new("ci_report", why));
    let inside = Scope::parse("ci_report", path, &ProjectRoot::new([checkout]))?.to_string();
    let bytes = disk::read_inside(checkout, &inside, limits::EVIDENCE_BYTES)?
        .ok_or_else(|| refused(format!("`{inside}` does not exist")))?;
    let report: CiReportFile = serde_json::from_slice(&bytes)
        .map_err(|error| refused(format!("is not JSON from `twining verify --ci`: {error}")))?;
    let feature = run.feature.as_deref().unwrap_or_default();
    let found = report.evidence.iter().find(|found| found.feature == feature);
    let found = found.ok_or_else(|| {
        refused(format!("does not list `{}` as proven", text::excerpt(feature, 60)))
    })?;
    let head = text::excerpt(&report.head, 12);
    if !context.is_ancestor.is_some_and(|is_ancestor| is_ancestor(&report.head)) {
        return Err(refused(format!("is for commit {head}, which is not an ancestor of HEAD")));
    }
    Ok(TestRun {
        source: EvidenceSource::Ci,
        command: "twining verify --ci".to_owned(),
        exit_code: Some(0),
        tests: Some(TestCounts { run: found.tests, passed: found.tests, failed: 0 }),
        note: Some(format!("at commit {head}")),
        ..run
    })
}

/// Why data files show nothing, if one does not.
fn data_problem(checkout: &Path, paths: &[String]) -> Result<Option<String>, Failure> {
    for path in paths {
        let why = match disk::read_inside(checkout, path, limits::EVIDENCE_BYTES) {
            Ok(None) => "does not exist",
            Ok(Some(bytes)) if is_blank(&String::from_utf8_lossy(&bytes)) => "holds no data",
            // Too large to read is not empty.
            Ok(Some(_)) | Err(StoreError::Damaged { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        return Ok(Some(format!("`{}` {why}", text::excerpt(path, 80))));
    }
    Ok(None)
}

/// Whether an answer says nothing: white space, or JSON whose lists are empty.
fn is_blank(answer: &str) -> bool {
    let answer = answer.trim_start_matches('\u{FEFF}').trim();
    answer.is_empty() || serde_json::from_str(answer).is_ok_and(|value| is_blank_json(&value))
}

fn is_blank_json(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Number(_) => false,
        Value::Array(items) => items.iter().all(is_blank_json),
        Value::Object(fields) => {
            // `{"status": "ok", "data": []}` wraps nothing.
            let mut inner =
                fields.values().filter(|value| value.is_array() || value.is_object()).peekable();
            if inner.peek().is_some() {
                inner.all(is_blank_json)
            } else {
                fields.values().all(is_blank_json)
            }
        }
    }
}
