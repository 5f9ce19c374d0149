//! The server with the suite's fixtures beside its own tools.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, ClientCapabilities, CompleteRequestParams,
    CompleteResult, DiscoverResult, ElicitRequest, ElicitRequestParams, ErrorData,
    GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    Prompt, ReadResourceRequestParams, ReadResourceResponse, RequestStateCodec, Resource,
    ResourceTemplate, ServerCapabilities, ServerConfig, ServerRequest, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::BoxError;
use crate::answers::{self, complete, made, text};
use crate::rounds;

/// What is listed, as the suite wants to find it.
const LISTED: &str = include_str!("listed.json");
/// Pause between steps of a tool that reports progress.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
struct FixtureList {
    capabilities: ServerCapabilities,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
}

/// What a fixture says has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListChange {
    Tools,
    Prompts,
}

/// The product's server and the fixtures.
#[derive(Clone)]
pub(crate) struct Fixtures<P> {
    product: P,
    listed: Arc<FixtureList>,
    codec: Arc<RequestStateCodec>,
    changes: broadcast::Sender<ListChange>,
    sessions: Arc<LocalSessionManager>,
}

impl<P: ServerHandler> Fixtures<P> {
    /// Fixtures with a key of their own.
    pub(crate) fn new(product: P, sessions: Arc<LocalSessionManager>) -> Result<Self, BoxError> {
        let mut key = [0_u8; 32];
        getrandom::fill(&mut key)?;
        Ok(Self {
            product,
            listed: Arc::new(serde_json::from_str(LISTED)?),
            codec: Arc::new(RequestStateCodec::try_new(key)?),
            changes: broadcast::Sender::new(16),
            sessions,
        })
    }

