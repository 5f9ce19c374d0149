//! MCP over Streamable HTTP, in both eras of the protocol and without sessions, unless a node was
//! started with them: any node answers any request. The tools are the program's; the role and the repository come from the door.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, DiscoverResult, ErrorData, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use twining_model::{Id, Time, text};

use super::access::AdmittedRequest;
use super::api_error::ApiError;
use super::confirmation::{self, Confirmation};
use super::keyed_calls::{self, MAX_KEY, META_KEY, line_key_of};
use super::router::{ServiceState, read_body};
use crate::database::RepositoryRow;
use crate::error::ServiceError;
use crate::principal::{AccessRole, RemoteCaller, acting_as};
use crate::repositories::OpenRepository;
use crate::shared_docs::{claims, presence};

/// The largest body of a call.
const MAX_BYTES: usize = 1024 * 1024;
/// How long a client may keep the list of tools: it changes only when the program does.
const FRESH_MS: u64 = 5 * 60 * 1000;
/// Names the project's folder on the caller's machine.
const ROOT: &str = "twining-root";
/// The longest such name.
const MAX_ROOT: usize = 1024;
/// What the SDK puts in for a client that did not say its name in this request.
const SDK_NAME: &str = "rmcp";
/// More than it says when it refuses a request.
const REFUSAL_BYTES: usize = 4096;

/// The tools that a program offers over HTTP.
pub trait ToolCatalog: Send + Sync + 'static {
    /// What the server says of itself.
    fn server_config(&self) -> ServerConfig;

    /// Every tool, sorted by name. The same for every token.
    fn tools(&self) -> Vec<Tool>;

    /// What a call of a tool with these arguments takes; none if there is no such tool.
    fn access(&self, tool: &str, arguments: &Map<String, Value>) -> Option<ToolAccess>;

    /// The answer to a call that was carried out.
    fn answered(&self, answer: Value) -> CallToolResult;

    /// The answer to a call that the role does not allow.
    fn forbidden(&self, has: AccessRole, needs: AccessRole) -> CallToolResult;

    /// The answer to a call that the person declined.
    fn declined(&self) -> CallToolResult;

    /// The answer to a call that could not be carried out now.
    fn unavailable(&self, error: &ServiceError) -> CallToolResult;
}

/// What a call of a tool takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolAccess {
    /// What is called, for the log and the metrics.
    pub verb: &'static str,
    /// The role it needs.
    pub role: AccessRole,
    /// Whether it only reads.
    pub reads: bool,
    /// Whether it looks at claims or changes them: those are in no log.
    pub uses_claims: bool,
    /// Whether a person may have to be asked first.
    pub asks: bool,
}

/// How a call goes on after a person was to be asked.
enum AskedCall {
    /// It is carried out, confirmed or not.
    Run { confirmed: bool },
    /// It is answered: with the question, or because they declined.
    Answer(Box<CallToolResponse>),
}

/// The protocol's own server.
pub(super) type McpService = StreamableHttpService<McpEndpoint, LocalSessionManager>;

/// What answers calls; one for each request.
#[derive(Clone)]
pub(super) struct McpEndpoint {
    state: Arc<ServiceState>,
    tools: Arc<Vec<Tool>>,
}

/// Says that a call could not be carried out now, to whoever puts the status on the answer.
#[derive(Clone, Default)]
struct Unavailable(Arc<OnceLock<()>>);

/// The protocol's server for these repositories.
pub(super) fn service(state: &Arc<ServiceState>) -> McpService {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(state.sessions.are_on())
        .with_json_response(true)
        .with_allowed_hosts(state.hosts.names().iter().cloned())
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BYTES);
    let endpoint = McpEndpoint { state: Arc::clone(state), tools: Arc::new(state.tools.tools()) };
    StreamableHttpService::new(
        move || Ok(endpoint.clone()),
        Arc::clone(&state.sessions.manager),
        config,
    )
}

