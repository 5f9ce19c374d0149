//! The steps a feature takes: where it stands and what happened in, where it
//! stands then out. What is not listed is refused, with the step that would be next.

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

/// Takes one step. `max_test_failures` counts after the failure.
pub fn advance(id: &str, at: Standing, event: Event, max_test_failures: u32) -> Result<Standing, Failure> {
    use Status::{Blocked, Completed, InProgress, Pending, Tested};
    let to = |status| Ok(Standing { status, ..at });
    match (at.status, event) {
        (Pending | InProgress, Event::Started) => to(InProgress),
        // Work that is finished was begun, whether or not somebody said so.
        (Pending | InProgress | Completed, Event::Completed) => to(Completed),
        (Completed | Tested, Event::Passed) => to(Tested),
        (Completed | Tested, Event::Failed) => {
            let retries = at.retries.saturating_add(1);
            Ok(Standing { status: if retries >= max_test_failures { Blocked } else { InProgress }, retries })
        }
        (Pending | InProgress | Completed, Event::GaveUp) => to(Blocked),
        (_, Event::Reopened) => Ok(Standing::default()),
        (status, event) => Err(out_of_step(id, status, event)),
    }
}

fn out_of_step(id: &str, status: Status, event: Event) -> Failure {
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
    Failure::OutOfStep { why: format!("`{id}` is {}: {why}", status.as_str()), next_step }
}

fn reopen(id: &str) -> String {
    format!("if it is to be worked on again, report `{id}` as reopened with a reason; else call twining_next")
}

/// The event that would bring a feature to a status, for whoever sets the status
/// itself. A status that is more than one step away is refused.
pub fn event_towards(id: &str, from: Status, to: Status) -> Result<Event, Failure> {
    use Status::{Blocked, Completed, InProgress, Pending, Tested};
    match (from, to) {
        (_, Pending) => Ok(Event::Reopened),
        (Pending | InProgress, InProgress) => Ok(Event::Started),
        (InProgress | Completed, Completed) => Ok(Event::Completed),
        (Completed | Tested, Tested) => Ok(Event::Passed),
        (Pending | InProgress | Completed, Blocked) => Ok(Event::GaveUp),
        (Pending, Completed) | (_, Tested) => Err(out_of_step(id, from, Event::Passed)),
        (from, _) => Err(out_of_step(id, from, Event::Started)),
    }
}
