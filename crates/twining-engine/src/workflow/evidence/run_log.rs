//! What is remembered of the loop between calls: test runs, and reports of how an
//! attempt went. One JSON line each in `local/own-…/runs.jsonl`: both belong to this
//! working tree, a clone has neither, and what must outlive them is in the list.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{EvidenceSource, InvalidInput, ProjectRoot, Scope, Time, limits};
use twining_store::{StoreError, disk};

use crate::failure::Failure;
use crate::fields;
use crate::governance::TestCounts;

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
    /// A note for reviewers.
    pub note: Option<String>,
    /// The features' files when it was recorded.
    pub tree: FileStates,
}

impl TestRun {
    /// Whether it showed that something does not work.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.tests.is_some_and(|tests| tests.failed > 0)
            || self.exit_code.is_some_and(|code| code != 0)
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
    /// The source.
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
    pub fn last_report(
        &self,
        feature: &str,
        which: impl Fn(&AttemptReport) -> bool,
    ) -> Option<&AttemptReport> {
        self.reports.iter().rev().find(|report| report.feature == feature && which(report))
    }
}

/// How the paths of a feature are now.
pub fn file_states(checkout: &Path, paths: &[String]) -> Result<FileStates, Failure> {
    let states =
        paths.iter().take(limits::LIST).map(|path| Ok((path.clone(), state_of(checkout, path)?)));
    states.collect()
}

fn state_of(checkout: &Path, path: &str) -> Result<Option<FileState>, Failure> {
    // Of a pattern, the folder it looks in.
    let plain = path
        .find(['*', '?', '[', '{'])
        .map_or(path, |at| path[..at].rfind('/').map_or("", |slash| &path[..slash]));
    let inside = match plain {
        "" => ".".to_owned(),
        plain => Scope::parse("files", plain, &ProjectRoot::new([checkout]))
            .map(|scope| scope.to_string())
            .unwrap_or_default(),
    };
    if inside.is_empty() {
        return Ok(None);
    }
    match disk::state_inside(checkout, &inside, limits::FEATURE_FILES, limits::EVIDENCE_BYTES) {
        Ok(state) => Ok(state.map(|state| FileState {
            modified: time_of(state.mtime_ns),
            hash: format!("{:032x}", state.hash),
        })),
        Err(StoreError::Unsafe { .. }) => Ok(None),
        Err(StoreError::Damaged { what }) => {
            Err(InvalidInput::new("files", "cannot be compared").because(what).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether something is at a path.
pub(crate) fn is_there(base: &Path, path: &str) -> bool {
    !matches!(disk::state_inside(base, path, 1, 0), Ok(None))
}

/// When a file was last written; none where it is not there.
pub(crate) fn written_at(base: &Path, path: &str) -> Option<Time> {
    disk::state_inside(base, path, 1, 0).ok().flatten().map(|state| time_of(state.mtime_ns))
}

fn time_of(ns: i64) -> Time {
    Time::from_ms(ns.div_euclid(1_000_000))
}

/// The tests a run selected: all of them where nothing is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestSelection {
    /// Files, folders (ending in `/`) and test ids (`path::name`), from the top of the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Expressions over the names of tests: `-k login`, `--test api`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
}

impl TestSelection {
    /// Whether nothing is left out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.paths.is_empty() && self.filters.is_empty()
    }

    /// Whether it may run one of these tests; a feature that lists none is covered by any run.
    #[must_use]
    pub fn covers(&self, tests: &[String]) -> bool {
        if tests.is_empty() || self.is_all() {
            return true;
        }
        if !self.paths.is_empty() {
            return tests.iter().any(|test| {
                self.paths.iter().any(|path| is_within(test, path) || is_within(path, test))
            });
        }
        let name =
            |test: &str| test.rsplit(['/', ':', ' ']).next().unwrap_or_default().to_lowercase();
        tests.iter().any(|test| {
            let (whole, name) = (test.to_lowercase(), name(test));
            self.filters
                .iter()
                .map(|filter| filter.to_lowercase())
                .any(|filter| whole.contains(&filter) || filter.contains(&name))
        })
    }

    /// Whether it selects everything that the other does.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let has_paths = self.paths.is_empty()
            || (!other.paths.is_empty()
                && other
                    .paths
                    .iter()
                    .all(|path| self.paths.iter().any(|own| is_within(path, own))));
        has_paths && (self.filters.is_empty() || self.filters == other.filters)
    }
}

/// Whether a test or a path is `whole` or a part of it.
fn is_within(part: &str, whole: &str) -> bool {
    let rest = part.strip_prefix(whole.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with("::"))
}

/// The run that marked a feature as tested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VerifiedBy {
    /// The run's evidence grade; `told` if the list has none.
    pub source: EvidenceSource,
    /// The run's id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// What was run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Its test counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// A note for reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl std::fmt::Display for VerifiedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.source.as_str())?;
        let tests = self.tests.map(|tests| format!("{} passed", tests.passed));
        let command =
            (!self.command.is_empty()).then(|| format!("`{}`", fields::shorten(&self.command, 60)));
        let parts: Vec<String> =
            tests.into_iter().chain(command).chain(self.note.clone()).collect();
        if parts.is_empty() { Ok(()) } else { write!(f, ": {}", parts.join(", ")) }
    }
}

/// Whether a word is in a list of words.
pub(in crate::workflow) fn is_one_of(names: &str, word: &str) -> bool {
    names.split(' ').any(|name| name == word)
}

#[cfg(test)]
mod tests {
    use crate::workflow::evidence::run_log::*;
    use twining_testcases::each;

    fn of(paths: &[&str], filters: &[&str]) -> TestSelection {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        TestSelection { paths: owned(paths), filters: owned(filters) }
    }

    #[test]
    fn a_run_covers_a_feature_if_it_runs_one_of_its_tests() {
        let tests = ["tests/test_login.py".to_owned(), "auth::tests::locks".to_owned()];
        each(
            [
                (of(&[], &[]), true),
                (of(&["tests/"], &[]), true),
                (of(&["tests/test_login.py::test_ok"], &[]), true),
                (of(&["tests/test_login.py"], &["ok"]), true),
                (of(&["tests/test_log"], &[]), false),
                (of(&["tests/test_pay.py"], &[]), false),
                (of(&[], &["login"]), true),
                (of(&[], &["test(locks)"]), true),
                (of(&[], &["pay"]), false),
            ],
            |(selection, covers)| {
                assert_eq!(selection.covers(&tests), covers, "{selection:?}");
            },
        );
        assert!(of(&["tests/test_pay.py"], &[]).covers(&[]));
    }

    #[test]
    fn a_wider_selection_contains_a_narrower_one() {
        assert!(of(&[], &[]).contains(&of(&["tests/a.py"], &["x"])));
        assert!(of(&["tests/"], &[]).contains(&of(&["tests/a.py"], &["x"])));
        assert!(!of(&["tests/"], &[]).contains(&of(&[], &[])));
        assert!(!of(&["tests/a.py"], &[]).contains(&of(&["tests/"], &[])));
        assert!(!of(&[], &["x"]).contains(&of(&[], &[])));
    }
}
