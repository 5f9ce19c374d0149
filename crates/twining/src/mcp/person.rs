//! Asking the person behind the client, where it lets us: their word, not the
//! model's, is what confirms.
//!
//! A client of the handshake era is sent a request of our own and answers it; a
//! stateless one is told what is missing and calls again with the answer.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ElicitRequest, ElicitRequestParams, ErrorData, InputRequiredResult, InputResponses, ServerRequest};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::problem::Problem;

/// Under this name a stateless client gives the answer.
const ASKED: &str = "confirm";
/// A person may be at lunch; the agent goes on without them.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// What came of asking.
pub enum Heard {
    /// The person said so.
    Yes,
    /// They said no.
    No,
    /// Nobody answered.
    Nothing,
    /// The client is to ask, and to call again.
    Asked(InputRequiredResult),
}

/// Whether the client can put a question to a person.
pub fn can_be_asked(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|client| client.elicitation.is_some())
}

/// Asks; `answers` are what a stateless client brought along.
pub async fn ask(context: &RequestContext<RoleServer>, answers: Option<&InputResponses>, question: &str) -> Result<Heard, ErrorData> {
    let field = json!({"type": "boolean", "title": "Do it", "description": "Yes: it is done in your name. No: nothing changes."});
    let schema = json!({"type": "object", "properties": {ASKED: field}, "required": [ASKED]});
    let params = json!({"mode": "form", "message": question, "requestedSchema": schema});
    if context.meta.protocol_version().is_some_and(|version| !version.has_initialize()) {
        return match answers.and_then(|answers| answers.get(ASKED)) {
            Some(answer) => Ok(heard(answer)),
            None => {
                let requests = json!({ASKED: {"method": "elicitation/create", "params": params}});
                Ok(Heard::Asked(InputRequiredResult::new(Some(made(requests)?), None)))
            }
        };
    }
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(made::<ElicitRequestParams>(params)?));
    // A client that cannot ask after all leaves the call as it would be without it.
    let answer = tokio::time::timeout(PATIENCE, context.peer.send_request(request)).await.ok().and_then(Result::ok);
    Ok(answer.and_then(|answer| serde_json::to_value(answer).ok()).map_or(Heard::Nothing, |answer| heard(&answer)))
}

/// What a model is told whose user said no.
pub fn declined() -> Problem {
    Problem::unavailable("DECLINED", "the user was asked and declined: nothing was changed").with_hint("ask them what they want instead")
}

fn heard(answer: &Value) -> Heard {
    match (answer["action"].as_str(), answer["content"][ASKED].as_bool()) {
        (Some("accept"), Some(true)) => Heard::Yes,
        (Some("accept"), Some(false)) | (Some("decline"), _) => Heard::No,
        _ => Heard::Nothing,
    }
}

fn made<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_confirms() {
        let told = |answer: Value| match heard(&answer) {
            Heard::Yes => "yes",
            Heard::No => "no",
            _ => "nothing",
        };
        assert_eq!(told(json!({"action": "accept", "content": {"confirm": true}})), "yes");
        assert_eq!(told(json!({"action": "accept", "content": {"confirm": false}})), "no");
        assert_eq!(told(json!({"action": "decline"})), "no");
        for odd in [
            json!({"action": "cancel"}),
            json!({"action": "accept"}),
            json!({"action": "accept", "content": {"confirm": "true"}}),
            json!(5),
        ] {
            assert_eq!(told(odd.clone()), "nothing", "{odd}");
        }
    }
}
