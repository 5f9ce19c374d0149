//! Which run decides whether a feature works.

use twining_model::{EvidenceSource, Time};
use twining_testcases::each;

use crate::governance::TestCounts;
use crate::workflow::evidence::EvidenceCase;
use crate::workflow::{
    AttemptReport, EvidenceState, EvidenceVerdict, Feature, FeatureEvidence, FileState, FileStates,
    RunLog, RunReport, TestRun, TestSelection, WatchedFile, WatchedState, judge_evidence,
};

fn at(ms: i64) -> Time {
    Time::from_ms(ms)
}

fn feature() -> Feature {
    Feature { id: "PT-003".into(), files: vec!["src/a.py".into()], ..Feature::default() }
}

fn files(modified: i64, hash: &str) -> FileStates {
    FileStates::from([(
        "src/a.py".to_owned(),
        Some(FileState { modified: at(modified), hash: hash.into() }),
    )])
}

fn counts(run: u64, passed: u64, failed: u64) -> Option<TestCounts> {
    Some(TestCounts { run, passed, failed })
}

fn passed(id: &str, ms: i64) -> TestRun {
    let (source, command) = (EvidenceSource::Seen, "pytest -q".into());
    TestRun {
        id: id.into(),
        at: at(ms),
        source,
        command,
        exit_code: Some(0),
        tests: counts(3, 3, 0),
        ..TestRun::default()
    }
}

fn failed(id: &str, ms: i64) -> TestRun {
    TestRun { exit_code: Some(1), tests: counts(3, 2, 1), ..passed(id, ms) }
}

fn of(paths: &[&str]) -> TestSelection {
    TestSelection {
        paths: paths.iter().map(|&path| path.to_owned()).collect(),
        ..TestSelection::default()
    }
}

fn judged(
    feature: &Feature,
    runs: &[TestRun],
    files: &FileStates,
    reports: &[(&str, i64)],
) -> EvidenceVerdict {
    let report = |&(outcome, ms): &(&str, i64)| AttemptReport {
        at: at(ms),
        feature: feature.id.clone(),
        outcome: outcome.into(),
        ..AttemptReport::default()
    };
    let log = RunLog { runs: runs.to_vec(), reports: reports.iter().map(report).collect() };
    judge_evidence(feature, &log, files, EvidenceSource::Seen)
}

fn is_accepted(verdict: &EvidenceVerdict) -> bool {
    matches!(verdict, EvidenceVerdict::Accepted { .. })
}

/// The run that was accepted and its note, or what is missing.
fn says(runs: &[TestRun]) -> String {
    say(judged(&feature(), runs, &files(50, "x"), &[]))
}

fn say(verdict: EvidenceVerdict) -> String {
    match verdict {
        EvidenceVerdict::Accepted { run, note } => {
            format!("{run}{}", note.map(|note| format!(" ({note})")).unwrap_or_default())
        }
        EvidenceVerdict::Missing { what, .. } => what,
    }
}

#[test]
fn a_run_after_the_last_change_that_passed_is_evidence() {
    assert_eq!(says(&[passed("one", 100)]), "one");
}

#[test]
fn without_a_run_the_command_to_run_is_named() {
    let EvidenceVerdict::Missing { what, next_step } =
        judged(&feature(), &[], &files(50, "x"), &[])
    else {
        panic!("accepted")
    };
    assert_eq!(what, "no run of its tests is recorded");
    assert_eq!(
        next_step,
        "run the tests of `PT-003` in this session (its result is recorded by the hook), then report again"
    );
    let old = judged(&feature(), &[passed("one", 10)], &files(50, "x"), &[]);
    assert!(
        matches!(old, EvidenceVerdict::Missing { next_step, .. } if next_step.starts_with("run `pytest -q` in this session"))
    );
}

#[test]
fn the_newest_run_decides() {
    assert_eq!(
        says(&[passed("one", 100), failed("two", 200)]),
        "1 of 3 tests failed in `pytest -q`"
    );
    assert_eq!(says(&[failed("one", 100), passed("two", 200)]), "two");
    assert_eq!(says(&[passed("late", 300), failed("told later, ran before", 200)]), "late");
}

#[test]
fn a_run_of_no_test_neither_proves_nor_fails_anything() {
    let none = TestRun { tests: counts(0, 0, 0), exit_code: Some(5), ..passed("none", 200) };
    assert_eq!(says(std::slice::from_ref(&none)), "`pytest -q` ran no test");
    assert_eq!(says(&[passed("one", 100), none]), "one");
}

#[test]
fn a_run_elsewhere_shows_nothing() {
    let problem = Some("`pytest -q` ran in /other, outside the project".to_owned());
    assert_eq!(
        says(&[TestRun { problem, ..passed("one", 100) }]),
        "`pytest -q` ran in /other, outside the project"
    );
}

#[test]
fn a_command_that_never_reached_its_tests_failed() {
    assert_eq!(
        says(&[passed("one", 100), TestRun { tests: None, ..failed("two", 200) }]),
        "`pytest -q` failed"
    );
}

