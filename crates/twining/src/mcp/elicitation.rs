//! Asks the person behind the client, if it supports that: their answer, not the model's, confirms.
//!
//! A handshake-era client receives a request and answers it; a stateless one receives the question
//! and calls again with the answer. Either way the answer carries a nonce of the question as its
//! field name. A nonce is valid once, on this connection, for the call it was made for, and for an
//! hour: an answer to a question that was never asked confirms nothing.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ErrorData, InputRequiredResult,
    ServerRequest,
};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};
use twining_model::{Time, World};

use crate::render::command_error::CommandError;
use crate::system_world::SystemWorld;

/// Under this name a stateless client gives the answer.
const REQUEST: &str = "confirm";
/// A person may be at lunch; the agent goes on without them.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long a stateless client may take to come back with the answer.
const EXPIRY_MS: i64 = 60 * 60 * 1000;
/// Questions that wait for an answer, of one connection: the newest.
const MOST_OPEN: usize = 32;

/// What came of asking.
#[derive(Debug)]
pub(super) enum PersonAnswer {
    /// The person confirmed it.
    Yes,
    /// They declined.
    No,
    /// Nobody answered, or not to a question of ours.
    Missing,
    /// The client is to ask, and to call again.
    Pending(InputRequiredResult),
}

/// The questions of one connection that no answer has come to yet.
#[derive(Default)]
pub(super) struct PendingQuestions(Mutex<Vec<PendingQuestion>>);

struct PendingQuestion {
    nonce: String,
    tool: String,
    arguments: Option<Map<String, Value>>,
    asked: Time,
}

impl PendingQuestions {
    /// Opens a question about this call: its nonce.
    fn open(&self, call: &CallToolRequestParams, nonce: String, now: Time) -> String {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let surplus = (open.len() + 1).saturating_sub(MOST_OPEN);
        open.drain(..surplus);
        open.push(PendingQuestion {
            nonce: nonce.clone(),
            tool: call.name.to_string(),
            arguments: call.arguments.clone(),
            asked: now,
        });
        nonce
    }

    /// The nonce that an answer carries, if it was opened for this very call. It is
    /// closed by that, whatever the call was.
    fn close(&self, call: &CallToolRequestParams, answer: &Value, now: Time) -> Option<String> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let named =
            open.iter().position(|question| answer["content"].get(&question.nonce).is_some())?;
        let question = open.remove(named);
        let is_same = question.tool == call.name && question.arguments == call.arguments;
        (is_same && now.as_ms() - question.asked.as_ms() < EXPIRY_MS).then_some(question.nonce)
    }
}

/// Whether the client can put a question to a person.
pub(super) fn can_be_asked(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|client| client.elicitation.is_some())
}

/// Asks about a call, or takes the answer that a stateless client brought along.
pub(super) async fn ask(
    context: &RequestContext<RoleServer>,
    open: &PendingQuestions,
    call: &CallToolRequestParams,
    question: &str,
) -> Result<PersonAnswer, ErrorData> {
    let nonce = format!("{REQUEST}_{:032x}", SystemWorld.random());
    if context.meta.protocol_version().is_some_and(|version| !version.has_initialize()) {
        if let Some(answer) = call.input_responses.as_ref().and_then(|answers| answers.get(REQUEST))
        {
            let nonce = open.close(call, answer, SystemWorld.now());
            return Ok(read(answer, nonce.as_deref()));
        }
        let nonce = open.open(call, nonce, SystemWorld.now());
        let requests =
            json!({REQUEST: {"method": "elicitation/create", "params": form(question, &nonce)}});
        return Ok(PersonAnswer::Pending(InputRequiredResult::new(Some(parsed(requests)?), None)));
    }
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(parsed::<ElicitRequestParams>(
        form(question, &nonce),
    )?));
    // A client that cannot ask after all leaves the call as it would be without it.
    let answer = tokio::time::timeout(TIMEOUT, context.peer.send_request(request))
        .await
        .ok()
        .and_then(Result::ok);
    Ok(answer
        .and_then(|answer| serde_json::to_value(answer).ok())
        .map_or(PersonAnswer::Missing, |answer| read(&answer, Some(&nonce))))
}

