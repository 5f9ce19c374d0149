//! Fixtures that need something of the client before they answer.
//!
//! What comes back is the client's to make up: an answer that does not fit is
//! asked for again, and a state that we did not seal is refused.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ErrorData, InputRequiredResult,
    InputResponses, RequestStateCodec,
};
use serde_json::{Map, Value, json};

use crate::answers::{made, text};

/// Asks the user for one field.
pub(crate) fn elicit(message: &str, field: &str, kind: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

fn sample(prompt: &str, tokens: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// Asks for what is listed, and has the state sent back.
pub(crate) fn ask<const N: usize>(
    requests: [(&str, Value); N],
    state: Option<String>,
) -> Result<InputRequiredResult, ErrorData> {
    let requests: Map<String, Value> =
        requests.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
    Ok(InputRequiredResult::new(Some(made(Value::Object(requests))?), state))
}

/// What the user filled in, if they did.
pub(crate) fn filled<'a>(
    responses: Option<&'a InputResponses>,
    key: &str,
    field: &str,
) -> Option<&'a Value> {
    let answer = responses?.get(key)?;
    (answer["action"] == "accept").then(|| answer["content"].get(field)).flatten()
}

/// A tool that takes more than one round.
pub(crate) fn tool(
    name: &str,
    request: &CallToolRequestParams,
    client: Option<&ClientCapabilities>,
    codec: &RequestStateCodec,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let responses = request.input_responses.as_ref();
    Some(match name {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            match filled(responses, "user_name", "name").and_then(Value::as_str) {
                Some(name) => text(&format!("Hello, {name}!")),
                None => asked(ask(
                    [("user_name", elicit("What is your name?", "name", "string"))],
                    None,
                )),
            }
        }
        "test_input_required_result_sampling" => {
            match responses.and_then(|responses| {
                responses.get("capital_question")?["content"]["text"].as_str()
            }) {
                Some(answer) => text(&format!("The model said: {answer}")),
                None => asked(ask(
                    [("capital_question", sample("What is the capital of France?", 100))],
                    None,
                )),
            }
        }
        "test_input_required_result_list_roots" => {
            match responses.and_then(|responses| responses.get("client_roots")?["roots"].as_array())
            {
                Some(roots) => text(&format!("Roots: {}", Value::Array(roots.clone()))),
                None => asked(ask([("client_roots", roots())], None)),
            }
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => confirm(request, codec),
        "test_input_required_result_multiple_inputs" => several(request, codec),
        "test_input_required_result_multi_round" => in_turn(request, codec),
        "test_input_required_result_capabilities" => {
            let can = |offered: fn(&ClientCapabilities) -> bool| client.is_some_and(offered);
            asked(
                match (
                    can(|client| client.elicitation.is_some()),
                    can(|client| client.sampling.is_some()),
                ) {
                    (true, true) => ask(
                        [
                            ("name", elicit("What is your name?", "name", "string")),
                            ("greeting", sample("Generate a greeting", 50)),
                        ],
                        None,
                    ),
                    (true, false) => {
                        ask([("name", elicit("What is your name?", "name", "string"))], None)
                    }
                    (false, true) => ask([("greeting", sample("Generate a greeting", 50))], None),
                    (false, false) => {
                        return Some(text("the client supports neither elicitation nor sampling"));
                    }
                },
            )
        }
        _ => return None,
    })
}

fn asked(result: Result<InputRequiredResult, ErrorData>) -> Result<CallToolResponse, ErrorData> {
    result.map(CallToolResponse::InputRequired)
}

/// What we sealed, opened; none if nothing came back.
fn opened(
    request: &CallToolRequestParams,
    codec: &RequestStateCodec,
) -> Result<Option<Vec<u8>>, ErrorData> {
    let refused =
        |_| ErrorData::invalid_params("the request state was not issued by this server", None);
    request.request_state.as_deref().map(|state| codec.open(state).map_err(refused)).transpose()
}

fn confirm(
    request: &CallToolRequestParams,
    codec: &RequestStateCodec,
) -> Result<CallToolResponse, ErrorData> {
    let state = opened(request, codec)?;
    match (state, filled(request.input_responses.as_ref(), "confirm", "ok")) {
        (Some(_), Some(_)) => text("state-ok"),
        _ => asked(ask(
            [("confirm", elicit("Please confirm", "ok", "boolean"))],
            Some(codec.seal(b"confirm")),
        )),
    }
}

fn several(
    request: &CallToolRequestParams,
    codec: &RequestStateCodec,
) -> Result<CallToolResponse, ErrorData> {
    let responses = request.input_responses.as_ref();
    let all = ["user_name", "greeting", "client_roots"]
        .iter()
        .all(|key| responses.is_some_and(|responses| responses.contains_key(*key)));
    match opened(request, codec)? {
        Some(_) if all => text("all three answers were received"),
        _ => asked(ask(
            [
                ("user_name", elicit("What is your name?", "name", "string")),
                ("greeting", sample("Generate a greeting", 50)),
                ("client_roots", roots()),
            ],
            Some(codec.seal(b"several")),
        )),
    }
}

fn in_turn(
    request: &CallToolRequestParams,
    codec: &RequestStateCodec,
) -> Result<CallToolResponse, ErrorData> {
    let responses = request.input_responses.as_ref();
    let state = opened(request, codec)?;
    let name = filled(responses, "step1", "name").and_then(Value::as_str);
    let color = filled(responses, "step2", "color").and_then(Value::as_str);
    match (state.as_deref(), name, color) {
        (Some(b"step1"), Some(name), _) => {
            let state = codec.seal(format!("step2 {name}").as_bytes());
            asked(ask(
                [("step2", elicit("Step 2: What is your favorite color?", "color", "string"))],
                Some(state),
            ))
        }
        (Some(state), _, Some(color)) if state.starts_with(b"step2 ") => {
            let name = String::from_utf8_lossy(&state[b"step2 ".len()..]).into_owned();
            text(&format!("{name} likes {color}"))
        }
        _ => asked(ask(
            [("step1", elicit("Step 1: What is your name?", "name", "string"))],
            Some(codec.seal(b"step1")),
        )),
    }
}