    async fn fixture(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        let client = context.client_capabilities();
        if let Some(answer) = answers::tool(name)
            .or_else(|| rounds::tool(name, request, client.as_ref(), &self.codec))
        {
            return answer;
        }
        let argument = |name: &str| {
            request
                .arguments
                .as_ref()
                .and_then(|fields| fields.get(name)?.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        match name {
            "test_tool_with_logging" => {
                for step in
                    ["Tool execution started", "Tool processing data", "Tool execution completed"]
                {
                    log(context, step).await?;
                    tokio::time::sleep(PAUSE).await;
                }
                text("logged")
            }
            "test_logging_tool" => {
                if context.meta.log_level().is_some() {
                    log(context, "log message, as requested").await?;
                }
                text("logged, if requested")
            }
            "test_tool_with_progress" => {
                for done in [0.0, 50.0, 100.0] {
                    if let Some(token) = context.meta.get_progress_token() {
                        context
                            .peer
                            .notify_progress(
                                ProgressNotificationParam::new(token, done).with_total(100.0),
                            )
                            .await
                            .map_err(lost)?;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                text("done")
            }
            "test_sampling" => sampled(context, &argument("prompt")).await,
            "test_elicitation" => {
                let field = |about: &str| json!({"type": "string", "description": about});
                let fields = json!({"username": field("User's response"), "email": field("User's email address")});
                let schema = json!({"type": "object", "properties": fields, "required": ["username", "email"]});
                elicited(context, &argument("message"), schema).await
            }
            "test_elicitation_sep1034_defaults" => {
                elicited(context, "Please look these over", defaults()).await
            }
            "test_elicitation_sep1330_enums" => elicited(context, "Please choose", choices()).await,
            "test_reconnection" => {
                self.disconnect(context).await;
                tokio::time::sleep(PAUSE * 2).await;
                text("answered after the stream was closed")
            }
            "test_trigger_tool_change" => self.tell(ListChange::Tools),
            "test_trigger_prompt_change" => self.tell(ListChange::Prompts),
            "test_missing_capability"
                if client.as_ref().is_none_or(|client| client.sampling.is_none()) =>
            {
                Err(ErrorData::missing_required_client_capability(made::<ClientCapabilities>(
                    json!({"sampling": {}}),
                )?))
            }
            "test_missing_capability" => text("the client supports sampling"),
            _ => Err(ErrorData::invalid_params(format!("there is no tool `{name}` here"), None)),
        }
    }

    /// Closes the stream this request is answered on; its client comes back for
    /// the answer.
    async fn disconnect(&self, context: &RequestContext<RoleServer>) {
        let Some(parts) = context.extensions.get::<axum::http::request::Parts>() else { return };
        let Some(id) = parts.headers.get("mcp-session-id").and_then(|id| id.to_str().ok()) else {
            return;
        };
        let sessions = self.sessions.sessions.read().await;
        if let Some(session) = sessions.get(id) {
            // A stream that is gone already needs no closing.
            let _ = session.close_sse_stream(0, Some(PAUSE * 10)).await;
        }
    }

    fn tell(&self, changed: ListChange) -> Result<CallToolResponse, ErrorData> {
        // Nobody has to listen.
        let _ = self.changes.send(changed);
        text("told")
    }
}

fn lost(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

#[expect(deprecated, reason = "the suite still asks for logging in protocols up to 2025-11-25")]
async fn log(context: &RequestContext<RoleServer>, message: &str) -> Result<(), ErrorData> {
    context
        .peer
        .notify_logging_message(made(
            json!({"level": "info", "logger": "fixtures", "data": message}),
        )?)
        .await
        .map_err(lost)
}

#[expect(deprecated, reason = "the suite still asks for sampling in protocols up to 2025-11-25")]
async fn sampled(
    context: &RequestContext<RoleServer>,
    prompt: &str,
) -> Result<CallToolResponse, ErrorData> {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let result = context
        .peer
        .create_message(made(json!({"messages": [message], "maxTokens": 100}))?)
        .await
        .map_err(lost)?;
    let result = serde_json::to_value(result).map_err(lost)?;
    text(&format!("LLM response: {}", result["content"]["text"].as_str().unwrap_or_default()))
}

async fn elicited(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
) -> Result<CallToolResponse, ErrorData> {
    let asked: ElicitRequestParams =
        made(json!({"mode": "form", "message": message, "requestedSchema": schema}))?;
    let answer = context
        .peer
        .send_request(ServerRequest::ElicitRequest(ElicitRequest::new(asked)))
        .await
        .map_err(lost)?;
    let result = serde_json::to_value(answer).map_err(lost)?;
    text(&format!(
        "User response: action={}, content={}",
        result["action"].as_str().unwrap_or_default(),
        result["content"]
    ))
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn choices() -> Value {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = |what: &str| {
        let each = ["First", "Second", "Third"].into_iter().zip(1..);
        each.map(|(nth, n)| json!({"const": format!("value{n}"), "title": format!("{nth} {what}")}))
            .collect::<Vec<_>>()
    };
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled("Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
    }})
}

impl<P: ServerHandler> ServerHandler for Fixtures<P> {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.product.get_info();
        info.capabilities = self.listed.capabilities.clone();
        info
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.product.list_tools(page, context).await?;
        listed.tools.extend(self.listed.tools.iter().cloned());
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.listed.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.get_tool(&request.name).is_some() {
            return self.fixture(&request, &context).await;
        }
        self.product.call_tool(request, context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.listed.prompts.clone())
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            let Some(context) =
                rounds::filled(request.input_responses.as_ref(), "user_context", "context")
                    .and_then(Value::as_str)
            else {
                let asked =
                    rounds::elicit("What context should the prompt use?", "context", "string");
                return rounds::ask([("user_context", asked)], None)
                    .map(GetPromptResponse::InputRequired);
            };
            let message = json!({"role": "user", "content": {"type": "text", "text": format!("Use this context: {context}")}});
            return complete(json!({"messages": [message]})).map(GetPromptResponse::Complete);
        }
        answers::prompt(&request.name, &Value::Object(request.arguments.unwrap_or_default()))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.listed.resources.clone())
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(self.listed.templates.clone())
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        answers::resource(&request.uri)
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    #[expect(deprecated, reason = "the suite still asks for logging in protocols up to 2025-11-25")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        complete(
            json!({"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": false}}),
        )
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let changed = tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                changed = changes.recv() => changed,
            };
            let sink = subscription.sink();
            // What this listener did not ask for, the sink refuses.
            let _ = match changed {
                Ok(ListChange::Tools) => sink.notify_tool_list_changed().await,
                Ok(ListChange::Prompts) => sink.notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
        }
    }
}