#[test]
fn a_word_counts_where_a_word_is_enough() {
    let word = TestRun { source: EvidenceSource::Reported, ..passed("word", 300) };
    assert_eq!(says(std::slice::from_ref(&word)), "no run of its tests is recorded");
    let judge = |runs: &[TestRun]| {
        let log = RunLog { runs: runs.to_vec(), ..RunLog::default() };
        say(judge_evidence(&feature(), &log, &files(50, "x"), EvidenceSource::Reported))
    };
    assert_eq!(judge(std::slice::from_ref(&word)), "word");
    assert_eq!(judge(&[passed("seen", 100), word.clone()]), "seen", "the stronger one is recorded");
    assert_eq!(judge(&[failed("seen", 100), word]), "word (the hook saw `pytest -q` fail)");
}

#[test]
fn only_ci_counts_where_ci_is_asked_for() {
    let ci = TestRun { source: EvidenceSource::Ci, ..passed("ci", 200) };
    let judge = |runs: &[TestRun]| {
        judge_evidence(
            &feature(),
            &RunLog { runs: runs.to_vec(), ..RunLog::default() },
            &files(50, "x"),
            EvidenceSource::Ci,
        )
    };
    let EvidenceVerdict::Missing { next_step, .. } = judge(&[passed("seen", 100)]) else {
        panic!("accepted")
    };
    assert!(next_step.contains("`twining verify --ci` decides"), "{next_step}");
    assert!(is_accepted(&judge(&[passed("seen", 100), ci])));
}

#[test]
fn a_narrower_run_after_a_failure_is_noted() {
    let all = TestRun { command: "pytest".into(), tests: counts(40, 39, 1), ..failed("all", 100) };
    let one = TestRun {
        command: "pytest tests/test_a.py".into(),
        selection: of(&["tests/test_a.py"]),
        ..passed("one", 200)
    };
    assert_eq!(
        says(&[all.clone(), one.clone()]),
        "one (does not cover the failed run of `pytest`)"
    );
    let again =
        TestRun { command: "pytest".into(), tests: counts(40, 40, 0), ..passed("again", 150) };
    assert_eq!(says(&[all.clone(), again, one]), "one", "the wider run passed in between");
    assert_eq!(
        says(&[all, passed("fewer", 200)]),
        "fewer (does not cover the failed run of `pytest`)",
        "tests went missing"
    );
}

#[test]
fn only_runs_that_cover_the_listed_tests_decide() {
    let feature = Feature { tests: vec!["tests/test_a.py".into()], ..feature() };
    let run = |run: TestRun, path: &str| TestRun {
        command: format!("pytest {path}"),
        selection: of(&[path]),
        ..run
    };
    let judge = |runs: &[TestRun]| say(judged(&feature, runs, &files(50, "x"), &[]));
    let own = run(passed("own", 100), "tests/test_a.py");
    assert_eq!(judge(&[own.clone(), run(failed("other", 200), "tests/test_b.py")]), "own");
    assert_eq!(judge(&[own, failed("all", 200)]), "1 of 3 tests failed in `pytest -q`");
    let other = run(passed("other", 200), "tests/test_b.py");
    assert_eq!(
        judge(&[other]),
        "`pytest tests/test_b.py` does not run the feature's tests (tests/test_a.py)"
    );
}

#[test]
fn a_change_after_the_run_makes_it_worthless() {
    let stale = judged(&feature(), &[passed("one", 100)], &files(101, "x"), &[]);
    assert_eq!(say(stale), "`src/a.py` changed after the run of `pytest -q`");
    assert!(is_accepted(&judged(
        &feature(),
        &[passed("one", 100), passed("two", 200)],
        &files(101, "x"),
        &[]
    )));
}

#[test]
fn bytes_decide_where_they_are_known_and_not_the_date() {
    let known = TestRun { tree: files(50, "x"), ..passed("one", 100) };
    assert!(
        is_accepted(&judged(&feature(), std::slice::from_ref(&known), &files(500, "x"), &[])),
        "a checkout made it look newer"
    );
    assert!(
        !is_accepted(&judged(&feature(), &[known], &files(10, "y"), &[])),
        "a backdated change"
    );
    let late = TestRun { tree: files(150, "x"), ..passed("one", 100) };
    assert!(
        !is_accepted(&judged(&feature(), &[late], &files(150, "x"), &[])),
        "changed before it was recorded, after it ran"
    );
}

#[test]
fn a_listed_test_that_was_edited_makes_the_run_stale() {
    let feature = Feature { tests: vec!["tests/test_a.py::test_x".into()], ..feature() };
    let mut now = files(50, "x");
    now.insert("tests/test_a.py".into(), Some(FileState { modified: at(150), hash: "y".into() }));
    assert_eq!(
        say(judged(&feature, &[passed("one", 100)], &now, &[])),
        "`tests/test_a.py` changed after the run of `pytest -q`"
    );
}

