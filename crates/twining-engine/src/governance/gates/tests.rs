use twining_store::TextFile;
use twining_testcases::each;

use super::*;
use crate::governance::policy::{GovernancePolicy, UserPolicy};
use crate::governance::reports::ReportRead;
use crate::input_types::TestCountsInput;

fn defaults() -> GovernancePolicy {
    GovernancePolicy::resolve(&UserPolicy::default(), &TextFile::Missing)
}

fn outcome(task_type: &str, complexity: i64) -> GatesOutcome {
    gates(&defaults(), &GatesInput { task_type: task_type.into(), complexity }).expect("answers")
}

/// Architecture, coverage and tests of a profile, as a table has them.
fn bar(task_type: &str, complexity: i64) -> (Option<u8>, Option<String>, bool) {
    let profile = outcome(task_type, complexity).profile;
    (
        profile.arch_review_threshold,
        profile.coverage_threshold.map(|share| share.to_string()),
        profile.tests_required,
    )
}

fn judged(task_type: &str, complexity: i64, input: &CheckGatesInput) -> CheckGatesOutcome {
    let GatesOutcome { profile, notes, .. } = outcome(task_type, complexity);
    let measured = GateMeasurements::of(input, &[]).expect("makes sense");
    check(profile, measured, Vec::new(), notes)
}

fn results(run: u64, passed: u64, failed: u64, coverage: f64, arch: f64) -> CheckGatesInput {
    CheckGatesInput {
        results: GateResultsInput {
            tests: TestCountsInput { run: Some(run), passed: Some(passed), failed: Some(failed) },
            coverage: Some(coverage),
            arch_score: Some(arch),
        },
        ..CheckGatesInput::default()
    }
}

fn counted(tests: TestCountsInput) -> CheckGatesInput {
    CheckGatesInput {
        results: GateResultsInput { tests, ..GateResultsInput::default() },
        ..CheckGatesInput::default()
    }
}

fn standings(checked: &CheckGatesOutcome) -> Vec<(&str, GateStatus)> {
    checked.gates.iter().map(|gate| (gate.gate, gate.standing)).collect()
}

#[test]
fn each_task_meets_its_bar() {
    let share = |share: &str| Some(share.to_owned());
    each(
        [
            ("feature", 1, (Some(50), share("70%"), true)),
            ("feature", 3, (Some(50), share("70%"), true)),
            ("feature", 5, (Some(60), share("80%"), true)),
            ("feature", 7, (Some(70), share("85%"), true)),
            ("feature", 10, (Some(70), share("85%"), true)),
            ("testing", 2, (None, share("90%"), true)),
            ("testing", 9, (None, share("90%"), true)),
            ("documentation", 5, (None, None, false)),
            ("scaffolding", 8, (None, None, false)),
        ],
        |(task_type, complexity, expected)| {
            assert_eq!(bar(task_type, complexity), expected, "{task_type} {complexity}");
        },
    );
    assert_eq!(outcome("feature", 5).profile.id, "QG-feature-4-6");
    assert!(outcome("feature", 5).profile.tests_must_pass);
}

#[test]
fn words_in_use_are_understood_and_unknown_ones_are_the_strict_one() {
    each(
        [
            ("Bug-Fix", "feature"),
            ("bugfix", "feature"),
            ("enhancement", "feature"),
            ("refactor", "feature"),
            ("benchmark", "testing"),
            ("docs", "documentation"),
            ("research", "documentation"),
        ],
        |(word, known)| {
            let outcome = outcome(word, 5);
            assert_eq!((outcome.task_type.as_str(), outcome.notes.len()), (known, 0), "{word}");
        },
    );
    for unknown in ["", "operator_handoff", "dto", "config", "\u{1b}[31m"] {
        let outcome = outcome(unknown, 5);
        assert_eq!(
            (outcome.task_type.as_str(), outcome.notes.len()),
            ("feature", 1),
            "{unknown:?}"
        );
        assert!(!outcome.notes[0].contains('\u{1b}'));
    }
    for (complexity, taken) in [(0, 1), (11, 10), (-5, 1), (i64::MAX, 10)] {
        let outcome = outcome("feature", complexity);
        assert_eq!((outcome.complexity, outcome.notes.len()), (taken, 1));
    }
}

#[test]
fn everything_met_is_approved() {
    let checked = judged("feature", 5, &results(10, 10, 0, 80.0, 60.0));
    assert_eq!(
        standings(&checked),
        [
            ("tests", GateStatus::Pass),
            ("coverage", GateStatus::Pass),
            ("architecture", GateStatus::Pass)
        ]
    );
    assert!(checked.approved && checked.overall == GateStatus::Pass);
    assert!(
        checked
            .gates
            .iter()
            .all(|gate| gate.evidence == GateEvidence::Claimed && gate.next.is_none())
    );
}

