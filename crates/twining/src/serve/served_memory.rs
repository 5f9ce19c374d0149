//! One repository's memory on a node: a project without a working tree, whose store follows the
//! team's log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use twining_engine::{Caller, PostInput, PostOutcome, PreparedPost, RemoteAuthor};
use twining_model::{Authority, Channel, Origin, Trust};
use twining_service::{
    AccessRole, CallStart, Memory, MemoryOpener, PrincipalKind, RemoteCaller, ServiceError,
};
use twining_store::{Log, LogBase, LogError, NewLine, Store, StoreError};

use super::background_work::{BackgroundWork, CallTimes};
use super::relative_paths;
use crate::mcp::{ToolSelection, failed, succeeded};
use crate::project::Project;
use crate::render::command_error::CommandError;
use crate::render::json_output;
use crate::verbs::verb::{Verb, read_fields};

/// The verb that most calls are.
const POST: &str = PostInput::NAME;
/// A post up to this size is planned on the thread that serves the network: it takes less time
/// than to hand it to another. A longer one would hold up others.
const SHORT_POST: usize = 16 * 1024;

/// Opens memories on a node.
pub(super) struct ProjectOpener {
    background: BackgroundWork,
}

impl ProjectOpener {
    /// Opens none yet.
    pub(super) fn new() -> Self {
        Self { background: BackgroundWork::start() }
    }
}

/// One repository's memory.
pub(super) struct ServedMemory {
    project: Project,
    /// The line of the log, plus one, up to which all records were seen to have vectors.
    embedded_through: AtomicU64,
    calls: Arc<CallTimes>,
}

impl MemoryOpener for ProjectOpener {
    fn open(&self, folder: &Path, log: Arc<dyn Log>) -> Result<Arc<dyn Memory>, ServiceError> {
        let project = Project::served(folder)?;
        let store = project.engine.store();
        store.use_log(log);
        store.stay_open();
        let calls = Arc::clone(&self.background.calls);
        let memory = Arc::new(ServedMemory { project, embedded_through: AtomicU64::new(0), calls });
        self.background.add(&memory);
        Ok(memory)
    }
}

impl ServedMemory {
    /// Makes vectors of new records while it may; whether it was told to stop before the end.
    pub(super) fn make_vectors(
        &self,
        may_go_on: &mut (dyn FnMut() -> bool + Send),
    ) -> Result<bool, StoreError> {
        let followed = self.store().follower().position()?.saturating_add(1);
        if self.embedded_through.load(Ordering::Acquire) == followed {
            return Ok(false);
        }
        let mut was_stopped = false;
        self.project.engine.embedding_worker().make_all(&mut |_| {
            was_stopped = !may_go_on();
            !was_stopped
        })?;
        if !was_stopped {
            self.embedded_through.store(followed, Ordering::Release);
        }
        Ok(was_stopped)
    }
}

impl ServedMemory {
    fn prepare_post(
        &self,
        mut fields: Map<String, Value>,
        caller: &RemoteCaller,
    ) -> Result<PreparedPost, CommandError> {
        if let Some(root) = &caller.root {
            relative_paths::relative_to(root, &mut fields);
        }
        let is_absolute = relative_paths::has_absolute(&fields);
        let input: PostInput = read_fields(Value::Object(fields))
            .map_err(|refused| CommandError::refused(&refused))?;
        let prepared = self.project.engine.prepare_post(&caller_of(caller), &input);
        prepared.map_err(|problem| naming_root(problem.into(), is_absolute))
    }
}

impl Memory for ServedMemory {
    fn store(&self) -> &Store {
        self.project.engine.store()
    }

