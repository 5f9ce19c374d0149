//! Claims are shared by all nodes as one document, and not in the log, because they expire. A node
//! brings its folder up to date with the document, lets the verb change the folder, and replaces
//! the document if nobody else did meanwhile.

use rmcp::model::CallToolResult;
use serde_json::Value;
use tokio::runtime::Handle;
use twining_model::Change;
use twining_store::{Durability, Store};

use crate::database::{Database, DocRow, RepositoryRow};
use crate::error::ServiceError;
use crate::principal::RemoteCaller;
use crate::repositories::OpenRepository;

/// The document's name.
pub(crate) const CLAIMS: &str = "claims";
/// How often a claim is tried again because another node was quicker.
const TRIES: usize = 5;

/// Brings the folder up to date with the claims of all nodes: their version.
pub(crate) fn take_over(
    database: &Database,
    runtime: &Handle,
    open: &OpenRepository,
    repository: &RepositoryRow,
) -> Result<u64, ServiceError> {
    let (tenant, id) = (&repository.tenant, &repository.id);
    let Some(doc) = runtime.block_on(database.read_doc(tenant, id, CLAIMS))? else { return Ok(0) };
    let store = open.memory.store();
    if in_folder(store)? != doc.body {
        let change = Change { claims: Some(doc.body), ..Change::default() };
        store.write(Durability::Normal, &change)?;
    }
    Ok(doc.version)
}

/// Runs a verb that changes claims, and shares what it made of them.
pub(crate) fn change(
    database: &Database,
    runtime: &Handle,
    open: &OpenRepository,
    caller: &RemoteCaller,
    repository: &RepositoryRow,
    run: impl Fn() -> CallToolResult,
) -> Result<CallToolResult, ServiceError> {
    for _ in 0..TRIES {
        let version = take_over(database, runtime, open, repository)?;
        let before = in_folder(open.memory.store())?;
        let result = run();
        let body = in_folder(open.memory.store())?;
        if body == before {
            return Ok(result);
        }
        let doc = DocRow { version, by: caller.principal.name.clone(), body };
        let (tenant, id) = (&repository.tenant, &repository.id);
        if runtime.block_on(database.replace_doc(tenant, id, CLAIMS, &doc))?.is_some() {
            return Ok(result);
        }
    }
    Err(ServiceError::Unreachable("others claim and release all the time".to_owned()))
}

/// Whether a text can be everybody's claims.
pub(crate) fn is_claim_list(body: &str) -> bool {
    let list = serde_json::from_str::<Value>(body);
    list.is_ok_and(|list| list["claims"].is_array())
}

fn in_folder(store: &Store) -> Result<String, ServiceError> {
    let bytes = store.documents().claims()?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