/// Answers a request that was let in.
pub(super) async fn answer(
    state: &ServiceState,
    mcp: &McpService,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    let admitted = parts.extensions.get::<AdmittedRequest>().cloned();
    let admitted = admitted.ok_or_else(ApiError::not_found)?;
    state.sessions.admit(&parts.headers, &admitted).await?;
    let body = if parts.method == Method::POST {
        Body::from(read_body(body, MAX_BYTES).await?)
    } else {
        Body::empty()
    };
    let unavailable = Unavailable::default();
    parts.extensions.insert(unavailable.clone());
    let mut response = mcp.handle(Request::from_parts(parts, body)).await.map(Body::new);
    if unavailable.0.get().is_some() {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    state.sessions.note(response.headers(), &admitted).await;
    let is_text = |kind: &HeaderValue| kind.as_bytes().starts_with(b"text/plain");
    // What says which methods there are is left as it is.
    if response.status().is_client_error()
        && response.status() != StatusCode::METHOD_NOT_ALLOWED
        && response.headers().get(header::CONTENT_TYPE).is_none_or(is_text)
    {
        return Err(refusal_of(response).await);
    }
    Ok(response)
}

/// What the SDK says in plain text of a request that is not of the protocol, in our form.
async fn refusal_of(response: Response) -> ApiError {
    let status = response.status();
    let said = axum::body::to_bytes(response.into_body(), REFUSAL_BYTES).await.unwrap_or_default();
    ApiError::not_of_protocol(status, &text::excerpt(&String::from_utf8_lossy(&said), 300))
}

impl McpEndpoint {
    async fn call(
        &self,
        request: CallToolRequestParams,
        access: ToolAccess,
        caller: RemoteCaller,
        key: Option<Id>,
        admitted: &AdmittedRequest,
    ) -> Result<CallToolResult, ServiceError> {
        let _alone = match access.uses_claims && !access.reads {
            true => Some(self.state.claims.lock().await),
            false => None,
        };
        if key.is_none()
            && !access.reads
            && !access.uses_claims
            && let Some(result) = self.call_without_thread(&request, &caller, admitted).await
        {
            return Ok(result);
        }
        let (state, runtime) = (Arc::clone(&self.state), Handle::current());
        let repository = admitted.repository.clone();
        let call = move || {
            acting_as(&caller.principal, || {
                let open = state.repositories.get(&repository.tenant, &repository.id)?;
                let arguments = request.arguments.unwrap_or_default();
                let run = || open.memory.call(&request.name, arguments.clone(), &caller);
                let result = match (access.reads, access.uses_claims) {
                    (true, _) => read(&state, &runtime, &open, &repository, access, run),
                    (false, true) => {
                        claims::change(&state.database, &runtime, &open, &caller, &repository, run)
                    }
                    (false, false) => match &key {
                        Some(key) => keyed_calls::once(&state, key, &open, &repository, run),
                        None => Ok(run()),
                    },
                };
                presence::share(&state.database, &open, &repository);
                result
            })
        };
        let tenant = &admitted.repository.tenant;
        let outcome = self.state.calls.run(tenant, call).await;
        outcome.unwrap_or_else(|_| Err(ServiceError::Unreachable("the call was cut off".into())))
    }

    /// Carries out a call right here, if all it waits for is the commit of a line.
    async fn call_without_thread(
        &self,
        request: &CallToolRequestParams,
        caller: &RemoteCaller,
        admitted: &AdmittedRequest,
    ) -> Option<CallToolResult> {
        let AdmittedRequest { repository, .. } = admitted;
        let open = self.state.repositories.opened(&repository.tenant, &repository.id)?;
        let arguments = request.arguments.as_ref()?;
        let result = open.call_without_thread(&request.name, arguments, caller).await?;
        presence::share(&self.state.database, &open, repository);
        Some(result)
    }

    /// Asks the person behind the token, or takes the answer that the call brought along.
    async fn confirm(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        caller: &RemoteCaller,
        admitted: &AdmittedRequest,
    ) -> AskedCall {
        let complete = |result| AskedCall::Answer(Box::new(CallToolResponse::Complete(result)));
        let unavailable = |error: ServiceError| complete(self.state.tools.unavailable(&error));
        if !confirmation::can_be_asked(context, admitted) {
            return AskedCall::Run { confirmed: false };
        }
        let database = &self.state.database;
        if let Some(answer) = confirmation::answer_in(request) {
            let read = confirmation::read(database, admitted, request, caller, answer).await;
            return match read {
                Ok(Confirmation::Given) => AskedCall::Run { confirmed: true },
                Ok(Confirmation::Missing) => AskedCall::Run { confirmed: false },
                Ok(Confirmation::Declined) => complete(self.state.tools.declined()),
                Err(error) => unavailable(error),
            };
        }
        let question = match self.question(request, caller, admitted).await {
            Ok(Some(question)) => question,
            Ok(None) => return AskedCall::Run { confirmed: false },
            Err(error) => return unavailable(error),
        };
        let asked = confirmation::ask(database, admitted, request, caller, &question).await;
        match asked {
            Ok(asked) => AskedCall::Answer(Box::new(CallToolResponse::InputRequired(asked))),
            Err(error) => unavailable(error),
        }
    }

    async fn question(
        &self,
        request: &CallToolRequestParams,
        caller: &RemoteCaller,
        admitted: &AdmittedRequest,
    ) -> Result<Option<String>, ServiceError> {
        let (state, repository) = (Arc::clone(&self.state), admitted.repository.clone());
        let (request, caller) = (request.clone(), caller.clone());
        let question = move || {
            let open = state.repositories.get(&repository.tenant, &repository.id)?;
            open.catch_up()?;
            let arguments = request.arguments.unwrap_or_default();
            Ok(open.memory.question(&request.name, arguments, &caller))
        };
        let outcome = self.state.calls.run(&admitted.repository.tenant, question).await;
        outcome.unwrap_or_else(|_| Err(ServiceError::Unreachable("the call was cut off".into())))
    }

    /// Notes a call that a role did not allow, and every one that a maintainer made.
    async fn audit(&self, admitted: &AdmittedRequest, access: ToolAccess, outcome: &str) {
        let entry = admitted.audit_entry(access.verb, outcome);
        if self.state.database.audit(&entry).await.is_err() {
            self.state.log.event("an audit entry could not be written");
        }
    }
}

/// Runs a verb that reads, on everything that was acknowledged before.
fn read(
    state: &ServiceState,
    runtime: &Handle,
    open: &OpenRepository,
    repository: &RepositoryRow,
    access: ToolAccess,
    run: impl Fn() -> CallToolResult,
) -> Result<CallToolResult, ServiceError> {
    let is_current = open.catch_up().and_then(|()| {
        if access.uses_claims {
            claims::take_over(&state.database, runtime, open, repository)?;
            presence::take_over(&state.database, open, repository)?;
        }
        Ok(())
    });
    match is_current {
        Ok(()) => Ok(run()),
        // Without the database the folder still answers, and says as of when.
        Err(error) if error.is_temporary() => Ok(with_as_of(&*state.tools, run(), open.as_of()?)),
        Err(error) => Err(error),
    }
}

/// An answer that says until when the folder had every line.
fn with_as_of(
    tools: &dyn ToolCatalog,
    result: CallToolResult,
    as_of: Option<Time>,
) -> CallToolResult {
    match &result.structured_content {
        Some(Value::Object(answer)) if result.is_error != Some(true) => {
            let mut answer = answer.clone();
            let as_of = as_of.map_or_else(|| "unknown".to_owned(), |at| at.to_string());
            answer.insert("as_of".to_owned(), Value::String(as_of));
            tools.answered(Value::Object(answer))
        }
        _ => result,
    }
}

/// What a call came to, in a word.
fn outcome_of(result: &CallToolResult) -> &'static str {
    let code = result.structured_content.as_ref().and_then(|answer| answer["code"].as_str());
    match (result.is_error, code) {
        (Some(true), Some("LOG_ERROR")) => "unavailable",
        (Some(true), _) => "error",
        _ => "ok",
    }
}

