//! What counts as having been shown to work.

use twining_model::Time;

use crate::governance::TestCounts;
use crate::workflow::{AttemptReport, Feature, FileSeen, FileState, FileStates, OutputSeen, Remembered, Run, RunSource, Suite, Verdict};

fn at(ms: i64) -> Time {
    Time::from_ms(ms)
}

fn feature() -> Feature {
    Feature { id: "PT-003".into(), files: vec!["src/a.py".into()], ..Feature::default() }
}

fn files(modified: i64, hash: &str) -> FileStates {
    FileStates::from([("src/a.py".to_owned(), Some(FileState { modified: at(modified), hash: hash.into() }))])
}

fn good() -> Run {
    Run {
        id: "run-1".into(),
        at: at(100),
        command: "pytest -q".into(),
        exit_code: Some(0),
        tests: Some(TestCounts { run: 3, passed: 3, failed: 0 }),
        ..Run::default()
    }
}

fn judge_evidence(feature: &Feature, runs: &[Run], files: &FileStates, coded: Option<Time>) -> Verdict {
    let report = |outcome: &str, at| AttemptReport { at, feature: feature.id.clone(), outcome: outcome.into(), ..AttemptReport::default() };
    let reports = coded.map(|at| report("completed", at)).into_iter().collect();
    crate::workflow::judge_evidence(feature, &Remembered { runs: runs.to_vec(), reports, ..Remembered::default() }, files)
}

fn missing(runs: &[Run], files: &FileStates) -> String {
    match judge_evidence(&feature(), runs, files, None) {
        Verdict::Missing { what, next_step } => {
            assert!(next_step.contains("PT-003"), "{next_step}");
            what
        }
        Verdict::Accepted { run } => panic!("{run} was accepted"),
    }
}

#[test]
fn a_run_after_the_last_change_that_tested_something_is_evidence() {
    let verdict = judge_evidence(&feature(), &[good()], &files(50, "x"), None);
    assert_eq!(verdict, Verdict::Accepted { run: "run-1".into() });
}

