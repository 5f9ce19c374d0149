//! Failures that still stand: tests the host saw fail, and that no run since has
//! shown to pass.
//!
//! A run lifts a failure if it ran what failed: the same line, the same runner with
//! nothing left out that was not before, or the failed tests by name. A failure that
//! is plainly another's does not stand in a feature's way: of another language, folder
//! or working tree, of before the feature was begun, reported as another feature's, or
//! outside the tests that the feature lists as its own.

use std::collections::BTreeSet;

use twining_model::{Time, text};

use crate::workflow::feature::Feature;
use crate::workflow::run::{AttemptReport, Run, RunSource};
use crate::workflow::suite::{Suite, holds};

/// After so long a failure stands in nobody's way: who ran it then may never again.
const MOST_AGE_MS: i64 = 24 * 60 * 60 * 1000;
/// Clocks of disks are coarser than ours.
const COARSE_MS: i64 = 2_000;

/// What a good run of a feature is held against.
pub(super) struct Failures<'r> {
    feature: &'r Feature,
    /// Runs that may speak of it, the oldest first.
    runs: &'r [&'r Run],
    reports: &'r [AttemptReport],
    /// When work on it was first reported begun.
    begun: Option<Time>,
    /// Tests that failed already when they were nobody's fault here.
    known: BTreeSet<&'r str>,
}

impl<'r> Failures<'r> {
    pub(super) fn of(feature: &'r Feature, runs: &'r [&'r Run], reports: &'r [AttemptReport]) -> Self {
        let begun = reports.iter().find(|report| report.feature == feature.id && report.outcome == "started").map(|report| report.at);
        let mut failures = Self { feature, runs, reports, begun, known: BTreeSet::new() };
        let others = runs.iter().filter(|run| has_failed(run) && (failures.is_from_before(run) || failures.is_reported_as_another_s(run)));
        failures.known = others.flat_map(|run| run.failing.iter().map(String::as_str)).collect();
        failures
    }

    /// The newest failure that stands in the way of a good run, by its place among the runs.
    pub(super) fn against(&self, at: usize) -> Option<&'r Run> {
        let good = self.runs.get(at)?;
        let stands = |(place, run): &(usize, &&Run)| {
            let is_later = *place > at;
            *place != at && has_failed(run) && !self.is_excused(run, good, is_later) && !self.is_lifted(*place)
        };
        self.runs.iter().enumerate().rev().find(stands).map(|(_, run)| *run)
    }

    fn is_excused(&self, failed: &Run, good: &Run, is_later: bool) -> bool {
        if is_later {
            // One that was told before needs no covering: it only counts where the same tests failed since.
            return !concerns_same(failed, good) || self.is_another_s(failed, good);
        }
        failed.source != RunSource::Captured
            || good.at.as_ms().saturating_sub(failed.at.as_ms()) > MOST_AGE_MS
            || self.is_another_s(failed, good)
            || is_another_hand_s(failed, good)
    }

    fn is_another_s(&self, failed: &Run, good: &Run) -> bool {
        let is_known = !failed.failing.is_empty() && failed.failing.iter().all(|test| self.known.contains(test.as_str()));
        is_known
            || self.is_from_before(failed)
            || self.is_reported_as_another_s(failed)
            || in_another_tree(failed, good)
            || self.is_of_another_language(failed)
            || self.is_of_another_folder(failed, good)
            || self.is_beside_its_own_tests(failed, good)
    }

    /// Work on the feature had not begun.
    fn is_from_before(&self, failed: &Run) -> bool {
        self.begun.is_some_and(|begun| failed.at < begun)
    }

    /// The first feature that was called failed or blocked after it is another one.
    fn is_reported_as_another_s(&self, failed: &Run) -> bool {
        let told = |report: &&AttemptReport| report.at >= failed.at && matches!(report.outcome.as_str(), "failed" | "blocked");
        self.reports.iter().find(told).is_some_and(|report| report.feature != self.feature.id)
    }

    fn is_of_another_language(&self, failed: &Run) -> bool {
        let families: Option<BTreeSet<&str>> = self.feature.files.iter().map(|file| family_of(file)).collect();
        let Some(families) = families.filter(|families| !families.is_empty()) else { return false };
        let is_other = |suite: &Suite| suite.family.as_deref().is_some_and(|family| !families.contains(family));
        !failed.suites.is_empty() && failed.suites.iter().all(is_other)
    }

    fn is_of_another_folder(&self, failed: &Run, good: &Run) -> bool {
        let is_aside = |suite: &Suite| {
            // Tests of all there is may lie in a folder of their own.
            let holds_none =
                |folder: &String| !folder.is_empty() && !is_of_tests(folder) && !self.feature.files.iter().any(|file| holds(folder, file));
            !suite.folders.is_empty() && suite.folders.iter().all(holds_none) && good.suites.iter().all(|other| other.is_apart(suite))
        };
        !(self.feature.files.is_empty() || failed.suites.is_empty() || good.suites.is_empty()) && failed.suites.iter().all(is_aside)
    }

    /// The feature lists tests of its own, the good run ran them, and none of them failed.
    fn is_beside_its_own_tests(&self, failed: &Run, good: &Run) -> bool {
        let own: Vec<String> = self.feature.files.iter().flat_map(|file| own_tests(file)).collect();
        let is_own = |test: &String| own.iter().any(|name| holds(name, test) || holds(test, name));
        let has_run = |name: &String| good.suites.iter().any(|suite| suite.narrowed.is_empty() && suite.names(name));
        !(own.is_empty() || failed.failing.is_empty()) && own.iter().all(has_run) && !failed.failing.iter().any(is_own)
    }

