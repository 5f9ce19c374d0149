//! The same judgement for a person: of each run, why it is evidence or is not; of each file,
//! whether it is as the run saw it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{EvidenceSource, Time, text, words};

use crate::fields;
use crate::workflow::evidence::judge::{EvidenceCase, EvidenceVerdict, judge, nothing, short};
use crate::workflow::evidence::run_log::TestRun;

/// Runs that are shown of a feature, the newest.
const RUNS: usize = 20;

words! {
    /// Whether there is evidence that a feature works.
    pub enum EvidenceState {
        /// There is none.
        None = "none",
        /// A run passed, and something changed since.
        Stale = "stale",
        /// A run passed, and everything is as it saw it.
        Fresh = "fresh",
    }
}

/// Whether a feature is shown to work, and why or why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FeatureEvidence {
    /// Whether there is evidence.
    pub state: EvidenceState,
    /// Why.
    pub because: String,
}

/// A run, or a report without one, and what it is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunReport {
    /// The run's id; none for a report without a run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What was run, or the words of the report.
    pub command: String,
    /// When it had ended.
    pub at: String,
    /// Who ran or reported it.
    pub by: String,
    /// Who vouches for it.
    pub grade: EvidenceSource,
    /// Tests that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<u64>,
    /// Tests that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// Its exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i64>,
    /// Whether the feature counts as shown to work by it.
    pub is_evidence: bool,
    /// Why.
    pub because: String,
}

words! {
    /// How a file is, compared with what the run saw.
    pub enum WatchedState {
        /// As it was.
        AsRunSaw = "as_run_saw",
        /// Changed since.
        Changed = "changed",
        /// Not there.
        Missing = "missing",
        /// No run to compare with.
        NoRun = "no_run",
    }
}

/// A file or folder of a feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WatchedFile {
    /// Its path.
    pub path: String,
    /// How it is.
    pub state: WatchedState,
    /// When it was last written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

