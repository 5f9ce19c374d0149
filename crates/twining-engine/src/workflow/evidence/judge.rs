//! Whether a feature was shown to work.
//!
//! A run counts if it ended well, ran something, came after the last change of the
//! feature's files, and no failure stands against it. Anything less is no evidence, and the answer says what
//! is missing and what to do about it. No disk and no clock: runs and files come
//! in as they were found.

use std::collections::BTreeMap;

use twining_model::{Time, limits, text};

use crate::workflow::failures::{Failures, how_it_failed};
use crate::workflow::feature::Feature;
use crate::workflow::run::{FileStates, Remembered, Run, RunSource};

/// Whether there is evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is.
    Accepted {
        /// The run that shows it.
        run: String,
    },
    /// There is none.
    Missing {
        /// What is missing.
        what: String,
        /// What to do about it.
        next_step: String,
    },
}

impl Verdict {
    /// Whether there is evidence.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted { .. })
    }
}

/// The paths a feature is judged by: its own, and those it listed when a run was made.
#[must_use]
pub fn paths_at_stake(feature: &Feature, remembered: &Remembered) -> Vec<String> {
    let mut paths = feature.files.clone();
    for (_, path) in remembered.once_listed(&feature.id) {
        if paths.len() < limits::LIST && !paths.contains(path) {
            paths.push(path.clone());
        }
    }
    paths
}

/// Judges a feature by what is remembered and by its files as they are now. When
/// its code was last reported finished stands in for files where it lists none.
#[must_use]
pub fn judge_evidence(feature: &Feature, remembered: &Remembered, files: &FileStates) -> Verdict {
    judge_given(feature, remembered, files, None)
}

/// The same for a report that brings a run of its own, by its id. What that run shows to
/// be missing is missing, whatever others showed; where it shows nothing either way they
/// may speak for it, and if none does, it is the one to be told about.
pub(super) fn judge_given(feature: &Feature, remembered: &Remembered, files: &FileStates, given: Option<&str>) -> Verdict {
    if let Some(gone) = feature.files.iter().find(|path| files.get(path.as_str()).is_none_or(Option::is_none)) {
        return Verdict::Missing {
            what: format!("`{}` lists `{}`, which is not there", text::excerpt(&feature.id, 80), text::excerpt(gone, 80)),
            next_step: format!("write the file, or correct the list with twining_features update {} and its files", feature.id),
        };
    }
    let reported = |outcome: &str| remembered.last_report(&feature.id, |report| report.outcome == outcome).map(|report| report.at);
    // By the last time each of them was its own.
    let mut dropped: BTreeMap<&String, Time> = BTreeMap::new();
    for (at, path) in remembered.once_listed(&feature.id).filter(|(_, path)| !feature.files.contains(path)) {
        dropped.entry(path).and_modify(|last| *last = at.max(*last)).or_insert(at);
    }
    let case = Case { feature, files, dropped, coded: reported("completed"), failed: reported("failed"), reopened: reported("reopened") };
    let about = |run: &&Run| run.feature.as_ref().is_none_or(|id| *id == feature.id);
    let mut runs: Vec<&Run> = remembered.runs.iter().filter(about).collect();
    // A run that was told late is as old as it was; of two at once the later told is newer.
    runs.sort_by_key(|run| run.at);
    let id = text::excerpt(&feature.id, 80);
    let given = given.and_then(|given| runs.iter().find(|run| run.id == given)).and_then(|run| Some((run, case.lack(run)?)));
    let of_given = given.as_ref().map(|(_, (lack, what))| Verdict::Missing { what: what.clone(), next_step: next_step(*lack, &id) });
    if let Some((_, verdict)) = given.as_ref().zip(of_given.clone()).filter(|((run, (lack, _)), _)| speaks_against(run, *lack)) {
        return verdict;
    }
    let failures = Failures::of(feature, &runs, &remembered.reports);
    let mut nearest: Option<(Lack, String)> = None;
    let mut standing: Option<&Run> = None;
    for (at, run) in runs.iter().enumerate().rev() {
        let mut lack = case.lack(run);
        if let Some(failed) = failures.against(at).filter(|_| lack.is_none()) {
            lack = Some((Lack::Outdone, outdone(&runs, failed, at)));
            standing = standing.or(Some(failed));
        }
        match lack {
            None => return Verdict::Accepted { run: run.id.clone() },
            // The latest run that came closest is the one worth talking about.
            Some((lack, what)) if nearest.as_ref().is_none_or(|(best, _)| lack > *best) => nearest = Some((lack, what)),
            Some(_) => {}
        }
    }
    if let Some(verdict) = of_given {
        return verdict;
    }
    match nearest {
        None => Verdict::Missing { what: format!("no run of `{id}`'s tests is recorded"), next_step: how_to(&id) },
        Some((Lack::Outdone, what)) => Verdict::Missing { what, next_step: once_more(standing, &id) },
        Some((lack, what)) => Verdict::Missing { what, next_step: next_step(lack, &id) },
    }
}

