//! What is remembered of the loop between calls: test runs, and reports of how an
//! attempt went. One JSON line each in `local/own-…/runs.jsonl`: both belong to this
//! working tree, a clone has neither, and what must outlive them is in the list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twining_model::{EvidenceSource, Time};

use crate::governance::TestCounts;
use crate::workflow::evidence::selection::TestSelection;

/// A file or a folder as it was at some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// When it, or the newest file in it, was last written.
    pub modified: Time,
    /// A hash of its bytes.
    pub hash: String,
}

/// Paths and how they are; nothing for a path where nothing is.
pub type FileStates = BTreeMap<String, Option<FileState>>;

/// A command that ran tests, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestRun {
    /// Its id.
    pub id: String,
    /// When it had ended; for a run with reports, when the oldest of them was written.
    pub at: Time,
    /// The feature it was for; any, if it does not say.
    pub feature: Option<String>,
    /// Who ran it.
    pub agent: String,
    /// Who vouches for it.
    pub source: EvidenceSource,
    /// What was run.
    pub command: String,
    /// Its exit code, where it is that of the tests.
    pub exit_code: Option<i64>,
    /// How many tests ran.
    pub tests: Option<TestCounts>,
    /// Which tests it ran, as far as its line says.
    pub selection: TestSelection,
    /// Why it shows nothing, as a sentence without its full stop.
    #[serde(alias = "void")]
    pub problem: Option<String>,
    /// What a reviewer should know of it.
    pub note: Option<String>,
    /// The features' files when it was recorded.
    pub tree: FileStates,
}

impl TestRun {
    /// Whether it showed that something does not work.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.tests.is_some_and(|tests| tests.failed > 0) || self.exit_code.is_some_and(|code| code != 0)
    }

    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(&RunLine::Run(Box::new(self.clone()))).unwrap_or_default()
    }
}

/// How an attempt at a feature went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttemptReport {
    /// When.
    pub at: Time,
    /// Which feature.
    pub feature: String,
    /// Who says so.
    pub agent: String,
    /// In which role.
    pub role: String,
    /// What happened.
    pub outcome: String,
    /// In their words.
    pub summary: String,
    /// The run it is based on.
    pub run: Option<String>,
}

impl AttemptReport {
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(&RunLine::Report(self.clone())).unwrap_or_default()
    }
}

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum RunLine {
    Run(Box<TestRun>),
    Report(AttemptReport),
}

/// Everything remembered, oldest first.
#[derive(Clone, Debug, Default)]
pub struct RunLog {
    /// Test runs.
    pub runs: Vec<TestRun>,
    /// Reports.
    pub reports: Vec<AttemptReport>,
}

impl RunLog {
    /// Reads the lines; one that is torn, or of another version, is passed over.
    #[must_use]
    pub fn read(lines: &str) -> Self {
        let mut log = Self::default();
        for line in lines.lines() {
            match serde_json::from_str(line) {
                Ok(RunLine::Run(run)) => log.runs.push(*run),
                Ok(RunLine::Report(report)) => log.reports.push(report),
                Err(_) => {}
            }
        }
        log
    }

    /// The latest report on a feature, of those `which` takes.
    #[must_use]
    pub fn last_report(&self, feature: &str, which: impl Fn(&AttemptReport) -> bool) -> Option<&AttemptReport> {
        self.reports.iter().rev().find(|report| report.feature == feature && which(report))
    }
}