#[test]
fn a_file_that_is_listed_and_not_there_shows_nothing() {
    let gone = FileStates::from([("src/a.py".to_owned(), None)]);
    assert_eq!(
        say(judged(&feature(), &[passed("one", 100)], &gone, &[])),
        "it lists `src/a.py`, which does not exist"
    );
}

#[test]
fn without_files_the_run_must_be_newer_than_the_code_was_reported() {
    let feature = Feature { files: Vec::new(), ..feature() };
    let judge = |ms| {
        is_accepted(&judged(
            &feature,
            &[passed("one", 100)],
            &FileStates::new(),
            &[("completed", ms)],
        ))
    };
    assert_eq!((judge(150), judge(90)), (false, true));
}

#[test]
fn tests_that_were_reported_failed_or_reopened_are_run_again() {
    each(["failed", "reopened"], |outcome| {
        let judge = |runs: &[TestRun]| {
            is_accepted(&judged(&feature(), runs, &files(50, "x"), &[(outcome, 150)]))
        };
        assert_eq!(
            (judge(&[passed("one", 100)]), judge(&[passed("two", 200)])),
            (false, true),
            "{outcome}"
        );
    });
}

fn explained(
    feature: &Feature,
    runs: &[TestRun],
    files: &FileStates,
) -> (FeatureEvidence, Vec<RunReport>, Vec<WatchedFile>) {
    let log = RunLog { runs: runs.to_vec(), reports: Vec::new() };
    let needs = EvidenceSource::Seen;
    let case = EvidenceCase { feature, log: &log, files, needs, given: None, command: None };
    (case.evidence(), case.run_reports(), case.watched_files())
}

/// Each run, whether it counts, and why.
fn worth(runs: &[TestRun], files: &FileStates) -> Vec<(String, bool, String)> {
    let (_, reports, _) = explained(&feature(), runs, files);
    reports.into_iter().map(|run| (run.id, run.is_evidence, run.because)).collect()
}

#[test]
fn each_run_says_why_it_is_evidence_or_is_not() {
    let row = |id: &str, is_evidence: bool, because: &str| {
        (id.to_owned(), is_evidence, because.to_owned())
    };
    let told = TestRun { source: EvidenceSource::Reported, ..passed("r-3", 300) };
    each(
        [
            (
                vec![passed("r-1", 100)],
                row("r-1", true, "3 passed, 0 failed, and nothing changed since"),
            ),
            (vec![failed("r-1", 100)], row("r-1", false, "1 of 3 tests failed")),
            (
                vec![passed("r-1", 20)],
                row("r-1", false, "`src/a.py` changed at 1970-01-01 00:00 UTC, after the run"),
            ),
            (
                vec![told.clone()],
                row(
                    "r-3",
                    false,
                    "only an agent's word; this project needs a run that the host saw",
                ),
            ),
            (
                vec![TestRun { tests: counts(0, 0, 0), ..passed("r-1", 100) }],
                row("r-1", false, "`pytest -q` ran no test"),
            ),
        ],
        |(runs, wanted)| assert_eq!(worth(&runs, &files(50, "x")), [wanted]),
    );
}

#[test]
fn a_failed_run_is_lifted_by_a_later_one_and_an_older_pass_does_not_decide() {
    let runs = [passed("r-1", 100), failed("r-2", 200), passed("r-3", 300)];
    let shown = worth(&runs, &files(50, "x"));
    let because: Vec<(&str, &str)> =
        shown.iter().map(|(id, _, because)| (id.as_str(), because.as_str())).collect();
    assert_eq!(because[1], ("r-2", "1 of 3 tests failed; lifted by run r-3"));
    assert_eq!(because[2], ("r-1", "a newer run decides: r-3"));
    assert_eq!(worth(&runs[..2], &files(50, "x"))[1].2, "a newer run failed: `pytest -q`");
    let (evidence, ..) = explained(&feature(), &runs[..2], &files(50, "x"));
    assert_eq!(evidence.state, EvidenceState::None, "{evidence:?}");
    assert!(evidence.because.contains("1 of 3 tests failed"), "{evidence:?}");
}

#[test]
fn evidence_is_fresh_stale_or_missing_and_each_file_says_which() {
    let stale = FileStates::from([("src/a.py".to_owned(), None)]);
    each(
        [
            (
                vec![passed("r-1", 100)],
                files(50, "x"),
                EvidenceState::Fresh,
                WatchedState::AsRunSaw,
            ),
            (
                vec![passed("r-1", 100)],
                files(200, "x"),
                EvidenceState::Stale,
                WatchedState::Changed,
            ),
            (Vec::new(), files(50, "x"), EvidenceState::None, WatchedState::NoRun),
            (vec![passed("r-1", 100)], stale, EvidenceState::None, WatchedState::Missing),
        ],
        |(runs, files, state, file)| {
            let (evidence, _, watched) = explained(&feature(), &runs, &files);
            assert_eq!((evidence.state, watched[0].state), (state, file), "{evidence:?}");
            assert!(!evidence.because.is_empty());
        },
    );
}
