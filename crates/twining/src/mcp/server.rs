//! The server: what it says of itself, its tools, and how a call is carried out.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode,
    ErrorData, Implementation, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Map, Value};
use tokio::sync::RwLock;
use twining_engine::EmbeddingThread;
use twining_model::{Authority, IdSource, InvalidInput, text};
use twining_store::Housekeeper;

use super::elicitation::{PendingQuestions, PersonAnswer};
use super::line_transport::LineTransport;
use super::tool_list::ToolSelection;
use super::{elicitation, tool_list};
use crate::link::{ServerLink, TeamLink};
use crate::project::Project;
use crate::render::command_error::CommandError;
use crate::system_world::SystemWorld;
use crate::verbs::verb::{Effect, VerbEntry};
use crate::{link, output, project};

/// Instructions that a client passes to its model.
const INSTRUCTIONS: &str = include_str!("instructions.md");
/// How long a client may keep what we say of ourselves: it changes only when
/// the program or `config.yml` does.
const FRESH_MS: u64 = 5 * 60 * 1000;

/// The instructions, without those that name a tool which is not offered.
pub(crate) fn instructions(offered: &ToolSelection) -> String {
    let lines = INSTRUCTIONS.trim_end().lines();
    lines
        .filter(|line| tools_named(line).all(|tool| offered.find(tool).is_some()))
        .collect::<Vec<_>>()
        .join("\n")
}

fn tools_named(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_lowercase() && c != '_')
        .filter(|word| word.starts_with("twining_"))
}

/// One connection's server.
#[derive(Clone)]
pub(super) struct McpServer(Arc<ServerState>);

struct ServerState {
    options: ServerOptions,
    session: String,
    project: Mutex<Option<ServedProject>>,
    selection: OnceLock<ToolSelection>,
    open_questions: PendingQuestions,
    /// Calls run in order of arrival as far as possible: reads concurrently, writes exclusively.
    /// Waiters queue first come, first served.
    order: RwLock<()>,
}

/// The project, and who keeps house in it.
struct ServedProject {
    project: Arc<Project>,
    /// The team's log, where the folder is linked, and who exchanges lines with it.
    link: Arc<ServerLink>,
    _embedder: EmbeddingThread,
    /// Dropped last of all: it finishes what is left to do.
    _housekeeper: Housekeeper,
}

impl McpServer {
    /// A server that has opened nothing yet.
    pub(super) fn new(options: ServerOptions) -> Self {
        let session = project::session_of_host().unwrap_or_else(|| {
            project::session_named(IdSource::new(Box::new(SystemWorld)).next().as_str())
        });
        let selection = options.tools.clone().map_or_else(OnceLock::new, OnceLock::from);
        Self(Arc::new(ServerState {
            options,
            session,
            project: Mutex::default(),
            selection,
            open_questions: PendingQuestions::default(),
            order: RwLock::new(()),
        }))
    }

    /// Takes in what hooks queued while no server ran.
    pub(super) fn drain_in_background(&self) {
        let state = self.0.clone();
        tokio::task::spawn_blocking(move || {
            if let Ok(project) = state.project() {
                state.link(&project);
                state.drain(&project, None);
            }
        });
    }

    /// Leaves the project, with the files as git is to track them.
    pub(super) fn leave(&self) {
        let open = self.0.project.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(open);
    }

    async fn call(
        &self,
        verb: &'static VerbEntry,
        fields: Map<String, Value>,
        client: Option<String>,
        authority: Authority,
    ) -> CallToolResult {
        let state = self.0.clone();
        let call = move || state.run_verb(verb, fields, client, authority);
        let outcome = if verb.effect == Effect::Reads {
            let _turn = self.0.order.read().await;
            tokio::task::spawn_blocking(call).await
        } else {
            let _turn = self.0.order.write().await;
            tokio::task::spawn_blocking(call).await
        };
        self.search_moved_code();
        match outcome {
            Ok(Ok(answer)) => tool_list::succeeded(answer),
            Ok(Err(problem)) => tool_list::failed(&problem),
            Err(error) => tool_list::failed(&CommandError::of_error("INTERNAL_ERROR", &error)),
        }
    }

