//! Runs that a host saw happen, taken for what they are.
//!
//! What an agent says of its tests is its word; what the host tells of a command
//! that it ran itself is not. Only real runs of tests are kept, failed ones as
//! failed, and each with the state of the files that features name.

use std::collections::BTreeMap;
use std::path::Path;

use twining_model::{limits, text};
use twining_store::disk;

use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::TestCounts;
use crate::guards::{Outcome, Place, TestCommand, TestRun, pretends, test_command};
use crate::workflow::{self, FileStates, OutputSeen, Run, RunSource, Status, Suite, counts_in, failing_in};
use crate::working::file_states;

/// Which files features list.
type Listed = BTreeMap<String, Vec<String>>;

/// Paths whose state is kept with one run.
const MOST_PATHS: usize = 256;

/// Suites that are kept with one run.
const MOST_SUITES: usize = 16;

/// Bytes of a file that says what a script runs; a larger one is not read.
const MOST_SCRIPT: usize = 256 * 1024;

/// Why a script that tells of no tests shows nothing.
pub(crate) const UNCOUNTED: &str = "tells of no test that ran, and may be any script";

/// What became of a run that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// The run.
    pub run: Run,
    /// Why it shows nothing, if it does not, and what would.
    pub lacks: Option<String>,
}

impl Engine {
    /// Remembers a command that a host ran, if it ran tests. `None` if it did not.
    /// `whereabouts` gives a path from where the line began as one from the top of
    /// the working tree; none for one that lies elsewhere.
    pub fn capture_run(
        &self,
        caller: &Caller,
        checkout: &Path,
        whereabouts: &dyn Fn(&str) -> Option<String>,
        command: &str,
        outcome: &Outcome,
        hand: &str,
    ) -> Result<Option<Captured>, Failure> {
        let Some(test) = test_command(command) else { return Ok(None) };
        if outcome.is_unfinished || !self.store().exists()? {
            return Ok(None);
        }
        // A runner that always counts and did not ran nothing.
        let tests = counts_in(&outcome.output).or(test.counts.then_some(TestCounts::default()));
        let has_passed = tests.is_some_and(|tests| tests.passed > 0 && tests.failed == 0);
        let exit_code = match outcome.exit_code {
            Some(0) if !test.is_ending => None,
            // Some hosts do not tell how a command ended; the runner's own last sentence does.
            None if test.is_ending && has_passed => Some(0),
            None if tests.is_some_and(|tests| tests.failed > 0) => Some(1),
            told => told,
        };
        // A script that says nothing but `ok` may have done nothing else; one that failed did fail.
        let is_uncounted = test.is_script && tests.is_none() && exit_code.is_none_or(|code| code == 0);
        let never_began =
            exit_code.is_some_and(|code| code != 0) && tests.is_none_or(|tests| tests.run == 0) && is_misspelt(&outcome.output);
        let (tree, listed) = self.files_at_stake(checkout)?;
        let run = Run {
            void: never_began
                .then(|| NEVER_BEGAN.to_owned())
                .or_else(|| test.is_elsewhere(&|folder| whereabouts(folder).is_some()))
                .or(is_uncounted.then(|| UNCOUNTED.to_owned()))
                .or_else(|| {
                    whereabouts("").filter(|_| exit_code.is_none_or(|code| code == 0)).and_then(|here| pretended(command, checkout, &here))
                }),
            suites: suites_of(&test, checkout, whereabouts),
            id: self.store().ids().next().into(),
            at: self.store().ids().now(),
            feature: None,
            agent: caller.agent.clone(),
            source: RunSource::Captured,
            command: text::excerpt(command, limits::ELEMENT_BYTES),
            exit_code,
            tests,
            output: Some(OutputSeen::of(&outcome.output)),
            failing: failing_in(&outcome.output, tests),
            hand: hand.to_owned(),
            tree,
            listed,
            ..Run::default()
        };
        self.record_run(&run)?;
        let lacks = lacks(&run, test.is_ending);
        Ok(Some(Captured { run, lacks }))
    }