/// Whether what a report brings shows that something is missing, and does not merely
/// leave it open: a command alone says nothing of how its tests went.
fn speaks_against(run: &Run, lack: Lack) -> bool {
    let tells = run.tests.is_some() || run.output.is_some() || !run.reports.is_empty() || !run.data.is_empty();
    match lack {
        Lack::Command | Lack::Failed | Lack::Unread => true,
        Lack::Void | Lack::Empty => tells,
        Lack::Ending | Lack::Stale | Lack::Outdone => false,
    }
}

/// Why a good run counts for nothing, where tests that the host saw fail still stand.
fn outdone(runs: &[&Run], failed: &Run, at: usize) -> String {
    let Some(run) = runs.get(at) else { return String::new() };
    let command = text::excerpt(&run.command, 80);
    let how = how_it_failed(failed);
    if runs.iter().position(|known| std::ptr::eq(*known, failed)).is_some_and(|place| place > at) {
        return format!("{how}; that `{command}` passed before shows nothing any more");
    }
    match run.source {
        RunSource::Captured => format!("{how}, and `{command}`, which passed since, does not run all that failed"),
        RunSource::Reported => format!("{how}, as the host saw, and it saw no run of them since that passed"),
    }
}

/// What a run lacks, from nothing like evidence to nearly there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    Command,
    Void,
    Ending,
    Failed,
    Unread,
    Empty,
    Stale,
    Outdone,
}

/// A feature, and what its runs are held against.
struct Case<'f> {
    feature: &'f Feature,
    files: &'f FileStates,
    /// Files that it listed once, and until when it did for certain.
    dropped: BTreeMap<&'f String, Time>,
    /// When its code was last reported finished.
    coded: Option<Time>,
    /// When its tests were last reported failed.
    failed: Option<Time>,
    /// When it was last opened again.
    reopened: Option<Time>,
}