    /// Looks for code that an answer found missing, when the answer is on its way.
    fn search_moved_code(&self) {
        let state = self.0.clone();
        tokio::task::spawn_blocking(move || {
            if let Ok(project) = state.project() {
                project.search_moved_code();
            }
        });
    }

    /// What the person behind the client is to be asked before this call, if anything.
    async fn question(
        &self,
        verb: &'static VerbEntry,
        fields: &Map<String, Value>,
    ) -> Option<String> {
        let (ask, state, fields) = (verb.question?, self.0.clone(), fields.clone());
        let question = move || {
            let project = state.project().ok()?;
            ask(&project.context(state.caller(None), Authority::Claimed), &fields)
        };
        tokio::task::spawn_blocking(question).await.ok().flatten()
    }
}

impl ServerState {
    /// The project, opened once it is needed. A failure is not kept: the folder
    /// may be mended between two calls.
    fn project(&self) -> Result<Arc<Project>, CommandError> {
        let mut slot = self.project.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*slot {
            return Ok(open.project.clone());
        }
        let project = Arc::new(Project::open(self.options.project.clone())?);
        let housekeeper = Housekeeper::start(project.engine.store().clone());
        let embedder = EmbeddingThread::start(project.engine.embedding_worker().clone());
        *slot = Some(ServedProject {
            project: project.clone(),
            link: Arc::default(),
            _embedder: embedder,
            _housekeeper: housekeeper,
        });
        Ok(project)
    }

    /// The team's log, if the folder is linked by now.
    fn link(&self, project: &Project) -> Option<TeamLink> {
        let slot = self.project.lock().unwrap_or_else(PoisonError::into_inner);
        let link = Arc::clone(&slot.as_ref()?.link);
        drop(slot);
        link.current(project.engine.store())
    }

    fn selection(&self) -> &ToolSelection {
        self.selection.get_or_init(|| {
            let mode = self
                .project()
                .ok()
                .and_then(|project| project.engine.store().config().ok())
                .map(|config| config.tools.mode);
            mode.and_then(|mode| ToolSelection::parse(&mode).ok()).unwrap_or_default()
        })
    }

    fn run_verb(
        &self,
        verb: &VerbEntry,
        fields: Map<String, Value>,
        client: Option<String>,
        authority: Authority,
    ) -> Result<Value, CommandError> {
        let project = self.project()?;
        self.drain(&project, client.clone());
        let ctx = project.context(self.caller(client), authority);
        // Also before a read: the sync worker starts with the first call after the link.
        let link = self.link(&project).filter(|_| verb.effect != Effect::Reads);
        let refused = link.as_ref().map_or(0, TeamLink::refused_count);
        let answer = match &link {
            Some(link) if link::needs_log(verb.name) => {
                link.run_online(verb.name, || (verb.run)(&ctx, fields.clone()))?
            }
            _ => (verb.run)(&ctx, fields)?,
        };
        let sent = (verb.effect != Effect::Reads)
            .then(|| link::sent_state(project.engine.store(), link.as_ref(), refused))
            .flatten();
        let answer = link::with_synced(answer.to_json(), sent.as_ref());
        // Any call is a sign of life; what it costs comes once a minute.
        project.engine.heartbeat(&ctx.caller);
        Ok(answer)
    }

    /// A queue that cannot be read now is read at the next call; `status`
    /// reports what stays behind.
    fn drain(&self, project: &Project, client: Option<String>) {
        let _ = project.engine.drain_queues(&self.caller(client), &project.history);
    }