    /// How the files are of features that somebody may want to call tested, and which
    /// files each of them lists. Those in hand come first; of the others the names do.
    fn files_at_stake(&self, checkout: &Path) -> Result<(FileStates, Listed), Failure> {
        let shelf = self.store().features()?;
        // A list that cannot be read has no features; whoever judges by it says so.
        let Ok(Some(list)) = workflow::list_on(&shelf) else { return Ok(Default::default()) };
        let is_open = |feature: &&workflow::Feature| matches!(feature.status, Status::InProgress | Status::Completed);
        let (open, others): (Vec<_>, Vec<_>) = list.features.iter().filter(|feature| !feature.tested).partition(is_open);
        let paths: Vec<String> = open.iter().flat_map(|feature| feature.files.iter().cloned()).take(MOST_PATHS).collect();
        let mut listed = Listed::new();
        let mut left = MOST_PATHS;
        for feature in open.into_iter().chain(others).filter(|feature| !feature.files.is_empty()) {
            let Some(rest) = left.checked_sub(feature.files.len()) else { break };
            left = rest;
            listed.insert(feature.id.clone(), feature.files.clone());
        }
        Ok((file_states(checkout, &paths)?, listed))
    }
}

/// Why a line that names what is not there shows nothing, and fails nothing.
const NEVER_BEGAN: &str = "never began: it names tests, a target or an option that is not there";

/// Whether a runner only says that it does not understand its line.
fn is_misspelt(output: &str) -> bool {
    const SAID: [&str; 19] = [
        "file or directory not found",
        "unrecognized arguments",
        "no tests ran",
        "no module named pytest",
        "no test target named",
        "no bin target named",
        "no example target named",
        "unexpected argument",
        "did not match any packages",
        "no such command",
        "no tests found",
        "no test files found",
        "no test modules found",
        "missing script",
        "no rule to make target",
        "unknown option",
        "could not find `cargo.toml`",
        "does not contain recipe",
        "directory not found",
    ];
    let lower = output.to_lowercase();
    SAID.iter().any(|said| lower.contains(said))
}

/// Why a line shows nothing though it says so: a script of the working tree that only talks.
pub(crate) fn pretended(command: &str, checkout: &Path, folder: &str) -> Option<String> {
    let read = |path: &str| String::from_utf8(disk::read_inside(checkout, path, MOST_SCRIPT).ok()??).ok();
    let there = |path: &str| !matches!(disk::state_inside(checkout, path, 1, 0), Ok(None));
    pretends(command, folder, &read, &there)
}

/// Which tests a line ran, as one working tree sees it.
pub(crate) fn suites_of(test: &TestCommand, checkout: &Path, whereabouts: &dyn Fn(&str) -> Option<String>) -> Vec<Suite> {
    let tree = checkout.display().to_string();
    let suite = |run: &TestRun| {
        let known = run.places.iter().filter_map(|place| if let Place::Known(folder) = place { whereabouts(folder) } else { None });
        Suite::new(&tree, run.family, known.collect(), &run.named).run_by(&run.program, run.is_script, &run.narrowed)
    };
    test.runs.iter().take(MOST_SUITES).map(suite).collect()
}

/// What an agent should know of a run that will not count.
fn lacks(run: &Run, is_ending: bool) -> Option<String> {
    if let Some(why) = &run.void {
        return Some(format!("it {why}"));
    }
    let told = match (run.exit_code, run.tests) {
        (Some(0), Some(tests)) if tests.run == 0 => "it ran no test".to_owned(),
        (Some(0), None) if run.output.as_ref().is_none_or(|output| output.hollow) => "it printed nothing".to_owned(),
        (None, _) if !is_ending => {
            "the line does not end as the tests do; run them alone, or with `set -o pipefail` before a pipe".to_owned()
        }
        (None, _) => "the host does not say how it ended, and neither does its output".to_owned(),
        _ => return None,
    };
    Some(told)
}
