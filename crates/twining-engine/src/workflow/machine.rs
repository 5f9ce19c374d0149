//! The steps a feature takes: where it stands and what happened in, where it
//! stands then and what else is to be done out. What is not listed is refused,
//! with the step that would be next.

use crate::failure::Failure;
use crate::workflow::feature::Status;

/// Where a feature stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How far it is.
    pub status: Status,
    /// Tests that failed since it was last opened.
    pub retries: u32,
}

/// What happened to a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Someone began.
    Started,
    /// The code is there.
    Completed,
    /// It was shown to work, by evidence that was accepted.
    Passed,
    /// It was shown not to.
    Failed,
    /// Whoever is at it cannot go on.
    GaveUp,
    /// It is to be worked on again, from the beginning.
    Reopened,
}

/// What else is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell people that the feature waits for them.
    PostNeed,
}

/// A step that is not taken, and the one that would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfStep {
    /// Why not.
    pub why: String,
    /// What to do instead.
    pub next_step: String,
}

impl From<OutOfStep> for Failure {
    fn from(OutOfStep { why, next_step }: OutOfStep) -> Self {
        Self::OutOfStep { why, next_step }
    }
}

/// Takes one step. `max_test_failures` counts after the failure.
pub fn advance(id: &str, at: Standing, event: Event, max_test_failures: u32) -> Result<(Standing, Vec<Effect>), OutOfStep> {
    use Status::{Blocked, Completed, InProgress, Pending, Tested};
    let to = |status| Ok((Standing { status, ..at }, Vec::new()));
    match (at.status, event) {
        (Pending | InProgress, Event::Started) => to(InProgress),
        // Work that is finished was begun, whether or not somebody said so.
        (Pending | InProgress | Completed, Event::Completed) => to(Completed),
        (Completed | Tested, Event::Passed) => to(Tested),
        (Completed | Tested, Event::Failed) => {
            let retries = at.retries.saturating_add(1);
            let exhausted = retries >= max_test_failures;
            let status = if exhausted { Blocked } else { InProgress };
            Ok((Standing { status, retries }, if exhausted { vec![Effect::PostNeed] } else { Vec::new() }))
        }
        (Pending | InProgress | Completed, Event::GaveUp) => Ok((Standing { status: Blocked, ..at }, vec![Effect::PostNeed])),
        (_, Event::Reopened) => Ok((Standing::default(), Vec::new())),
        (status, event) => Err(out_of_step(id, status, event)),
    }
}

fn out_of_step(id: &str, status: Status, event: Event) -> OutOfStep {
    let (why, next_step) = match (status, event) {
        (Status::Blocked, _) => ("it is blocked and waits for a person", reopen(id)),
        (Status::Tested, Event::GaveUp) => ("it is tested; nothing is left to give up", reopen(id)),
        (Status::Tested, _) => ("it is tested; work on it would begin anew", reopen(id)),
        (Status::Completed, _) => (
            "its code is finished and waits for its tests",
            format!("report `{id}` as passed or failed in the role tester, with the run as evidence"),
        ),
        (Status::Pending, _) => {
            ("nobody began it", format!("report `{id}` as started in the role coder, build it, then report it as completed"))
        }
        (Status::InProgress, _) => {
            ("nobody said that its code is finished", format!("report `{id}` as completed in the role coder, then test it"))
        }
    };
    OutOfStep { why: format!("`{id}` is {}: {why}", status.as_str()), next_step }
}

fn reopen(id: &str) -> String {
    format!("if it is to be worked on again, report `{id}` as reopened with a reason; else call twining_next")
}

/// The event that would bring a feature to a status, for whoever sets the status
/// itself. A status that is more than one step away is refused.
pub fn event_towards(id: &str, from: Status, to: Status) -> Result<Event, OutOfStep> {
    use Status::{Blocked, Completed, InProgress, Pending, Tested};
    match (from, to) {
        (_, Pending) => Ok(Event::Reopened),
        (Pending | InProgress, InProgress) => Ok(Event::Started),
        (InProgress | Completed, Completed) => Ok(Event::Completed),
        (Completed | Tested, Tested) => Ok(Event::Passed),
        (Pending | InProgress | Completed, Blocked) => Ok(Event::GaveUp),
        (Pending, Completed | Tested) => Err(out_of_step(id, from, Event::Passed)),
        (from, Tested) => Err(out_of_step(id, from, Event::Passed)),
        (from, _) => Err(out_of_step(id, from, Event::Started)),
    }
}