#[test]
fn zero_failed_of_zero_run_is_not_a_pass() {
    let checked = judged("feature", 5, &results(0, 0, 0, 0.9, 90.0));
    assert_eq!((checked.gates[0].standing, checked.approved), (GateStatus::Unknown, false));
    assert_eq!(checked.gates[0].reason, "no tests ran, which does not count as a pass");
    let skipped = judged("testing", 5, &results(5, 0, 0, 0.95, 0.0));
    assert_eq!(skipped.gates[0].standing, GateStatus::Unknown);
}

#[test]
fn tests_of_which_nothing_is_said_have_not_passed() {
    let checked = judged("feature", 5, &results(10, 1, 0, 0.9, 90.0));
    assert_eq!((checked.gates[0].standing, checked.approved), (GateStatus::Unknown, false));
    assert_eq!(checked.gates[0].reason, "10 run, 1 passed, 0 failed: no result for 9");
}

#[test]
fn no_signal_is_unknown_and_neither_approves_nor_fails() {
    let checked = judged("feature", 5, &CheckGatesInput::default());
    assert_eq!(
        standings(&checked).iter().map(|(_, standing)| *standing).collect::<Vec<_>>(),
        [GateStatus::Unknown; 3]
    );
    assert_eq!((checked.overall, checked.approved), (GateStatus::Unknown, false));
    assert!(
        checked.gates.iter().all(|gate| gate.evidence == GateEvidence::None && gate.next.is_some())
    );
    assert!(checked.next.last().is_some_and(|next| next.starts_with("do not approve")));
}

#[test]
fn red_tests_fail_also_where_tests_are_not_required() {
    // A testing task was once approved with five of nine tests red.
    let testing = judged("testing", 5, &results(9, 4, 5, 0.95, 0.0));
    assert_eq!(testing.overall, GateStatus::Fail);
    let documentation = judged("documentation", 5, &results(9, 4, 5, 0.1, 0.0));
    assert_eq!(standings(&documentation), [("tests", GateStatus::Fail)]);
    assert!(
        judged("documentation", 5, &CheckGatesInput::default()).approved,
        "nothing is required and nothing failed"
    );
}

#[test]
fn a_bar_is_missed_by_a_hair_and_the_reason_shows_it() {
    let checked = judged("feature", 5, &results(10, 10, 0, 79.996, 59.5));
    assert_eq!(checked.gates[1].reason, "coverage is 79.99%, below the required 80%");
    assert_eq!(checked.gates[2].reason, "the architecture score is 59.5, below the required 60");
    assert_eq!(checked.overall, GateStatus::Fail);
}

#[test]
fn what_the_caller_says_is_held_against_the_reports() {
    let report = |passed, failed| ReportRead {
        path: "junit.xml".into(),
        tests: Some(TestCounts { run: passed + failed, passed, failed }),
        ..ReportRead::default()
    };
    let reports = [report(8, 0), report(1, 1)];
    let measured =
        GateMeasurements::of(&results(50, 50, 0, 0.9, 90.0), &reports).expect("makes sense");
    let checked = check(outcome("feature", 5).profile, measured, reports.to_vec(), Vec::new());
    assert_eq!(
        (checked.gates[0].reason.as_str(), checked.gates[0].evidence),
        ("10 run, 9 passed, 1 failed", GateEvidence::Report)
    );
    assert_eq!((checked.overall, checked.notes.len()), (GateStatus::Fail, 1));
}

#[test]
fn a_report_that_cannot_be_read_keeps_a_task_from_approval() {
    let reports = [ReportRead {
        path: "gone.xml".into(),
        problem: Some("does not exist".into()),
        ..ReportRead::default()
    }];
    let measured =
        GateMeasurements::of(&results(10, 10, 0, 0.9, 90.0), &reports).expect("makes sense");
    let checked = check(outcome("feature", 5).profile, measured, reports.to_vec(), Vec::new());
    assert_eq!(
        checked.gates.last().map(|gate| (gate.gate, gate.reason.as_str())),
        Some(("reports", "`gone.xml` does not exist"))
    );
    assert_eq!((checked.overall, checked.approved), (GateStatus::Unknown, false));
}

#[test]
fn counts_that_make_no_sense_are_refused_by_name() {
    each(
        [
            ("tests", results(5, 9, 0, 0.9, 90.0)),
            ("tests", counted(TestCountsInput { passed: Some(3), ..TestCountsInput::default() })),
            ("tests", counted(TestCountsInput { run: Some(3), ..TestCountsInput::default() })),
            ("coverage", results(1, 1, 0, 140.0, 90.0)),
            ("coverage", results(1, 1, 0, -0.1, 90.0)),
            ("arch_score", results(1, 1, 0, 0.9, 101.0)),
            ("arch_score", results(1, 1, 0, 0.9, f64::NAN)),
        ],
        |(field, input)| {
            let refused = GateMeasurements::of(&input, &[]).expect_err("is refused");
            assert_eq!(refused.field, field, "{refused}");
        },
    );
}
