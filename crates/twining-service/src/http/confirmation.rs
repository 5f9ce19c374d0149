//! Asks the person who holds a token, and knows their answer again on any node.
//!
//! A client of the era without sessions gets the question with a `requestState`, and calls again
//! with both. What comes back is whatever the caller likes; so the state is sealed over the
//! principal, the repository, the tool and its arguments, is good for five minutes, and is used
//! once. Whatever does not fit leaves the call what it is without: a claim.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, InputRequiredResult, RequestStateCodec, SealOptions};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::access::AdmittedRequest;
use crate::database::{Database, random_bytes};
use crate::error::ServiceError;
use crate::principal::{PrincipalKind, RemoteCaller};

/// Under this name the client gives the answer, and the form its field.
const REQUEST: &str = "confirm";
/// How long an answer may take.
const GOOD_FOR: Duration = Duration::from_secs(5 * 60);

/// What the person said.
pub(super) enum Confirmation {
    /// Yes, to a question of ours about this very call.
    Given,
    /// No.
    Declined,
    /// Nothing that counts.
    Missing,
}

/// Whether there is a person behind the token, and a client that can ask them.
pub(super) fn can_be_asked(
    context: &RequestContext<RoleServer>,
    admitted: &AdmittedRequest,
) -> bool {
    admitted.principal.kind == PrincipalKind::Person
        && context.meta.protocol_version().is_some_and(|version| !version.has_initialize())
        && context.client_capabilities().is_some_and(|client| client.elicitation.is_some())
}

/// The question, for the client to ask and to call again.
pub(super) async fn ask(
    database: &Database,
    admitted: &AdmittedRequest,
    call: &CallToolRequestParams,
    caller: &RemoteCaller,
    question: &str,
) -> Result<InputRequiredResult, ServiceError> {
    let nonce = hex(&random_bytes::<16>()?);
    let context = context_of(admitted, call, caller);
    let options = SealOptions::new().associated_data(&context).ttl(GOOD_FOR);
    let state = codec(database, admitted).await?.seal_with(nonce.as_bytes(), &options);
    let field = json!({"type": "boolean", "title": "Do it", "description": "Yes: it is done in your name. No: nothing changes."});
    let schema = json!({"type": "object", "properties": {REQUEST: field}, "required": [REQUEST]});
    let form = json!({"mode": "form", "message": question, "requestedSchema": schema});
    let requests = json!({REQUEST: {"method": "elicitation/create", "params": form}});
    let requests = serde_json::from_value(requests)
        .map_err(|error| ServiceError::Invalid(format!("the question has no form: {error}")))?;
    Ok(InputRequiredResult::new(Some(requests), Some(state)))
}

/// What an answer that came with a call says.
pub(super) async fn read(
    database: &Database,
    admitted: &AdmittedRequest,
    call: &CallToolRequestParams,
    caller: &RemoteCaller,
    answer: &Value,
) -> Result<Confirmation, ServiceError> {
    let word = &answer["content"][REQUEST];
    match (answer["action"].as_str(), word.as_bool()) {
        // To decline, anybody's word will do.
        (Some("decline"), _) | (Some("accept"), Some(false)) => return Ok(Confirmation::Declined),
        (Some("accept"), Some(true)) => {}
        _ => return Ok(Confirmation::Missing),
    }
    let Some(state) = &call.request_state else { return Ok(Confirmation::Missing) };
    let context = context_of(admitted, call, caller);
    let opened = codec(database, admitted).await?.open_with(state, &context);
    let nonce = opened.ok().and_then(|nonce| String::from_utf8(nonce).ok());
    let Some(nonce) = nonce else { return Ok(Confirmation::Missing) };
    let is_first = database.use_confirmation(&admitted.repository.tenant, &nonce).await?;
    Ok(if is_first { Confirmation::Given } else { Confirmation::Missing })
}

/// The answer of a client, if it brought one.
pub(super) fn answer_in(call: &CallToolRequestParams) -> Option<&Value> {
    call.input_responses.as_ref().and_then(|answers| answers.get(REQUEST))
}

async fn codec(
    database: &Database,
    admitted: &AdmittedRequest,
) -> Result<RequestStateCodec, ServiceError> {
    let key = database.seal_key(&admitted.repository.tenant).await?;
    RequestStateCodec::try_new(key)
        .map_err(|error| ServiceError::Schema(format!("a tenant's key cannot be used: {error}")))
}

/// What an answer is good for: who asked, where, and what about. Each part has a length of its
/// own in front, so that no two calls are written alike.
fn context_of(
    admitted: &AdmittedRequest,
    call: &CallToolRequestParams,
    caller: &RemoteCaller,
) -> Vec<u8> {
    let mut arguments = Value::Object(call.arguments.clone().unwrap_or_default());
    // A client may send them in another order.
    arguments.sort_all_objects();
    let arguments = hex(&Sha256::digest(arguments.to_string()));
    let parts = [
        admitted.principal.token_id.as_str(),
        admitted.repository.tenant.as_str(),
        admitted.repository.id.as_str(),
        &call.name,
        &arguments,
        caller.root.as_deref().unwrap_or_default(),
    ];
    parts.iter().flat_map(|part| format!("{}:{part}", part.len()).into_bytes()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