impl Case<'_> {
    fn lack(&self, run: &Run) -> Option<(Lack, String)> {
        let command = text::excerpt(&run.command, 80);
        if tests_nothing(&run.command) {
            return Some((Lack::Command, format!("`{command}` tests nothing, whatever it answers")));
        }
        if let Some(why) = &run.void {
            return Some((Lack::Void, format!("`{command}` {why}")));
        }
        match run.exit_code {
            None => return Some((Lack::Ending, format!("nobody knows how `{command}` ended"))),
            Some(0) => {}
            Some(code) => return Some((Lack::Failed, format!("`{command}` failed: it ended with {code}"))),
        }
        if let Some(tests) = run.tests.filter(|tests| tests.failed > 0) {
            return Some((Lack::Failed, format!("{} of {} tests failed in `{command}`", tests.failed, tests.run)));
        }
        if let Some((file, problem)) = run.reports.iter().chain(&run.data).find_map(|file| Some((&file.path, file.problem.as_ref()?))) {
            return Some((Lack::Unread, format!("`{}` {problem}", text::excerpt(file, 80))));
        }
        match run.tests {
            Some(tests) if tests.passed == 0 => return Some((Lack::Empty, format!("`{command}` ran no test"))),
            None if !run.reports.is_empty() => return Some((Lack::Empty, "the reports tell of no tests".to_owned())),
            None if run.data.is_empty() && run.output.as_ref().is_none_or(|output| output.hollow) => {
                let how = if run.output.as_ref().is_some_and(|output| output.error) { "tells of an error" } else { "is empty" };
                return Some((Lack::Empty, format!("the response of `{command}` {how}")));
            }
            _ => {}
        }
        self.stale(run).map(|what| (Lack::Stale, what))
    }

    /// Whether something changed since the run. Where the run knows how a file was,
    /// its bytes decide: a checkout may make it look newer, and a backdated file
    /// must not look older.
    fn stale(&self, run: &Run) -> Option<String> {
        // What was its own when the run was made, or since, stays so for that run.
        let dropped = self.dropped.iter().filter(|(_, until)| **until >= run.at).map(|(path, _)| *path);
        for path in self.feature.files.iter().chain(dropped) {
            let now = self.files.get(path).and_then(Option::as_ref);
            let fresh = match (run.tree.get(path), now) {
                (Some(Some(then)), Some(now)) => then.hash == now.hash && then.modified <= run.at,
                (Some(Some(_)), None) | (Some(None), Some(_)) => false,
                (None, Some(now)) => now.modified <= run.at,
                (_, None) => true,
            };
            if !fresh {
                return Some(format!("`{}` changed after the run of `{}`", text::excerpt(path, 80), text::excerpt(&run.command, 80)));
            }
        }
        if let Some(failed) = self.failed.filter(|failed| *failed > run.at) {
            return Some(format!("its tests were reported failed at {failed}, after the run of `{}`", text::excerpt(&run.command, 80)));
        }
        if let Some(reopened) = self.reopened.filter(|reopened| *reopened > run.at) {
            return Some(format!("it was reopened at {reopened}, after the run of `{}`", text::excerpt(&run.command, 80)));
        }
        let coded = self.coded.filter(|coded| self.feature.files.is_empty() && *coded > run.at)?;
        Some(format!("the code was reported finished at {coded}, after the run of `{}`", text::excerpt(&run.command, 80)))
    }
}

/// Commands that succeed without looking at anything.
pub(super) fn tests_nothing(command: &str) -> bool {
    const IDLE: [&str; 12] = ["echo", "printf", "true", ":", "exit", "pwd", "sleep", "test", "ls", "cat", "date", "whoami"];
    let idle = |part: &str| {
        let word = part.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default();
        IDLE.contains(&word.rsplit('/').next().unwrap_or(word)) || word.is_empty() || word == "cd"
    };
    command.split(['\n', ';', '&', '|']).all(idle)
}

fn how_to(id: &str) -> String {
    format!(
        "run the tests of `{id}`, then call twining_report with feature {id}, role tester, outcome passed and evidence: command, exit_code, and the paths of its reports or its output"
    )
}

/// What lifts a failure, word for word.
fn once_more(failed: Option<&Run>, id: &str) -> String {
    let again = match failed {
        None => "mend what broke and run those tests again, alone".to_owned(),
        Some(failed) => {
            let counted = failed.tests.filter(|tests| tests.failed > 0).map(|tests| format!(" ({} of {})", tests.failed, tests.run));
            let command = text::excerpt(&failed.command, 80);
            format!("mend what broke and run `{command}` again, alone: its last run failed{}", counted.unwrap_or_default())
        }
    };
    format!(
        "{again}. If what failed is another feature's, report that one as failed in the role tester, or list the tests of `{id}` among its files and run those; else report `{id}` as failed with what broke"
    )
}

fn next_step(lack: Lack, id: &str) -> String {
    match lack {
        Lack::Command => format!("run the real tests; {}", how_to(id)),
        Lack::Void => format!("run the tests in the project, with a runner that counts them; {}", how_to(id)),
        Lack::Ending => format!("give the exit code; {}", how_to(id)),
        Lack::Failed => format!("report `{id}` as failed in the role tester with what broke; twining_next then hands it back to a coder"),
        Lack::Unread => format!("have the file written anew; {}", how_to(id)),
        Lack::Empty => format!("make the run test `{id}` on real data; {}", how_to(id)),
        Lack::Outdone => once_more(None, id),
        Lack::Stale => format!("run the tests again on the files as they are; {}", how_to(id)),
    }
}
