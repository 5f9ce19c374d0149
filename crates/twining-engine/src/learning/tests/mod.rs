//! What is learnt from traces, and what must not be.

mod guards;
mod patterns;
mod tally;
mod traces;

use twining_model::{Change, Channel, Origin, TraceType, Trust};
use twining_store::Durability;

use crate::learning::{ObservedTrace, RecordedCall};
use crate::testing::Project;
use crate::{Caller, StoreTraceInput, UserPolicy};
use twining_guard::{Evaluation, GuardEvent, Verdict, action};

/// An agent in a session of its own.
fn agent_in(session: &str) -> Caller {
    let origin =
        Origin { session: Some(session.to_owned()), ..Origin::new(Channel::Mcp, Trust::Agent) };
    Caller { agent: "coder".to_owned(), origin }
}

/// An agent's report after being reprimanded for pushing.
fn pushed() -> StoreTraceInput {
    StoreTraceInput {
        kind: "correction".to_owned(),
        what_happened: "pushed to main".to_owned(),
        what_was_correct: Some("people push".to_owned()),
        why: Some("main is released from".to_owned()),
        action: Some("Bash: git push".to_owned()),
        ..StoreTraceInput::default()
    }
}

fn report(project: &Project, session: &str, input: &StoreTraceInput) -> String {
    project.clock.advance_ms(1);
    project.engine.store_trace(&agent_in(session), input).expect("stores").id
}

/// What the hook records when a guard fires.
fn seen(project: &Project, change: impl FnOnce(&mut ObservedTrace<'_>)) {
    project.clock.advance_ms(1);
    let mut seen = ObservedTrace {
        kind: TraceType::Violation,
        source: "enforcement_hook",
        guard: None,
        action: "Bash: git push".to_owned(),
        what_happened: "git push origin main".to_owned(),
        what_was_correct: String::new(),
        why: "it pushes `main`, 3 commits".to_owned(),
        blocked: false,
        guessed: false,
        call: None,
    };
    change(&mut seen);
    let store = project.engine.store();
    let origin = Origin { via: Channel::Hook, ..agent_in("s-1").origin };
    let trace =
        seen.into_trace(store.ids().next().into(), &store.ids().now().to_string(), "coder", origin);
    let change = Change { traces: vec![trace], ..Change::default() };
    store.write(Durability::Normal, &change).expect("stores");
}

/// A call that the hook recorded.
fn call(project: &Project, tool: &str, input: &serde_json::Value) -> String {
    let store = project.engine.store();
    let event = GuardEvent::of_tool(tool, action(tool, input), "/p");
    let judged = Evaluation { verdict: Verdict::Off, findings: Vec::new(), unread: Vec::new() };
    let id: String = store.ids().next().into();
    let line = RecordedCall::of(id.clone(), store.ids().now(), "s-1", "/p", &event, &judged)
        .to_line()
        .expect("fits");
    store.local_state().record_call(&line).expect("records");
    id
}

#[test]
fn a_recorded_call_keeps_no_secret() {
    let token = format!("{}{}", "gh", "p_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX");
    let project = Project::new();
    project.engine.store().installation().prepare().expect("makes the folder");
    call(
        &project,
        "Bash",
        &serde_json::json!({"command": format!("curl -H 'Authorization: Bearer {token}' https://x")}),
    );
    call(
        &project,
        "Write",
        &serde_json::json!({"file_path": "a", "content": format!("{token}{}", " x".repeat(200_000))}),
    );
    let lines = project.engine.store().local_state().calls().expect("reads");
    assert!(
        lines.len() == 2 && lines[0].contains("curl -H") && !lines.concat().contains(&token),
        "{lines:?}"
    );
}
