//! Whether a feature was shown to work.
//!
//! A run counts if it ended well, ran something, and came after the last change
//! of the feature's files. Anything less is no evidence, and the answer says what
//! is missing and what to do about it. No disk and no clock: runs and files come
//! in as they were found.

use twining_model::{Time, text};

use crate::workflow::feature::Feature;
use crate::workflow::run::{FileStates, Run};

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

/// Judges a feature by the runs that are known and by its files as they are now.
/// `coded` is when its code was last reported finished, where that is known; it
/// stands in for files where the feature lists none.
#[must_use]
pub fn judge_evidence(feature: &Feature, runs: &[Run], files: &FileStates, coded: Option<Time>) -> Verdict {
    if let Some(gone) = feature.files.iter().find(|path| files.get(path.as_str()).is_none_or(Option::is_none)) {
        return Verdict::Missing {
            what: format!("`{}` lists `{}`, which is not there", text::excerpt(&feature.id, 80), text::excerpt(gone, 80)),
            next_step: format!("write the file, or correct the list with twining_features update {} and its files", feature.id),
        };
    }
    let about = |run: &&Run| run.feature.as_ref().is_none_or(|id| *id == feature.id);
    let mut nearest: Option<(Lack, String)> = None;
    for run in runs.iter().rev().filter(about) {
        match lack(feature, run, files, coded) {
            None => return Verdict::Accepted { run: run.id.clone() },
            // The latest run that came closest is the one worth talking about.
            Some((lack, what)) if nearest.as_ref().is_none_or(|(best, _)| lack > *best) => nearest = Some((lack, what)),
            Some(_) => {}
        }
    }
    let id = text::excerpt(&feature.id, 80);
    match nearest {
        None => Verdict::Missing { what: format!("no run of `{id}`'s tests is recorded"), next_step: how_to(&id) },
        Some((lack, what)) => Verdict::Missing { what, next_step: next_step(lack, &id) },
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
}

fn lack(feature: &Feature, run: &Run, files: &FileStates, coded: Option<Time>) -> Option<(Lack, String)> {
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
    stale(feature, run, files, coded).map(|what| (Lack::Stale, what))
}

/// Whether something changed since the run. Where the run knows how a file was,
/// its bytes decide: a checkout may make it look newer, and a backdated file
/// must not look older.
fn stale(feature: &Feature, run: &Run, files: &FileStates, coded: Option<Time>) -> Option<String> {
    for path in &feature.files {
        let Some(Some(now)) = files.get(path) else { continue };
        let fresh = match run.tree.get(path) {
            Some(Some(then)) => then.hash == now.hash && then.modified <= run.at,
            Some(None) => false,
            None => now.modified <= run.at,
        };
        if !fresh {
            return Some(format!("`{}` changed after the run of `{}`", text::excerpt(path, 80), text::excerpt(&run.command, 80)));
        }
    }
    let coded = coded.filter(|coded| feature.files.is_empty() && *coded > run.at)?;
    Some(format!("the code was reported finished at {coded}, after the run of `{}`", text::excerpt(&run.command, 80)))
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
        Lack::Stale => format!("run the tests again on the files as they are; {}", how_to(id)),
    }
}
