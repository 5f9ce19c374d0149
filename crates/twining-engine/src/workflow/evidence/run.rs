//! What is remembered of the loop between calls: runs, which are evidence, and
//! reports, which say how an attempt went. One JSON line each in
//! `local/own-…/runs.jsonl`: both belong to this working tree and this moment, a clone
//! has neither, and what must outlive them stands in the list itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use twining_model::Time;

use crate::governance::TestCounts;
use crate::workflow::feature::Feature;
use crate::workflow::hollow::{Says, says};
use crate::workflow::suite::Suite;

/// A file or a folder as it was at some moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// When it, or the newest file in it, was last written.
    pub modified: Time,
    /// A hash of its bytes.
    pub hash: String,
}

/// Paths and how they are; nothing for a path where nothing is.
pub type FileStates = BTreeMap<String, Option<FileState>>;

/// How a run came to be known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunSource {
    /// An agent says so.
    #[default]
    Reported,
    /// The host told us, as it happened.
    Captured,
}

/// What a command printed or answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputSeen {
    /// How many bytes.
    pub bytes: u64,
    /// A hash of them.
    pub hash: String,
    /// Whether they show nothing.
    pub hollow: bool,
    /// Whether that is because they tell of an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub error: bool,
}

impl OutputSeen {
    /// What is remembered of an output.
    #[must_use]
    pub fn of(output: &str) -> Self {
        let says = says(output, "");
        Self {
            bytes: output.len() as u64,
            hash: format!("{:016x}", twining_store::disk::hash_of(output.as_bytes())),
            hollow: says != Says::Something,
            error: says == Says::Error,
        }
    }
}

/// A file the run left: a test report, or data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// Which, relative to the project.
    pub path: String,
    /// Why it counts for nothing, as the end of a sentence that begins with its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A command that was run, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// When it had ended; for a run with reports, when the oldest of them was written.
    pub at: Time,
    /// The feature it was for; any, if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// Who ran it.
    pub agent: String,
    /// How it came to be known.
    pub source: RunSource,
    /// What was run.
    pub command: String,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How many tests ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// What it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSeen>,
    /// Test reports it wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<FileSeen>,
    /// Data it produced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<FileSeen>,
    /// Which tests it ran, where its line tells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<Suite>,
    /// Why it shows nothing, as the end of a sentence that begins with its command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// The feature's files when it was recorded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tree: FileStates,
    /// Which files each feature listed when it was recorded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub listed: BTreeMap<String, Vec<String>>,
    /// The tests that failed, by name; none unless all of them are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Which agent of which session ran it, in short; nothing where nobody saw.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hand: String,
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
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The run it is based on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line {
    Run(Box<Run>),
    Report(AttemptReport),
    /// Features that Twining itself moved, and how far each is since.
    Moved {
        at: Time,
        to: BTreeMap<String, String>,
    },
    /// Files that a feature lists no more.
    Dropped {
        at: Time,
        feature: String,
        files: Vec<String>,
    },
}

/// Everything remembered, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    /// Runs.
    pub runs: Vec<Run>,
    /// Reports.
    pub reports: Vec<AttemptReport>,
    /// Features that Twining moved: when last, and to which status.
    pub moved: BTreeMap<String, (Time, String)>,
    /// Files that a feature listed until then, by the feature.
    pub dropped: BTreeMap<String, Vec<(Time, String)>>,
}

impl Remembered {
    /// Reads the lines; one that is torn, or of a newer kind, is passed over.
    #[must_use]
    pub fn read(lines: &str) -> Self {
        let mut remembered = Self::default();
        for line in lines.lines() {
            match serde_json::from_str(line) {
                Ok(Line::Run(run)) => remembered.runs.push(*run),
                Ok(Line::Report(report)) => remembered.reports.push(report),
                Ok(Line::Moved { at, to }) => remembered.moved.extend(to.into_iter().map(|(id, status)| (id, (at, status)))),
                Ok(Line::Dropped { at, feature, files }) => {
                    remembered.dropped.entry(feature).or_default().extend(files.into_iter().map(|file| (at, file)));
                }
                Err(_) => {}
            }
        }
        remembered
    }

    /// Files that a feature listed at some time, the latest first: by its runs, and until they were dropped.
    pub(super) fn once_listed<'r>(&'r self, feature: &'r str) -> impl Iterator<Item = (Time, &'r String)> {
        let dropped = self.dropped.get(feature).into_iter().flatten().rev().map(|(at, file)| (*at, file));
        let by_runs = self.runs.iter().rev();
        dropped.chain(by_runs.flat_map(move |run| run.listed.get(feature).into_iter().flatten().map(|file| (run.at, file))))
    }

    /// The latest report on a feature, of those `which` takes.
    #[must_use]
    pub fn last_report(&self, feature: &str, which: impl Fn(&AttemptReport) -> bool) -> Option<&AttemptReport> {
        self.reports.iter().rev().find(|report| report.feature == feature && which(report))
    }
}

impl Run {
    pub(crate) fn to_line(&self) -> String {
        line(&Line::Run(Box::new(self.clone())))
    }
}

impl AttemptReport {
    pub(crate) fn to_line(&self) -> String {
        line(&Line::Report(self.clone()))
    }
}

/// The line that says how far features are since Twining moved them.
pub(crate) fn moved_line<'f>(at: Time, features: impl Iterator<Item = &'f Feature>) -> String {
    line(&Line::Moved { at, to: features.map(|feature| (feature.id.clone(), feature.status.as_str().to_owned())).collect() })
}

/// The line that says which files a feature lists no more.
pub(crate) fn dropped_line(at: Time, feature: &str, files: Vec<String>) -> String {
    line(&Line::Dropped { at, feature: feature.to_owned(), files })
}

fn line(line: &Line) -> String {
    serde_json::to_string(line).unwrap_or_default()
}
