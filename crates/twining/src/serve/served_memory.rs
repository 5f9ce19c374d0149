//! One repository's memory on a node: a project without a working tree, whose store follows the
//! team's log.

use std::path::Path;
use std::sync::Arc;

use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use twining_engine::{Caller, EmbeddingThread};
use twining_model::{Authority, Change, Channel, Origin, Trust};
use twining_service::{Memory, MemoryOpener, RemoteCaller, ServiceError};
use twining_store::{Housekeeper, Log, LogBase, LogError, NewLine, Store, StoreError};

use super::relative_paths;
use crate::mcp::{ToolSelection, failed, succeeded};
use crate::project::Project;
use crate::render::command_error::CommandError;

/// How often lines are tried again because others planned meanwhile.
const TRIES: usize = 16;

/// Opens memories on a node.
pub(super) struct ProjectOpener;

struct ServedMemory {
    project: Project,
    log: Arc<dyn Log>,
    _embedder: EmbeddingThread,
    /// Dropped last of all: it finishes what is left to do.
    _housekeeper: Housekeeper,
}

impl MemoryOpener for ProjectOpener {
    fn open(&self, folder: &Path, log: Arc<dyn Log>) -> Result<Arc<dyn Memory>, ServiceError> {
        let project = Project::served(folder)?;
        let store = project.engine.store();
        store.use_log(Arc::clone(&log));
        let housekeeper = Housekeeper::start(Arc::clone(store));
        let embedder = EmbeddingThread::start(Arc::clone(project.engine.embedding_worker()));
        Ok(Arc::new(ServedMemory { project, log, _embedder: embedder, _housekeeper: housekeeper }))
    }
}

impl Memory for ServedMemory {
    fn store(&self) -> &Store {
        self.project.engine.store()
    }

    fn call(
        &self,
        tool: &str,
        mut fields: Map<String, Value>,
        caller: &RemoteCaller,
    ) -> CallToolResult {
        let Some(verb) = ToolSelection::Remote.find(tool) else {
            return failed(&CommandError::unavailable("NOT_FOUND", "there is no such tool"));
        };
        if let Some(root) = &caller.root {
            relative_paths::relative_to(root, &mut fields);
        }
        let authority = if caller.confirmed { Authority::Confirmed } else { Authority::Claimed };
        let ctx = self.project.context(caller_of(caller), authority);
        match (verb.run)(&ctx, fields) {
            Ok(answer) => {
                self.project.engine.heartbeat(&ctx.caller);
                succeeded(answer.to_json())
            }
            Err(problem) => failed(&problem),
        }
    }

    fn admit(&self, lines: Vec<NewLine>, _caller: &RemoteCaller) -> Result<Vec<u64>, StoreError> {
        let mut numbers = Vec::with_capacity(lines.len());
        for line in lines {
            numbers.push(self.admit_line(&line)?);
        }
        Ok(numbers)
    }
}

impl ServedMemory {
    fn admit_line(&self, line: &NewLine) -> Result<u64, StoreError> {
        for _ in 0..TRIES {
            let base = if is_planned(&line.change) {
                let follower = self.store().follower();
                follower.catch_up()?;
                LogBase::At(follower.position()?)
            } else {
                LogBase::Any
            };
            match self.log.append(base, std::slice::from_ref(line)) {
                Ok(numbers) => return Ok(numbers.first().copied().unwrap_or_default()),
                Err(LogError::Behind) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(LogError::Behind.into())
    }
}

/// Whether what a change says depends on what others wrote.
fn is_planned(change: &Change) -> bool {
    !(change.decisions.is_empty()
        && change.amendments.is_empty()
        && change.archived.is_empty()
        && change.entities.is_empty()
        && change.relations.is_empty()
        && change.removed_entities.is_empty()
        && change.removed_relations.is_empty())
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