    fn start(
        self: Arc<Self>,
        tool: &str,
        fields: &Map<String, Value>,
        caller: &RemoteCaller,
    ) -> CallStart {
        let is_post = ToolSelection::Remote.find(tool).is_some_and(|verb| verb.name == POST);
        let size: usize = fields.values().map(json_output::weight).sum();
        if !is_post || size > SHORT_POST {
            return CallStart::Waits;
        }
        self.calls.note();
        let ready = match self.prepare_post(fields.clone(), caller) {
            Ok(PreparedPost::New(ready)) => ready,
            Ok(PreparedPost::Repeats(outcome)) => return CallStart::Answered(answer_to(&outcome)),
            Err(problem) => return CallStart::Answered(failed(&problem)),
        };
        match ready.line(&self.project.engine) {
            None => CallStart::Waits,
            Some(Err(error)) => CallStart::Answered(failed(&error.into())),
            Some(Ok(line)) => {
                let finish = move |appended: Result<u64, LogError>| match appended {
                    Ok(number) => {
                        self.store().note_appended(number);
                        answer_to(&self.project.engine.posted(*ready))
                    }
                    Err(error) => failed(&StoreError::from(error).into()),
                };
                CallStart::Appends(Box::new(line), Box::new(finish))
            }
        }
    }

    fn call(
        &self,
        tool: &str,
        mut fields: Map<String, Value>,
        caller: &RemoteCaller,
    ) -> CallToolResult {
        self.calls.note();
        let Some(verb) = ToolSelection::Remote.find(tool) else {
            return failed(&CommandError::unavailable("NOT_FOUND", "there is no such tool"));
        };
        if let Some(root) = &caller.root {
            relative_paths::relative_to(root, &mut fields);
        }
        let authority = if caller.confirmed { Authority::Confirmed } else { Authority::Claimed };
        let ctx = self.project.context(caller_of(caller), authority);
        let is_absolute = relative_paths::has_absolute(&fields);
        match (verb.run)(&ctx, fields) {
            Ok(answer) => {
                self.project.engine.heartbeat(&ctx.caller);
                succeeded(answer.to_json())
            }
            Err(problem) => failed(&naming_root(problem, is_absolute)),
        }
    }

    fn question(
        &self,
        tool: &str,
        mut fields: Map<String, Value>,
        caller: &RemoteCaller,
    ) -> Option<String> {
        let ask = ToolSelection::Remote.find(tool)?.question?;
        if let Some(root) = &caller.root {
            relative_paths::relative_to(root, &mut fields);
        }
        ask(&self.project.context(caller_of(caller), Authority::Claimed), &fields)
    }

    fn append(
        &self,
        base: LogBase,
        lines: Vec<NewLine>,
        caller: &RemoteCaller,
    ) -> Result<Vec<u64>, StoreError> {
        self.project.engine.append_remote(base, &lines, &author_of(caller))
    }

    fn admit(&self, lines: Vec<NewLine>, caller: &RemoteCaller) -> Result<Vec<u64>, StoreError> {
        self.project.engine.admit(&lines, &author_of(caller))
    }
}

fn answer_to(outcome: &PostOutcome) -> CallToolResult {
    succeeded(serde_json::to_value(outcome).expect("answers have string keys"))
}

/// Says how an absolute path is understood, where an input was refused that has one.
fn naming_root(problem: CommandError, is_absolute: bool) -> CommandError {
    if !is_absolute || !problem.is_misuse() {
        return problem;
    }
    problem.with_hint(
        "give paths relative to the project, or its folder on your machine in the header `Twining-Root`",
    )
}

fn author_of(caller: &RemoteCaller) -> RemoteAuthor {
    RemoteAuthor {
        is_person: caller.principal.kind == PrincipalKind::Person,
        may_settle: caller.role >= AccessRole::Maintainer,
    }
}

/// Who calls, as records will say. A token is a session: two of one name are two callers.
fn caller_of(caller: &RemoteCaller) -> Caller {
    let origin = Origin {
        client: caller.client.clone(),
        session: Some(caller.principal.token_id.clone()),
        principal: Some(caller.principal.name.clone()),
        ..Origin::new(Channel::Http, Trust::Agent)
    };
    Caller { agent: caller.principal.name.clone(), origin }
}
