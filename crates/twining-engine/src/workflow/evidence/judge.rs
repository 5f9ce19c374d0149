//! Whether a feature was shown to work.
//!
//! The newest run that covers the feature's tests decides: it ran at least one test,
//! none failed, and none of the feature's files changed since, by their bytes.
//! Anything less is no evidence, and the answer names one command that would be. No
//! disk and no clock: runs and files come in as they were found.

use twining_model::{EvidenceSource, Time, text};

use crate::fields;
use crate::workflow::evidence::run_log::{FileStates, RunLog, TestRun};
use crate::workflow::feature::Feature;

/// Whether there is evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceVerdict {
    /// There is.
    Accepted {
        /// The run that shows it.
        run: String,
        /// A note for reviewers.
        note: Option<String>,
    },
    /// There is none.
    Missing {
        /// What is missing.
        what: String,
        /// What to do about it.
        next_step: String,
    },
}

/// Judges a feature by the runs that are known and by its files as they are now.
#[must_use]
pub fn judge_evidence(
    feature: &Feature,
    log: &RunLog,
    files: &FileStates,
    needs: EvidenceSource,
) -> EvidenceVerdict {
    judge(&EvidenceCase { feature, log, files, needs, given: None, command: None })
}

/// A feature, and what is known of it.
pub(crate) struct EvidenceCase<'c> {
    pub(crate) feature: &'c Feature,
    pub(crate) log: &'c RunLog,
    pub(crate) files: &'c FileStates,
    /// The weakest evidence that is accepted.
    pub(crate) needs: EvidenceSource,
    /// The run that came with the report.
    pub(crate) given: Option<&'c TestRun>,
    /// The command that the report names.
    pub(crate) command: Option<&'c str>,
}