    /// Whether a run since ran what failed, and it passed.
    fn is_lifted(&self, place: usize) -> bool {
        let (Some(failed), Some(since)) = (self.runs.get(place), self.runs.get(place + 1..)) else { return false };
        since.iter().any(|run| ended_well(run) && lifts(run, failed, since))
    }
}

/// Whether a good run shows that what failed passes.
fn lifts(good: &Run, failed: &Run, since: &[&Run]) -> bool {
    if good.source == RunSource::Captured || failed.source != RunSource::Captured {
        return covers(good, failed);
    }
    // An agent's word stands for what the host saw and could not tell the end of: it saw
    // tests pass behind a pipe, or a run that may have written the report which is named.
    let is_backed = |seen: &&Run| {
        let has_passed = seen.tests.is_some_and(|tests| tests.passed > 0);
        let wrote_it = !good.reports.is_empty() && good.at > failed.at && good.at.as_ms() <= seen.at.as_ms().saturating_add(COARSE_MS);
        seen.source == RunSource::Captured && seen.void.is_none() && !has_failed(seen) && covers(seen, failed) && (has_passed || wrote_it)
    };
    since.iter().any(is_backed)
}

/// Whether a run ran all that another did, or all that failed in it.
fn covers(run: &Run, failed: &Run) -> bool {
    if run.command == failed.command && run.suites == failed.suites {
        return true;
    }
    let is_covered = |lost: &Suite| run.suites.iter().any(|suite| suite.covers(lost) || suite.covers_tests(lost, &failed.failing));
    !failed.suites.is_empty() && failed.suites.iter().all(is_covered)
}

/// Whether a run ended well, and something passed in it as far as it counts.
fn ended_well(run: &Run) -> bool {
    run.void.is_none() && run.exit_code == Some(0) && run.tests.is_none_or(|tests| tests.failed == 0 && tests.passed > 0)
}

/// Whether a run tells that tests failed. One that could not be started tells nothing.
pub(super) fn has_failed(run: &Run) -> bool {
    let counted = run.tests.filter(|tests| tests.run > 0);
    let never_began = matches!(run.exit_code, Some(126 | 127)) && counted.is_none();
    let ended_badly = run.exit_code.is_some_and(|code| code != 0) && !never_began;
    let says_so = ended_badly || counted.is_some_and(|tests| tests.failed > 0);
    says_so && run.void.is_none() && !super::evidence::tests_nothing(&run.command)
}

/// Whether two runs may have run the same tests: by what their lines say, or word for word.
fn concerns_same(one: &Run, other: &Run) -> bool {
    let is_for_it = one.feature.is_some() && one.feature == other.feature;
    if one.suites.is_empty() || other.suites.is_empty() {
        return is_for_it || one.command == other.command;
    }
    one.suites.iter().any(|suite| other.suites.iter().any(|known| known.meets(suite)))
}

/// Whether another agent ran tests that have nothing to do with these: they work side by side.
fn is_another_hand_s(failed: &Run, good: &Run) -> bool {
    let are_known = !failed.hand.is_empty() && !good.hand.is_empty();
    are_known && failed.hand != good.hand && !concerns_same(failed, good)
}

fn in_another_tree(failed: &Run, good: &Run) -> bool {
    let trees = |run: &'_ Run| -> BTreeSet<String> { run.suites.iter().map(|suite| suite.tree.clone()).collect() };
    let (these, those) = (trees(failed), trees(good));
    !(these.is_empty() || those.is_empty()) && these.is_disjoint(&those)
}

/// Whose runner tests a file, by its ending.
fn family_of(file: &str) -> Option<&'static str> {
    let (_, ending) = file.rsplit('/').next()?.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "rs" => "cargo",
        "py" | "pyi" => "python",
        "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" => "js",
        "php" => "php",
        "rb" => "ruby",
        "java" | "kt" | "kts" | "scala" | "groovy" => "jvm",
        "dart" => "dart",
        "go" => "go",
        "cs" | "fs" | "vb" => "dotnet",
        "swift" => "swift",
        "ex" | "exs" => "mix",
        "zig" => "zig",
        _ => return None,
    })
}

/// The names by which a listed file is run as tests: itself, if it is one by its name;
/// of Rust, whose tests stand in the code, its module.
fn own_tests(file: &str) -> Vec<String> {
    if is_of_tests(file) {
        return vec![file.trim_start_matches("./").to_owned()];
    }
    let module = file.rsplit_once("src/").and_then(|(_, inner)| inner.strip_suffix(".rs"));
    let module =
        module.map(|inner| inner.trim_end_matches("/mod").replace('/', "::")).filter(|name| !matches!(name.as_str(), "lib" | "main"));
    module.into_iter().collect()
}

/// Whether a path is one of tests, by its name.
fn is_of_tests(path: &str) -> bool {
    let is_word = |word: &str| {
        let is_whole = matches!(word.to_ascii_lowercase().trim_end_matches('s'), "test" | "spec");
        // `LoginTest`, and not `latest`.
        is_whole || ["Test", "Spec"].iter().any(|end| word.trim_end_matches('s').ends_with(end))
    };
    path.split('/').any(|part| part.split(|c: char| !c.is_ascii_alphanumeric()).any(is_word))
}

/// How a run failed, as a sentence.
pub(super) fn how_it_failed(run: &Run) -> String {
    let command = text::excerpt(&run.command, 80);
    match (run.tests.filter(|tests| tests.failed > 0), run.exit_code) {
        (Some(tests), _) => format!("{} of {} tests failed in `{command}` at {}", tests.failed, tests.run, run.at),
        (None, Some(code)) => format!("`{command}` failed at {}: it ended with {code}", run.at),
        (None, None) => format!("`{command}` failed at {}", run.at),
    }
}