impl ServerHandler for McpEndpoint {
    fn get_info(&self) -> ServerConfig {
        self.state.tools.server_config()
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec())
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let since = Instant::now();
        let parts = context.extensions.get::<Parts>();
        let Some((parts, admitted)) =
            parts.and_then(|parts| Some((parts, parts.extensions.get::<AdmittedRequest>()?)))
        else {
            return Err(ErrorData::internal_error("the request was not let in", None));
        };
        let empty = Map::new();
        let arguments = request.arguments.as_ref().unwrap_or(&empty);
        let Some(access) = self.state.tools.access(&request.name, arguments) else {
            let name = text::excerpt(&request.name, 80);
            let message = format!("there is no tool `{name}` here; tools/list names them");
            return Err(ErrorData::invalid_params(message, None));
        };
        let key = match context.meta.get(META_KEY) {
            None => None,
            Some(Value::String(key)) if (1..=MAX_KEY).contains(&key.len()) => {
                Some(line_key_of(key, &admitted.principal, access.verb))
            }
            Some(_) => {
                let message = format!("`{META_KEY}` must be a text of 1 to {MAX_KEY} bytes");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let root = parts.headers.get(ROOT).and_then(|root| root.to_str().ok());
        let mut caller = RemoteCaller {
            principal: admitted.principal.clone(),
            role: admitted.role,
            client: context
                .client_info()
                .filter(|client| client.name != SDK_NAME)
                .map(|client| text::excerpt(&client.name, 80)),
            root: root.filter(|root| root.len() <= MAX_ROOT).map(str::to_owned),
            confirmed: false,
        };
        if access.asks && admitted.role >= access.role {
            match self.confirm(&request, &context, &caller, admitted).await {
                AskedCall::Run { confirmed } => caller.confirmed = confirmed,
                AskedCall::Answer(answer) => {
                    admitted.note.called(access.verb, "asked");
                    self.state.metrics.called(access.verb, "asked", since.elapsed());
                    return Ok(*answer);
                }
            }
        }
        let confirmed = caller.confirmed;
        let result = if admitted.role < access.role {
            self.state.tools.forbidden(admitted.role, access.role)
        } else {
            let called = self.call(request, access, caller, key, admitted).await;
            called.unwrap_or_else(|error| self.state.tools.unavailable(&error))
        };
        let outcome = match admitted.role < access.role {
            true => "forbidden",
            false => outcome_of(&result),
        };
        if outcome == "unavailable"
            && let Some(status) = parts.extensions.get::<Unavailable>()
        {
            let _ = status.0.set(());
        }
        if outcome == "forbidden" || access.role >= AccessRole::Maintainer {
            let outcome = if confirmed && outcome == "ok" { "confirmed" } else { outcome };
            self.audit(admitted, access, outcome).await;
        }
        admitted.note.called(access.verb, outcome);
        self.state.metrics.called(access.verb, outcome, since.elapsed());
        Ok(CallToolResponse::Complete(result))
    }

    // rmcp answers these with empty lists; we do not offer them and say so.

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }
}
