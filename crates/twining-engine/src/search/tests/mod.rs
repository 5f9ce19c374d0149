//! Search as its users see it: what is found, by what, and what never gets lost.

mod filters;
mod finding;
mod vectors;

use crate::testing::Project;
use crate::{Engine, PostInput, QueryInput, QueryOutcome};

/// What the engine answers to a question.
fn ask(engine: &Engine, question: &str) -> QueryOutcome {
    engine.query(&QueryInput { query: question.into(), ..QueryInput::default() }).expect("searches")
}

/// The summaries of what was found, best first.
fn found(outcome: &QueryOutcome) -> Vec<&str> {
    outcome.results.iter().map(|hit| hit.entry.summary.as_str()).collect()
}

/// A blackboard with one entry about sessions, and others about something else.
fn about_sessions(project: &Project) {
    project.post("finding", "users are logged out when their session token expires");
    project.post("finding", "the release notes are generated from commit messages");
    project.post("warning", "deleting a tenant leaves its invoices behind");
}

/// A question that shares no word with the entry about sessions.
const LOGGED_OUT: &str = "why are people kicked off the website";

fn finding(summary: &str) -> PostInput {
    PostInput { entry_type: "finding".into(), summary: summary.into(), ..PostInput::default() }
}
