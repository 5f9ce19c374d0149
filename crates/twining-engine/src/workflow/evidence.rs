//! Whether a feature was shown to work.
//!
//! A run counts if it ended well, ran something, came after the last change of the
//! feature's files, and none of the same tests failed since. Anything less is no evidence, and the answer says what
//! is missing and what to do about it. No disk and no clock: runs and files come
//! in as they were found.

use twining_model::{Time, text};

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

/// Judges a feature by what is remembered and by its files as they are now. When
/// its code was last reported finished stands in for files where it lists none.
#[must_use]
pub fn judge_evidence(feature: &Feature, remembered: &Remembered, files: &FileStates) -> Verdict {
    if let Some(gone) = feature.files.iter().find(|path| files.get(path.as_str()).is_none_or(Option::is_none)) {
        return Verdict::Missing {
            what: format!("`{}` lists `{}`, which is not there", text::excerpt(&feature.id, 80), text::excerpt(gone, 80)),
            next_step: format!("write the file, or correct the list with twining_features update {} and its files", feature.id),
        };
    }
    let reported = |outcome: &str| remembered.last_report(&feature.id, |report| report.outcome == outcome).map(|report| report.at);
    let case = Case { feature, files, coded: reported("completed"), failed: reported("failed") };
    let about = |run: &&Run| run.feature.as_ref().is_none_or(|id| *id == feature.id);
    let mut runs: Vec<&Run> = remembered.runs.iter().filter(about).collect();
    // A run that was told late is as old as it was; of two at once the later told is newer.
    runs.sort_by_key(|run| run.at);
    let id = text::excerpt(&feature.id, 80);
    let mut nearest: Option<(Lack, String)> = None;
    for (at, run) in runs.iter().enumerate().rev() {
        let lack = case.lack(run).or_else(|| Some((Lack::Outdone, outdone(&case, &runs, at)?)));
        match lack {
            None => return Verdict::Accepted { run: run.id.clone() },
            // The latest run that came closest is the one worth talking about.
            Some((lack, what)) if nearest.as_ref().is_none_or(|(best, _)| lack > *best) => nearest = Some((lack, what)),
            Some(_) => {}
        }
    }
    match nearest {
        None => Verdict::Missing { what: format!("no run of `{id}`'s tests is recorded"), next_step: how_to(&id) },
        Some((lack, what)) => Verdict::Missing { what, next_step: next_step(lack, &id) },
    }
}

/// The run that takes a good one its worth, if there is one: one of the same tests
/// that failed later; or, where somebody only says that they passed, one that the
/// host saw fail on these very files.
fn outdone(case: &Case<'_>, runs: &[&Run], at: usize) -> Option<String> {
    let (run, before, after) = (runs.get(at)?, runs.get(..at)?, runs.get(at + 1..)?);
    let command = text::excerpt(&run.command, 80);
    if let Some(failed) = after.iter().rev().find(|later| has_failed(later) && concerns_same(later, run)) {
        return Some(format!("{}; that `{command}` passed before shows nothing any more", how_it_failed(failed)));
    }
    if run.source == RunSource::Captured || !run.reports.is_empty() {
        return None;
    }
    let seen = before.iter().rev().filter(|other| other.source == RunSource::Captured && concerns_same(other, run));
    // A pipe hides how a run ended, not what it printed.
    let mut telling = seen.filter(|other| has_failed(other) || other.tests.is_some_and(|tests| tests.passed > 0));
    let failed = telling.next().filter(|last| has_failed(last) && case.stale(last).is_none())?;
    Some(format!("{}, as the host saw, and nothing was changed or run since that shows otherwise", how_it_failed(failed)))
}

/// Whether a run tells that tests failed. One that could not be started tells nothing.
fn has_failed(run: &Run) -> bool {
    let counted = run.tests.filter(|tests| tests.run > 0);
    let never_began = matches!(run.exit_code, Some(126 | 127)) && counted.is_none();
    let ended_badly = run.exit_code.is_some_and(|code| code != 0) && !never_began;
    run.void.is_none() && !tests_nothing(&run.command) && (ended_badly || counted.is_some_and(|tests| tests.failed > 0))
}

/// Whether two runs may have run the same tests: by what their lines say, or word for word.
fn concerns_same(one: &Run, other: &Run) -> bool {
    let is_for_it = one.feature.is_some() && one.feature == other.feature;
    if one.suites.is_empty() || other.suites.is_empty() {
        return is_for_it || one.command == other.command;
    }
    one.suites.iter().any(|suite| other.suites.iter().any(|known| known.meets(suite)))
}

fn how_it_failed(run: &Run) -> String {
    let command = text::excerpt(&run.command, 80);
    match (run.tests.filter(|tests| tests.failed > 0), run.exit_code) {
        (Some(tests), _) => format!("{} of {} tests failed in `{command}` at {}", tests.failed, tests.run, run.at),
        (None, Some(code)) => format!("`{command}` failed at {}: it ended with {code}", run.at),
        (None, None) => format!("`{command}` failed at {}", run.at),
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
    /// When its code was last reported finished.
    coded: Option<Time>,
    /// When its tests were last reported failed.
    failed: Option<Time>,
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
                return Some((Lack::Empty, format!("the response of `{command}` is empty")));
            }
            _ => {}
        }
        self.stale(run).map(|what| (Lack::Stale, what))
    }

    /// Whether something changed since the run. Where the run knows how a file was,
    /// its bytes decide: a checkout may make it look newer, and a backdated file
    /// must not look older.
    fn stale(&self, run: &Run) -> Option<String> {
        for path in &self.feature.files {
            let Some(Some(now)) = self.files.get(path) else { continue };
            let fresh = match run.tree.get(path) {
                Some(Some(then)) => then.hash == now.hash && then.modified <= run.at,
                Some(None) => false,
                None => now.modified <= run.at,
            };
            if !fresh {
                return Some(format!("`{}` changed after the run of `{}`", text::excerpt(path, 80), text::excerpt(&run.command, 80)));
            }
        }
        if let Some(failed) = self.failed.filter(|failed| *failed > run.at) {
            return Some(format!("its tests were reported failed at {failed}, after the run of `{}`", text::excerpt(&run.command, 80)));
        }
        let coded = self.coded.filter(|coded| self.feature.files.is_empty() && *coded > run.at)?;
        Some(format!("the code was reported finished at {coded}, after the run of `{}`", text::excerpt(&run.command, 80)))
    }
}

/// Commands that succeed without looking at anything.
fn tests_nothing(command: &str) -> bool {
    const IDLE: [&str; 8] = ["echo", "printf", "true", ":", "exit", "pwd", "sleep", "test"];
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

fn next_step(lack: Lack, id: &str) -> String {
    match lack {
        Lack::Command => format!("run the real tests; {}", how_to(id)),
        Lack::Void => format!("run the tests in the project, with a runner that counts them; {}", how_to(id)),
        Lack::Ending => format!("give the exit code; {}", how_to(id)),
        Lack::Failed => format!("report `{id}` as failed in the role tester with what broke; twining_next then hands it back to a coder"),
        Lack::Unread => format!("have the file written anew; {}", how_to(id)),
        Lack::Empty => format!("make the run test `{id}` on real data; {}", how_to(id)),
        Lack::Outdone => {
            format!("mend what broke and run those tests again, alone; or report `{id}` as failed in the role tester with what broke")
        }
        Lack::Stale => format!("run the tests again on the files as they are; {}", how_to(id)),
    }
}
