//! What waits, and that each answer settles it.

mod answered;
mod listed;

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use twining_model::{Authority, Id};

use super::*;
use crate::governance::UserPolicy;
use crate::testing::{Project, caller, choice, person};
use crate::{DecideInput, Failure, ReconsiderInput, ReportContext};

/// A question, a need, or an agent has waited for longer than anybody should.
pub(super) const LATER_MS: i64 = 11 * 60 * 1000;

pub(super) fn ask(project: &Project, input: &WaitingInput) -> WaitingOutcome {
    let user = UserPolicy::default();
    let sources = WaitingSources { user: &user, git: None };
    project.engine.waiting(&sources, input).expect("lists")
}

pub(super) fn waiting(project: &Project) -> Vec<WaitingItem> {
    ask(project, &WaitingInput::default()).items
}

pub(super) fn kinds(project: &Project) -> Vec<WaitingKind> {
    waiting(project).iter().map(|item| item.kind).collect()
}

/// `first` is in force, `second` contradicts it, and one decision rests on `first`.
pub(super) fn contradiction(project: &Project) -> (Id, Id) {
    let jwt = DecideInput {
        constraints: vec!["must_not_use: express-session".into()],
        ..choice("architecture", "src/auth/", "Use stateless JWT")
    };
    let first = project.decide(&jwt).id;
    project.decide(&DecideInput {
        depends_on: vec![first.to_string()],
        ..choice("testing", "src/auth/", "Test with signed tokens")
    });
    project.clock.advance_ms(1);
    let sessions = choice("architecture", "src/auth/", "Use server sessions");
    let second = project.engine.decide(&caller("bob"), &sessions).expect("decides").id;
    (first, second)
}

pub(super) fn doubt(project: &Project) -> Id {
    let id = project.decide(&choice("api", "src/", "Use REST")).id;
    let input = ReconsiderInput {
        decision_id: id.to_string(),
        new_context: "traffic grew tenfold".into(),
        agent_id: None,
    };
    project.engine.reconsider(&caller("bob"), &input).expect("reconsiders");
    id
}

/// Gives an answer as the page does: its input, and the person's words in its fields.
pub(super) fn give(project: &Project, answer: &WaitingAnswer) -> Result<(), Failure> {
    project.clock.advance_ms(1);
    let mut input = answer.input.clone();
    for field in answer.field.iter().chain(&answer.reason_field) {
        input.insert(field.clone(), json!("because kim says so"));
    }
    let (engine, kim) = (&project.engine, person("kim"));
    let confirmed = Authority::Confirmed;
    match answer.verb.as_str() {
        "override" => engine.override_decision(&kim, confirmed, &read(input)).map(drop),
        "promote" => engine.promote(&kim, confirmed, &read(input)).map(drop),
        "decide" => engine.decide(&kim, &read(input)).map(drop),
        "post" => engine.post(&kim, &read(input)).map(drop),
        "dismiss" => engine.dismiss(&kim, &read(input)).map(drop),
        "claim" => engine.claim(&kim, &read(input)).map(drop),
        "acknowledge" => engine.acknowledge(&kim, &read(input)).map(drop),
        "record_turn" => engine.record_turn(&kim, &read(input)).map(drop),
        "report" => {
            engine.report(&kim, Path::new("."), &read(input), &ReportContext::default()).map(drop)
        }
        "guard_promote" => {
            let guard = input["guard"].as_str().expect("a name");
            engine.promote_guard(&kim, guard).map(drop)
        }
        verb => panic!("{verb} is not called here"),
    }
}

fn read<T: DeserializeOwned>(input: Map<String, Value>) -> T {
    serde_json::from_value(Value::Object(input)).expect("is the verb's input")
}