/// Why a run, or every run, is no evidence.
enum MissingEvidence<'r> {
    NoRun,
    NotCovered(&'r TestRun),
    ShowsNothing(String),
    Failed(&'r TestRun),
}

/// The same for a report: what comes with it is judged before anything older.
pub(crate) fn judge(case: &EvidenceCase<'_>) -> EvidenceVerdict {
    let id = text::excerpt(&case.feature.id, 60);
    if let Some(gone) = case
        .feature
        .files
        .iter()
        .find(|path| case.files.get(path.as_str()).is_none_or(Option::is_none))
    {
        return EvidenceVerdict::Missing {
            what: format!("it lists `{}`, which does not exist", text::excerpt(gone, 80)),
            next_step: format!(
                "write the file, or correct its files with twining_features update {id}"
            ),
        };
    }
    if let Some(given) = case.given {
        let lack = nothing(given)
            .map(MissingEvidence::ShowsNothing)
            .or(given.has_failed().then_some(MissingEvidence::Failed(given)));
        if let Some(lack) = lack {
            return case.missing(&lack);
        }
    }
    let (run, failed) = match case.decide(case.needs.max(EvidenceSource::Seen)) {
        Ok(run) => (run, None),
        // An agent's word may do where no hook saw a run that passed.
        Err(seen) => match (case.decide(case.needs), seen) {
            (Ok(run), MissingEvidence::Failed(failed)) => {
                (run, Some(format!("the hook saw `{}` fail", short(&failed.command))))
            }
            (Ok(run), _) => (run, None),
            (Err(lack), _) => return case.missing(&lack),
        },
    };
    let notes: Vec<String> =
        run.note.clone().into_iter().chain(failed).chain(case.narrower(run)).collect();
    EvidenceVerdict::Accepted {
        run: run.id.clone(),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

/// Why a run shows nothing either way.
pub(super) fn nothing(run: &TestRun) -> Option<String> {
    let none = || format!("`{}` ran no test", short(&run.command));
    run.problem.clone().or_else(|| {
        run.tests.filter(|tests| tests.passed == 0 && tests.failed == 0).map(|_| none())
    })
}

impl<'c> EvidenceCase<'c> {
    /// Runs that may cover this feature, newest first. A run reported late keeps its own time.
    pub(super) fn runs(&self) -> Vec<&'c TestRun> {
        let is_about =
            |run: &&TestRun| run.feature.as_ref().is_none_or(|id| *id == self.feature.id);
        let mut runs: Vec<&TestRun> = self.log.runs.iter().filter(is_about).collect();
        runs.sort_by_key(|run| run.at);
        runs.reverse();
        runs
    }

    /// The run that decides, among those of at least this grade.
    fn decide(&self, least: EvidenceSource) -> Result<&'c TestRun, MissingEvidence<'c>> {
        let mut nearest = MissingEvidence::NoRun;
        for run in self.runs().into_iter().filter(|run| run.source >= least) {
            let lack = match nothing(run) {
                _ if !run.selection.covers(&self.feature.tests) => MissingEvidence::NotCovered(run),
                Some(why) => MissingEvidence::ShowsNothing(why),
                None if run.has_failed() => return Err(MissingEvidence::Failed(run)),
                None => match self.stale(run) {
                    Some(why) => MissingEvidence::ShowsNothing(why),
                    None => return Ok(run),
                },
            };
            // Of several, the newest is the one to talk about.
            if matches!(nearest, MissingEvidence::NoRun) {
                nearest = lack;
            }
        }
        Err(nearest)
    }

    /// Whether something changed since a run. Where it recorded a file, the bytes
    /// decide: a checkout may make a file look newer, and a backdated one must not
    /// look older.
    fn stale(&self, run: &TestRun) -> Option<String> {
        let command = short(&run.command);
        if let Some(path) = self.feature.watched().find(|path| !self.is_as_run_saw(run, path)) {
            let path = text::excerpt(path, 80);
            return Some(format!("`{path}` changed after the run of `{command}`"));
        }
        let (what, at) = self.reported_since(run)?;
        Some(format!("{what} at {at}, after the run of `{command}`"))
    }

    /// Whether a file or folder is now as a run saw it.
    pub(super) fn is_as_run_saw(&self, run: &TestRun, path: &str) -> bool {
        match (run.tree.get(path), self.files.get(path).and_then(Option::as_ref)) {
            (Some(Some(then)), Some(now)) => then.hash == now.hash && then.modified <= run.at,
            (Some(Some(_)), None) | (Some(None), Some(_)) => false,
            (None, Some(now)) => now.modified <= run.at,
            (_, None) => true,
        }
    }

    /// What was reported after a run that takes it back, and when.
    pub(super) fn reported_since(&self, run: &TestRun) -> Option<(&'static str, Time)> {
        let since = |outcome: &str| -> Option<Time> {
            let report =
                self.log.last_report(&self.feature.id, |report| report.outcome == outcome)?;
            Some(report.at).filter(|at| *at > run.at)
        };
        let coded = || since("completed").filter(|_| self.feature.files.is_empty());
        let reports_since = [
            ("its tests were reported failed", since("failed")),
            ("it was reopened", since("reopened")),
            ("its code was finished", coded()),
        ];
        reports_since.into_iter().find_map(|(what, at)| Some((what, at?)))
    }

    /// Describes a failed run that this one did not fully repeat.
    fn narrower(&self, accepted: &TestRun) -> Option<String> {
        let runs = self.runs();
        let at = runs.iter().position(|run| run.id == accepted.id)?;
        let ran = |run: &TestRun| run.tests.map_or(0, |tests| tests.run);
        let is_again = |run: &TestRun, failed: &TestRun| {
            nothing(run).is_none()
                && !run.has_failed()
                && run.selection.contains(&failed.selection)
                && ran(run) >= ran(failed)
        };
        let is_open = |&(place, failed): &(usize, &&TestRun)| {
            let is_recent = accepted.at.as_ms().saturating_sub(failed.at.as_ms()) < fields::DAY_MS;
            let counts = failed.has_failed()
                && nothing(failed).is_none()
                && failed.selection.covers(&self.feature.tests);
            is_recent && counts && !runs[at..place].iter().any(|run| is_again(run, failed))
        };
        let (_, failed) = runs.iter().enumerate().skip(at + 1).find(is_open)?;
        let how = if failed.command == accepted.command {
            "ran fewer tests than"
        } else {
            "does not cover"
        };
        Some(format!("{how} the failed run of `{}`", short(&failed.command)))
    }

    fn missing(&self, lack: &MissingEvidence<'_>) -> EvidenceVerdict {
        let needs = self.needs;
        let what = match lack {
            MissingEvidence::NoRun if needs == EvidenceSource::Ci => {
                "this project accepts only CI results (`workflow.tested_needs: ci`)".to_owned()
            }
            MissingEvidence::NoRun if needs == EvidenceSource::Seen && self.given.is_some() => {
                "no hook saw such a run; a report alone is `told`, and this project needs `seen`"
                    .to_owned()
            }
            MissingEvidence::NoRun => "no run of its tests is recorded".to_owned(),
            MissingEvidence::NotCovered(run) => {
                let listed = text::excerpt(
                    &fields::some_names(self.feature.tests.iter().map(String::as_str)),
                    80,
                );
                format!("`{}` does not run the feature's tests ({listed})", short(&run.command))
            }
            MissingEvidence::ShowsNothing(why) => why.clone(),
            MissingEvidence::Failed(run) => match run.tests.filter(|tests| tests.failed > 0) {
                Some(tests) => format!(
                    "{} of {} tests failed in `{}`",
                    tests.failed,
                    tests.run,
                    short(&run.command)
                ),
                None => format!("`{}` failed", short(&run.command)),
            },
        };
        EvidenceVerdict::Missing { what, next_step: self.next_step(lack) }
    }

    fn next_step(&self, lack: &MissingEvidence<'_>) -> String {
        let id = text::excerpt(&self.feature.id, 60);
        let last = || {
            self.runs()
                .into_iter()
                .find(|run| run.source >= EvidenceSource::Seen || nothing(run).is_none())
        };
        let own = || {
            self.feature
                .verified_by
                .as_ref()
                .map(|by| by.command.as_str())
                .filter(|command| !command.is_empty())
        };
        let command = match lack {
            MissingEvidence::Failed(run) => Some(run.command.as_str()),
            MissingEvidence::NotCovered(_) => None,
            // The line that just showed nothing is not the one to run again.
            MissingEvidence::ShowsNothing(_) => self
                .runs()
                .into_iter()
                .find(|run| nothing(run).is_none())
                .map(|run| run.command.as_str()),
            _ => self.command.or_else(|| last().map(|run| run.command.as_str())).or_else(own),
        };
        let listed = || match self.feature.tests.as_slice() {
            [] => format!("the tests of `{id}`"),
            tests => format!(
                "its tests ({})",
                text::excerpt(&fields::some_names(tests.iter().map(String::as_str)), 80)
            ),
        };
        let command = command.map_or_else(listed, |command| format!("`{}`", short(command)));
        match (self.needs, lack) {
            (_, MissingEvidence::Failed(_)) => {
                format!("fix what broke and run {command} again; or report `{id}` as failed in the role tester")
            }
            (EvidenceSource::Ci, _) => {
                "open the pull request, where `twining verify --ci` decides; then report with --ci-report and its JSON".to_owned()
            }
            (EvidenceSource::Seen, _) => format!("run {command} in this session (its result is recorded by the hook), then report again"),
            (EvidenceSource::Reported, _) => {
                format!("run {command}, then report it: `twining report {id} --role tester --outcome passed --command \"…\" --exit-code 0 --output \"…\"`")
            }
        }
    }
}

pub(super) fn short(command: &str) -> String {
    text::excerpt(command, 80)
}