/// Error for a model whose user declined.
pub(crate) fn declined() -> CommandError {
    CommandError::unavailable("DECLINED", "the user was asked and declined: nothing was changed")
        .with_hint("ask them what they want instead")
}

fn form(question: &str, nonce: &str) -> Value {
    let field = json!({"type": "boolean", "title": "Do it", "description": "Yes: it is done in your name. No: nothing changes."});
    let schema = json!({"type": "object", "properties": {nonce: field}, "required": [nonce]});
    json!({"mode": "form", "message": question, "requestedSchema": schema})
}

/// Reads an answer. Only a question's own nonce confirms; to decline, anybody's word will do.
fn read(answer: &Value, nonce: Option<&str>) -> PersonAnswer {
    let content = answer["content"].as_object();
    match answer["action"].as_str() {
        Some("accept")
            if content
                .is_some_and(|fields| fields.values().any(|value| *value == json!(false))) =>
        {
            PersonAnswer::No
        }
        Some("accept") if nonce.is_some_and(|nonce| answer["content"][nonce] == json!(true)) => {
            PersonAnswer::Yes
        }
        Some("decline") => PersonAnswer::No,
        _ => PersonAnswer::Missing,
    }
}

fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

#[cfg(test)]
mod tests {
    use crate::mcp::elicitation::*;
    use twining_testcases::each;

    fn name(answer: &PersonAnswer) -> &'static str {
        match answer {
            PersonAnswer::Yes => "yes",
            PersonAnswer::No => "no",
            PersonAnswer::Missing => "missing",
            PersonAnswer::Pending(_) => "pending",
        }
    }

    #[test]
    fn only_a_plain_yes_to_our_own_question_confirms() {
        let answer_name = |answer: Value| name(&read(&answer, Some("confirm_7")));
        assert_eq!(answer_name(json!({"action": "accept", "content": {"confirm_7": true}})), "yes");
        assert_eq!(answer_name(json!({"action": "accept", "content": {"confirm_7": false}})), "no");
        assert_eq!(answer_name(json!({"action": "decline"})), "no");
        each(
            [
                json!({"action": "cancel"}),
                json!({"action": "accept"}),
                json!({"action": "accept", "content": {"confirm": true}}),
                json!({"action": "accept", "content": {"confirm_8": true}}),
                json!({"action": "accept", "content": {"confirm_7": "true"}}),
                json!(5),
            ],
            |invalid| {
                assert_eq!(answer_name(invalid.clone()), "missing", "{invalid}");
            },
        );
        assert_eq!(
            name(&read(&json!({"action": "accept", "content": {"confirm_7": true}}), None)),
            "missing"
        );
    }

    fn call(reason: &str) -> CallToolRequestParams {
        let Value::Object(arguments) = json!({"decision_id": "d-1", "reason": reason}) else {
            unreachable!("it is an object")
        };
        CallToolRequestParams::new("twining_override").with_arguments(arguments)
    }

    #[test]
    fn a_question_is_answered_once_and_in_time() {
        let yes = json!({"action": "accept", "content": {"n-1": true}});
        let (asked, late) = (Time::from_ms(0), Time::from_ms(EXPIRY_MS));
        let open = PendingQuestions::default();
        assert_eq!(open.close(&call("a"), &yes, asked), None, "nobody asked");
        open.open(&call("a"), "n-1".into(), asked);
        assert_eq!(open.close(&call("a"), &yes, asked).as_deref(), Some("n-1"));
        assert_eq!(open.close(&call("a"), &yes, asked), None, "answered before");
        open.open(&call("a"), "n-1".into(), asked);
        assert_eq!(open.close(&call("a"), &yes, late), None, "too late");
    }

    #[test]
    fn an_answer_about_another_call_is_used_up() {
        let yes = json!({"action": "accept", "content": {"n-1": true}});
        let open = PendingQuestions::default();
        open.open(&call("a"), "n-1".into(), Time::from_ms(0));
        assert_eq!(open.close(&call("b"), &yes, Time::from_ms(1)), None);
        assert_eq!(open.close(&call("a"), &yes, Time::from_ms(1)), None);
    }
}