impl EvidenceCase<'_> {
    /// Whether the feature is shown to work.
    pub(crate) fn evidence(&self) -> FeatureEvidence {
        let is_passed = |run: &TestRun| self.can_count(run).is_none();
        match judge(self) {
            EvidenceVerdict::Accepted { run, note } => {
                let run = self.log.runs.iter().find(|known| known.id == run);
                let shown = run.map_or_else(String::new, |run| {
                    format!("{} in `{}` at {}", counted(run), short(&run.command), minute(run.at))
                });
                let note = note.map(|note| format!("; {note}")).unwrap_or_default();
                let because = format!("{shown}; nothing changed since{note}");
                FeatureEvidence { state: EvidenceState::Fresh, because }
            }
            EvidenceVerdict::Missing { what, .. } => {
                let stale = self.runs().into_iter().find(|run| is_passed(run));
                let because = stale.and_then(|run| self.changed_since(run)).map(|why| {
                    let run = stale.map(|run| short(&run.command)).unwrap_or_default();
                    format!("{why}, after the run of `{run}`")
                });
                // A newer run that failed is why, whatever changed since an older one.
                let decides = self.runs().into_iter().find(|run| {
                    run.source >= self.needs && nothing(run).is_none() && self.is_covered(run)
                });
                match (because, decides.is_some_and(TestRun::has_failed)) {
                    (Some(because), false) => {
                        FeatureEvidence { state: EvidenceState::Stale, because }
                    }
                    _ => FeatureEvidence { state: EvidenceState::None, because: what },
                }
            }
        }
    }

    /// The newest runs and bare reports, each with what it is worth.
    pub(crate) fn run_reports(&self) -> Vec<RunReport> {
        let accepted = match judge(self) {
            EvidenceVerdict::Accepted { run, .. } => Some(run),
            EvidenceVerdict::Missing { .. } => None,
        };
        let runs = self.runs();
        let mut reports: Vec<RunReport> = runs
            .iter()
            .take(RUNS)
            .map(|run| {
                let is_evidence = accepted.as_ref() == Some(&run.id);
                RunReport {
                    id: run.id.clone(),
                    command: run.command.clone(),
                    at: run.at.to_string(),
                    by: run.agent.clone(),
                    grade: run.source,
                    passed: run.tests.map(|tests| tests.passed),
                    failed: run.tests.map(|tests| tests.failed),
                    exit: run.exit_code,
                    is_evidence,
                    because: self.worth(run, &runs, accepted.as_deref()),
                }
            })
            .collect();
        let bare = self.log.reports.iter().filter(|report| {
            report.feature == self.feature.id && report.outcome == "passed" && report.run.is_none()
        });
        reports.extend(bare.rev().take(RUNS).map(|report| RunReport {
            id: String::new(),
            command: format!("report: {}", text::excerpt(&report.summary, 120)),
            at: report.at.to_string(),
            by: report.agent.clone(),
            grade: EvidenceSource::Reported,
            passed: None,
            failed: None,
            exit: None,
            is_evidence: false,
            because: "a word, no run".to_owned(),
        }));
        reports.sort_by(|a, b| b.at.cmp(&a.at));
        reports
    }

    /// Each file and folder of the feature, compared with what the run saw that decides, or
    /// would if nothing had changed.
    pub(crate) fn watched_files(&self) -> Vec<WatchedFile> {
        let runs = self.runs();
        let run = runs
            .iter()
            .find(|run| self.can_count(run).is_none())
            .or_else(|| runs.iter().find(|run| self.is_covered(run)))
            .copied();
        let state = |path: &str| match (self.files.get(path).and_then(Option::as_ref), run) {
            (None, _) => WatchedState::Missing,
            (Some(_), None) => WatchedState::NoRun,
            (Some(_), Some(run)) if self.is_as_run_saw(run, path) => WatchedState::AsRunSaw,
            (Some(_), Some(_)) => WatchedState::Changed,
        };
        let modified = |path: &str| {
            self.files.get(path).and_then(Option::as_ref).map(|file| file.modified.to_string())
        };
        let watched = self.feature.watched();
        watched
            .map(|path| WatchedFile {
                path: path.to_owned(),
                state: state(path),
                modified: modified(path),
            })
            .collect()
    }

    /// Why a run is evidence, or is not.
    fn worth(&self, run: &TestRun, runs: &[&TestRun], accepted: Option<&str>) -> String {
        let newer = || runs.iter().take_while(|other| other.id != run.id);
        let later_pass = || newer().find(|other| Some(other.id.as_str()) == accepted);
        if let Some(why) = self.can_count(run) {
            return match later_pass() {
                Some(pass) if run.has_failed() => format!("{why}; lifted by run {}", pass.id),
                _ => why,
            };
        }
        if Some(run.id.as_str()) == accepted {
            return format!("{}, and nothing changed since", counted(run));
        }
        if let Some(why) = self.changed_since(run) {
            return format!("{why}, after the run");
        }
        match newer().find(|other| self.is_covered(other) && nothing(other).is_none()) {
            Some(newer) if newer.has_failed() => {
                format!("a newer run failed: `{}`", short(&newer.command))
            }
            _ => match later_pass() {
                Some(newer) => format!("a newer run decides: {}", newer.id),
                None => format!("{}, but a file of the feature is missing", counted(run)),
            },
        }
    }

    /// Why a run cannot be evidence, whatever changed since.
    fn can_count(&self, run: &TestRun) -> Option<String> {
        if !self.is_covered(run) {
            let tests = fields::some_names(self.feature.tests.iter().map(String::as_str));
            return Some(format!(
                "it does not run the feature's tests ({})",
                text::excerpt(&tests, 80)
            ));
        }
        if let Some(why) = nothing(run) {
            return Some(why);
        }
        if run.has_failed() {
            return Some(match run.tests.filter(|tests| tests.failed > 0) {
                Some(tests) => format!("{} of {} tests failed", tests.failed, tests.run),
                None => format!("it ended with exit code {}", run.exit_code.unwrap_or_default()),
            });
        }
        (run.source < self.needs).then(|| match self.needs {
            EvidenceSource::Ci => "this project accepts only CI results".to_owned(),
            _ => "only an agent's word; this project needs a run that the host saw".to_owned(),
        })
    }

    fn is_covered(&self, run: &TestRun) -> bool {
        run.selection.covers(&self.feature.tests)
    }

    /// What changed since a run, and when.
    fn changed_since(&self, run: &TestRun) -> Option<String> {
        let changed = self.feature.watched().find(|path| !self.is_as_run_saw(run, path));
        if let Some(path) = changed {
            let at = self.files.get(path).and_then(Option::as_ref).map(|file| file.modified);
            let path = text::excerpt(path, 80);
            return Some(match at.filter(|at| *at > run.at) {
                Some(at) => format!("`{path}` changed at {}", minute(at)),
                None => format!("`{path}` is no longer as the run saw it"),
            });
        }
        self.reported_since(run).map(|(what, at)| format!("{what} at {}", minute(at)))
    }
}

/// How many tests passed and failed.
fn counted(run: &TestRun) -> String {
    run.tests.map_or_else(
        || "it passed".to_owned(),
        |tests| format!("{} passed, {} failed", tests.passed, tests.failed),
    )
}

/// A time to the minute.
fn minute(at: Time) -> String {
    let at = at.to_string();
    format!("{} {} UTC", at.get(..10).unwrap_or(&at), at.get(11..16).unwrap_or_default())
}
