//! The seven rows of the table: no row asks a user anything.

use super::{list, say};
use crate::failure::Failure;
use crate::workflow::{
    FeatureEvent, FeatureState, FeatureStatus, NextAction, advance, event_towards, next,
};
use twining_testcases::each;

fn step(status: FeatureStatus, retries: u32, event: FeatureEvent) -> (FeatureStatus, u32) {
    let to = advance("F", FeatureState { status, retries }, event, 2).expect("a step");
    (to.status, to.retries)
}

#[test]
fn row_1_a_session_without_a_list_breaks_the_work_down() {
    assert_eq!(next(None).action, NextAction::Initialize);
}

#[test]
fn row_2_a_session_with_pending_features_codes() {
    let text = r#"{"features": [{"id": "F004", "tested": true, "status": "completed"}, {"id": "F005", "status": "pending"}, {"id": "F006", "status": "pending"}]}"#;
    assert_eq!(say(text), "code F005");
}

#[test]
fn row_3_finished_code_is_tested() {
    assert_eq!(
        step(FeatureStatus::InProgress, 0, FeatureEvent::Completed),
        (FeatureStatus::Completed, 0)
    );
    let nine = (1..=9)
        .map(|n| format!(r#"{{"id": "F{n}", "status": "implemented"}}"#))
        .collect::<Vec<_>>()
        .join(",");
    assert_eq!(say(&format!("[{nine}]")), "test F1");
    assert_eq!(
        say(
            r#"[{"id": "A", "status": "pending"}, {"id": "B", "status": "completed", "tested": false}]"#
        ),
        "test B"
    );
}

#[test]
fn row_4_a_passed_test_selects_the_next_feature() {
    assert_eq!(step(FeatureStatus::Completed, 0, FeatureEvent::Passed), (FeatureStatus::Tested, 0));
    assert_eq!(
        say(r#"[{"id": "A", "status": "tested"}, {"id": "B", "status": "pending"}]"#),
        "code B"
    );
}

#[test]
fn row_5_a_failed_test_resumes_the_coder() {
    assert_eq!(
        step(FeatureStatus::Completed, 0, FeatureEvent::Failed),
        (FeatureStatus::InProgress, 1)
    );
    let text = r#"[{"id": "A", "status": "in_progress", "retries": 1}, {"id": "B", "status": "completed"}]"#;
    assert_eq!(say(text), "resume A attempt 2");
}

#[test]
fn row_6_two_failed_tests_block_the_feature_and_the_next_one_begins() {
    assert_eq!(
        step(FeatureStatus::Completed, 1, FeatureEvent::Failed),
        (FeatureStatus::Blocked, 2)
    );
    assert_eq!(
        say(
            r#"[{"id": "A", "status": "blocked", "retries": 2}, {"id": "B", "status": "pending"}]"#
        ),
        "code B"
    );
}

#[test]
fn row_7_when_everything_is_tested_the_session_ends() {
    assert_eq!(say(r#"[{"id": "A", "tested": true}, {"id": "B", "status": "tested"}]"#), "done");
    assert_eq!(say(r#"{"features": [], "metadata": {"total": 0}}"#), "done");
    assert_eq!(
        say(r#"[{"id": "A", "tested": true}, {"id": "B", "status": "blocked"}]"#),
        "blocked B"
    );
}

#[test]
fn what_matters_more_goes_first_and_waits_for_what_it_needs() {
    let text = r#"[{"id": "A", "priority": "low"}, {"id": "B", "priority": "P0", "depends_on": ["C"]}, {"id": "C", "priority": 3}, {"id": "D"}]"#;
    assert_eq!(say(text), "code D");
    assert_eq!(say(&text.replace(r#"{"id": "D"}"#, r#"{"id": "D", "tested": true}"#)), "code A");
    let text = text.replace(r#""priority": 3"#, r#""priority": 3, "tested": true"#);
    assert_eq!(say(&text), "code B");
}

#[test]
fn features_that_wait_for_each_other_are_named_and_hold_up_nobody_else() {
    let text = r#"[{"id": "A", "depends_on": ["B"]}, {"id": "B", "depends_on": ["C"]}, {"id": "C", "depends_on": ["B"]}, {"id": "D", "depends_on": ["D"]}, {"id": "E"}]"#;
    let list_of = list(text);
    let shown = next(Some(&list_of));
    assert_eq!(shown.feature.map(|feature| feature.id.as_str()), Some("E"));
    assert_eq!(shown.problems, ["B -> C -> B depend on each other", "D -> D depend on each other"]);
    let stuck = list(&text.replace(r#"{"id": "E"}"#, r#"{"id": "E", "depends_on": ["nowhere"]}"#));
    let shown = next(Some(&stuck));
    assert_eq!((shown.action, shown.problems.len()), (NextAction::Blocked, 3));
    assert!(shown.why.contains("waits for"), "{}", shown.why);
}

#[test]
fn a_step_that_is_skipped_is_refused_with_the_one_that_is_due() {
    each(
        [
            (FeatureStatus::Pending, FeatureStatus::Completed, "as started"),
            (FeatureStatus::Pending, FeatureStatus::Tested, "as started"),
            (FeatureStatus::InProgress, FeatureStatus::Tested, "as completed"),
            (FeatureStatus::Blocked, FeatureStatus::InProgress, "reopened"),
            (FeatureStatus::Blocked, FeatureStatus::Tested, "reopened"),
            (FeatureStatus::Tested, FeatureStatus::Completed, "reopened"),
            (FeatureStatus::Completed, FeatureStatus::InProgress, "passed or failed"),
        ],
        |(from, to, due)| {
            let refused = event_towards("F", from, to).expect_err("skips a step");
            let Failure::OutOfStep { why, next_step } = refused else { panic!("{refused:?}") };
            assert!(next_step.contains(due), "{from:?} -> {to:?}: {next_step}");
            assert!(why.starts_with("`F` is "), "{why}");
        },
    );
    for (status, event) in [
        (FeatureStatus::Pending, FeatureEvent::Passed),
        (FeatureStatus::InProgress, FeatureEvent::Failed),
        (FeatureStatus::Blocked, FeatureEvent::Completed),
    ] {
        assert!(advance("F", FeatureState { status, retries: 0 }, event, 2).is_err());
    }
}

#[test]
fn a_feature_can_be_opened_again_from_anywhere_with_fresh_attempts() {
    each(FeatureStatus::ALL, |status| {
        assert_eq!(step(status, 2, FeatureEvent::Reopened), (FeatureStatus::Pending, 0));
    });
}
