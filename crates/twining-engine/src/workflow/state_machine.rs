//! The state machine of a feature: maps status and event to the new status. Unlisted transitions
//! are refused, naming the next possible step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::words;

use crate::failure::Failure;
use crate::workflow::feature::FeatureStatus;

/// A feature's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureState {
    /// Its status.
    pub status: FeatureStatus,
    /// Tests that failed since it was last opened.
    pub retries: u32,
}

words! {
    /// What happened to a feature, by the word it is reported with.
    pub enum FeatureEvent {
        /// Someone began.
        Started = "started",
        /// The code is there.
        Completed = "completed",
        /// It was shown to work, by evidence that was accepted.
        Passed = "passed",
        /// It was shown not to.
        Failed = "failed",
        /// Whoever is at it cannot go on.
        GaveUp = "blocked",
        /// It is to be worked on again, from the beginning.
        Reopened = "reopened",
    }
}

/// Takes one step. `max_test_failures` counts after the failure.
pub fn advance(
    id: &str,
    at: FeatureState,
    event: FeatureEvent,
    max_test_failures: u32,
) -> Result<FeatureState, Failure> {
    use FeatureStatus::{Blocked, Completed, InProgress, Pending, Tested};
    let to = |status| Ok(FeatureState { status, ..at });
    match (at.status, event) {
        (Pending | InProgress, FeatureEvent::Started) => to(InProgress),
        // Finished work was started, whether or not that was reported.
        (Pending | InProgress | Completed, FeatureEvent::Completed) => to(Completed),
        (Completed | Tested, FeatureEvent::Passed) => to(Tested),
        (Completed | Tested, FeatureEvent::Failed) => {
            let retries = at.retries.saturating_add(1);
            Ok(FeatureState {
                status: if retries >= max_test_failures { Blocked } else { InProgress },
                retries,
            })
        }
        (Pending | InProgress | Completed, FeatureEvent::GaveUp) => to(Blocked),
        (_, FeatureEvent::Reopened) => Ok(FeatureState::default()),
        (status, event) => Err(out_of_step(id, status, event)),
    }
}

fn out_of_step(id: &str, status: FeatureStatus, event: FeatureEvent) -> Failure {
    let (why, next_step) = match (status, event) {
        (FeatureStatus::Blocked, _) => ("it is blocked and waits for a person", reopen(id)),
        (FeatureStatus::Tested, FeatureEvent::GaveUp) => {
            ("a tested feature cannot be blocked", reopen(id))
        }
        (FeatureStatus::Tested, _) => ("it must be reopened before more work", reopen(id)),
        (FeatureStatus::Completed, _) => (
            "its code is finished and waits for its tests",
            format!(
                "report `{id}` as passed or failed in the role tester, with the run as evidence"
            ),
        ),
        (FeatureStatus::Pending, _) => (
            "work on it has not started",
            format!(
                "report `{id}` as started in the role coder, build it, then report it as completed"
            ),
        ),
        (FeatureStatus::InProgress, _) => (
            "its code has not been reported as completed",
            format!("report `{id}` as completed in the role coder, then test it"),
        ),
    };
    Failure::OutOfStep { why: format!("`{id}` is {}: {why}", status.as_str()), next_step }
}

fn reopen(id: &str) -> String {
    format!(
        "to work on it again, report `{id}` as reopened with a reason; otherwise call twining_next"
    )
}

/// The event that leads a feature to a status, for callers that set the status directly. A status
/// more than one step away is refused.
pub fn event_towards(
    id: &str,
    from: FeatureStatus,
    to: FeatureStatus,
) -> Result<FeatureEvent, Failure> {
    use FeatureStatus::{Blocked, Completed, InProgress, Pending, Tested};
    match (from, to) {
        (_, Pending) => Ok(FeatureEvent::Reopened),
        (Pending | InProgress, InProgress) => Ok(FeatureEvent::Started),
        (InProgress | Completed, Completed) => Ok(FeatureEvent::Completed),
        (Completed | Tested, Tested) => Ok(FeatureEvent::Passed),
        (Pending | InProgress | Completed, Blocked) => Ok(FeatureEvent::GaveUp),
        (Pending, Completed) | (_, Tested) => Err(out_of_step(id, from, FeatureEvent::Passed)),
        (from, _) => Err(out_of_step(id, from, FeatureEvent::Started)),
    }
}