#[test]
fn nothing_is_shown_by_a_run_that_shows_nothing() {
    let now = files(50, "x");
    let counts = |run, passed, failed| Some(TestCounts { run, passed, failed });
    let seen = |path: &str, problem: Option<&str>| vec![FileSeen { path: path.into(), problem: problem.map(str::to_owned) }];
    assert_eq!(missing(&[], &now), "no run of `PT-003`'s tests is recorded");
    for (run, what) in [
        (Run { tests: counts(0, 0, 0), ..good() }, "`pytest -q` ran no test"),
        (Run { tests: counts(3, 2, 1), ..good() }, "1 of 3 tests failed in `pytest -q`"),
        (Run { exit_code: Some(1), ..good() }, "`pytest -q` failed: it ended with 1"),
        (Run { exit_code: None, ..good() }, "nobody knows how `pytest -q` ended"),
        (Run { tests: None, ..good() }, "the response of `pytest -q` is empty"),
        (Run { tests: None, output: Some(OutputSeen::of(r#"{"data": []}"#)), ..good() }, "the response of `pytest -q` is empty"),
        (Run { data: seen("out.json", Some("is empty: it holds no data")), ..good() }, "`out.json` is empty: it holds no data"),
        (Run { tests: None, reports: seen("lcov.info", None), ..good() }, "the reports tell of no tests"),
        (Run { reports: seen("j.xml", Some("is not there")), ..good() }, "`j.xml` is not there"),
        (Run { command: "echo '3 passed'".into(), ..good() }, "`echo '3 passed'` tests nothing, whatever it answers"),
        (Run { command: "ls".into(), ..good() }, "`ls` tests nothing, whatever it answers"),
        (Run { command: "cd x && true".into(), ..good() }, "`cd x && true` tests nothing, whatever it answers"),
        (Run { feature: Some("OTHER".into()), ..good() }, "no run of `PT-003`'s tests is recorded"),
    ] {
        assert_eq!(missing(&[run], &now), what);
    }
    let answered = Run { tests: None, output: Some(OutputSeen::of(r#"{"data": [{"id": 1}]}"#)), ..good() };
    assert!(judge_evidence(&feature(), &[answered], &now, None).is_accepted());
    let data = Run { tests: None, data: seen("out.json", None), ..good() };
    assert!(judge_evidence(&feature(), &[data], &now, None).is_accepted());
}

#[test]
fn a_change_after_the_run_makes_it_worthless() {
    assert_eq!(missing(&[good()], &files(101, "x")), "`src/a.py` changed after the run of `pytest -q`");
    let again = Run { id: "run-2".into(), at: at(200), ..good() };
    assert_eq!(judge_evidence(&feature(), &[good(), again], &files(101, "x"), None), Verdict::Accepted { run: "run-2".into() });
}

#[test]
fn bytes_decide_where_they_are_known_and_not_the_date() {
    let known = Run { tree: files(50, "x"), ..good() };
    assert!(
        judge_evidence(&feature(), std::slice::from_ref(&known), &files(500, "x"), None).is_accepted(),
        "a checkout made it look newer"
    );
    assert!(missing(&[known], &files(10, "y")).contains("changed after"), "a backdated change");
    let late = Run { tree: files(150, "x"), ..good() };
    assert!(missing(&[late], &files(150, "x")).contains("changed after"), "changed before it was recorded, after it ran");
}

#[test]
fn a_file_that_is_listed_and_not_there_shows_nothing() {
    assert_eq!(missing(&[good()], &FileStates::from([("src/a.py".to_owned(), None)])), "`PT-003` lists `src/a.py`, which is not there");
    assert!(missing(&[good()], &FileStates::new()).contains("not there"));
}

#[test]
fn without_files_the_run_must_be_newer_than_the_code_was_reported() {
    let feature = Feature { files: Vec::new(), ..feature() };
    assert!(!judge_evidence(&feature, &[good()], &FileStates::new(), Some(at(150))).is_accepted());
    assert!(judge_evidence(&feature, &[good()], &FileStates::new(), Some(at(90))).is_accepted());
}

fn failed(id: &str, at_ms: i64) -> Run {
    Run { id: id.into(), at: at(at_ms), exit_code: Some(1), tests: Some(TestCounts { run: 3, passed: 2, failed: 1 }), ..good() }
}

fn suite(family: &str, named: &[&str]) -> Vec<Suite> {
    let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
    vec![Suite::new("here", Some(family), [String::new()].into(), &named)]
}

#[test]
fn a_run_that_passed_counts_for_nothing_once_the_same_tests_failed() {
    let now = files(50, "x");
    let says = missing(&[good(), failed("run-2", 200)], &now);
    assert!(
        says.starts_with("1 of 3 tests failed in `pytest -q`") && says.ends_with("that `pytest -q` passed before shows nothing any more"),
        "{says}"
    );
    // Passed again, it counts again.
    let again = Run { id: "run-3".into(), at: at(300), ..good() };
    let verdict = judge_evidence(&feature(), &[good(), failed("run-2", 200), again], &now, None);
    assert_eq!(verdict, Verdict::Accepted { run: "run-3".into() });
    // A failure that is told late is as old as it was.
    assert!(judge_evidence(&feature(), &[good(), failed("run-2", 90)], &now, None).is_accepted());
    // What never began, or tests nothing, failed no test.
    let unfound = Run { exit_code: Some(127), tests: Some(TestCounts::default()), ..failed("run-2", 200) };
    assert!(judge_evidence(&feature(), &[good(), unfound], &now, None).is_accepted());
}

#[test]
fn only_a_failure_of_the_same_tests_unseats_a_run() {
    let now = files(50, "x");
    let passed = Run { suites: suite("python", &["tests/a.py"]), ..good() };
    for (family, named, unseats) in [
        ("python", &[][..], true),
        ("python", &["tests"], true),
        ("python", &["tests/a.py"], true),
        ("python", &["tests/b.py"], false),
        ("cargo", &[], false),
    ] {
        let later = Run { command: "another".into(), suites: suite(family, named), ..failed("run-2", 200) };
        let verdict = judge_evidence(&feature(), &[passed.clone(), later], &now, None);
        assert_eq!(verdict.is_accepted(), !unseats, "{family} {named:?}");
    }
    let elsewhere = vec![Suite { tree: "another worktree".into(), ..suite("python", &[])[0].clone() }];
    let later = Run { suites: elsewhere, ..failed("run-2", 200) };
    assert!(judge_evidence(&feature(), &[passed, later], &now, None).is_accepted());
}

#[test]
fn a_word_does_not_outweigh_what_the_host_saw_on_the_same_files() {
    let seen = |run: Run| Run { source: RunSource::Captured, tree: files(50, "x"), ..run };
    let word = Run { id: "run-9".into(), at: at(300), ..good() };
    let says = missing(&[seen(failed("run-2", 200)), word.clone()], &files(50, "x"));
    assert!(says.contains("as the host saw"), "{says}");
    // That the files changed since makes the word no better; that the host saw them pass behind a pipe does.
    assert!(!judge_evidence(&feature(), &[seen(failed("run-2", 200)), word.clone()], &files(250, "y"), None).is_accepted());
    let piped = seen(Run { at: at(250), exit_code: None, ..good() });
    assert!(judge_evidence(&feature(), &[seen(failed("run-2", 200)), piped, word], &files(50, "x"), None).is_accepted());
}

#[test]
fn tests_reported_failed_must_be_run_again() {
    let report = AttemptReport { at: at(150), feature: "PT-003".into(), outcome: "failed".into(), ..AttemptReport::default() };
    let remembered = |runs| Remembered { runs, reports: vec![report.clone()], ..Remembered::default() };
    let judge = |runs| crate::workflow::judge_evidence(&feature(), &remembered(runs), &files(50, "x"));
    assert!(!judge(vec![good()]).is_accepted());
    assert!(judge(vec![good(), Run { at: at(200), ..good() }]).is_accepted());
}

#[test]
fn a_feature_that_was_reopened_needs_a_run_since() {
    let report = AttemptReport { at: at(150), feature: "PT-003".into(), outcome: "reopened".into(), ..AttemptReport::default() };
    let judge = |runs| {
        let remembered = Remembered { runs, reports: vec![report.clone()], ..Remembered::default() };
        crate::workflow::judge_evidence(&feature(), &remembered, &files(50, "x"))
    };
    let Verdict::Missing { what, .. } = judge(vec![good()]) else { panic!("an old run was accepted") };
    assert!(what.starts_with("it was reopened at") && what.ends_with("after the run of `pytest -q`"), "{what}");
    assert!(judge(vec![good(), Run { at: at(200), ..good() }]).is_accepted());
}

#[test]
fn what_comes_with_a_report_is_judged_before_anything_older() {
    let judge = |given: Run, older: &[Run], now: &FileStates| {
        let runs =
            older.iter().cloned().chain([Run { id: "given".into(), at: at(200), feature: Some("PT-003".into()), ..given }]).collect();
        let remembered = Remembered { runs, ..Remembered::default() };
        match crate::workflow::evidence::judge_given(&feature(), &remembered, now, Some("given")) {
            Verdict::Accepted { run } => run,
            Verdict::Missing { what, .. } => what,
        }
    };
    let now = files(50, "x");
    let none = Run { tests: Some(TestCounts::default()), ..good() };
    let hollow = Run { tests: None, output: Some(OutputSeen::of("[]")), ..good() };
    for (given, says) in [(none, "`pytest -q` ran no test"), (hollow, "the response of `pytest -q` is empty")] {
        assert_eq!(judge(given.clone(), &[good()], &now), says, "a good run before it changes nothing");
        assert_eq!(judge(given, &[good()], &files(150, "x")), says, "nor does a stale one");
    }
    // A word that leaves it open is borne out by what was seen.
    let bare = Run { exit_code: None, tests: None, ..good() };
    assert_eq!(judge(bare.clone(), &[good()], &now), "run-1");
    assert_eq!(judge(bare, &[good()], &files(150, "x")), "nobody knows how `pytest -q` ended");
    assert_eq!(judge(good(), &[], &now), "given");
}