    fn caller(&self, client: Option<String>) -> twining_engine::Caller {
        project::caller_over_mcp(self.options.agent.clone(), client, self.session.clone())
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("twining", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions(self.0.selection()))
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
        let state = self.0.clone();
        let names_only = self.0.options.names_only;
        let tools = tokio::task::spawn_blocking(move || {
            if names_only { state.selection().named() } else { state.selection().described() }
        })
        .await
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(FRESH_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(verb) = self.0.selection().find(&request.name) else {
            let name = text::excerpt(&request.name, 80);
            return Err(ErrorData::invalid_params(
                format!("there is no tool `{name}` here; tools/list names them"),
                None,
            ));
        };
        let client = context.client_info().map(|client| text::excerpt(&client.name, 80));
        let fields = request.arguments.clone().unwrap_or_default();
        let mut authority = Authority::Claimed;
        if verb.question.is_some()
            && elicitation::can_be_asked(&context)
            && let Some(question) = self.question(verb, &fields).await
        {
            authority =
                match elicitation::ask(&context, &self.0.open_questions, &request, &question)
                    .await?
                {
                    PersonAnswer::Yes => Authority::Confirmed,
                    PersonAnswer::Missing => Authority::Claimed,
                    PersonAnswer::No => {
                        return Ok(CallToolResponse::Complete(tool_list::failed(
                            &elicitation::declined(),
                        )));
                    }
                    PersonAnswer::Pending(asked) => {
                        return Ok(CallToolResponse::InputRequired(asked));
                    }
                };
        }
        Ok(CallToolResponse::Complete(self.call(verb, fields, client, authority).await))
    }

    /// Handles calls whose arguments are not an object, which arrive as custom requests; reports
    /// the error to the model like any other.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            let refused = InvalidInput::new("arguments", "must be an object")
                .because("`params` must be {\"name\": …, \"arguments\": {…}}");
            let result = serde_json::to_value(tool_list::failed(&CommandError::refused(&refused)));
            return result
                .map(CustomResult)
                .map_err(|error| ErrorData::internal_error(error.to_string(), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
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

/// How a server is started.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerOptions {
    /// `--project`.
    pub project: Option<PathBuf>,
    /// `--agent`.
    pub agent: Option<String>,
    /// `--tools`; else what `config.yml` says.
    pub tools: Option<ToolSelection>,
    /// Whether tools are listed by their names, for a transport that puts the rest in.
    pub names_only: bool,
}

/// A server with no options, for a program that serves it over another transport.
pub fn mcp_server() -> impl ServerHandler + Clone {
    McpServer::new(ServerOptions::default())
}

/// Serves until the client closes our input.
pub(crate) fn serve(options: ServerOptions) -> Result<(), CommandError> {
    let caller = crate::project::caller_over_mcp(options.agent.clone(), None, String::new());
    caller.fit().map_err(|refused| CommandError::refused(&refused))?;
    // One thread for the wire; calls run on a few others, so that a slow one
    // does not hold up the next line.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(8)
        .thread_keep_alive(Duration::from_secs(600))
        .build()
        .map_err(|error| CommandError::of_error("RUNTIME", &error))?;
    if std::io::stdin().is_terminal() {
        let hint = "twining mcp talks JSON-RPC with an MCP client on stdin and stdout; end it with ctrl-d\n";
        // Only a person would miss it.
        let _ = std::io::stderr().write_all(hint.as_bytes());
    }
    if let Err(problem) = project::find(options.project.clone()) {
        // Served all the same: every call answers it, and the folder may yet come.
        output::warn_about(&problem);
    }
    let server = McpServer::new(options);
    let ending = runtime.block_on(converse(&server));
    server.leave();
    // A read of stdin that still waits on another thread must not keep us alive.
    runtime.shutdown_background();
    ending
}

pub(super) async fn converse(server: &McpServer) -> Result<(), CommandError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    let running = match server.clone().serve(LineTransport::new(input, output)).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(CommandError::of_error("PROTOCOL", &error)),
    };
    server.drain_in_background();
    running.waiting().await.map(drop).map_err(|error| CommandError::of_error("RUNTIME", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_short_and_name_only_tools_that_exist() {
        assert!(INSTRUCTIONS.chars().count() <= 1500, "{}", INSTRUCTIONS.chars().count());
        assert_eq!(instructions(&ToolSelection::Full), INSTRUCTIONS.trim_end());
        let lite = instructions(&ToolSelection::Lite);
        assert!(lite.contains("twining_assemble") && !lite.contains("twining_override"), "{lite}");
    }
}
