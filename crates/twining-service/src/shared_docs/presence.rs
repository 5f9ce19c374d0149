//! Who is at work is shared by all nodes as one document, and not in the log, because it expires.
//! A node adds whom it has seen, and brings its folder up to date before it is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{Change, limits};
use twining_store::{Durability, Store};

use crate::database::{Database, DocRow, RepositoryRow};
use crate::error::ServiceError;
use crate::repositories::OpenRepository;

/// The document's name.
const PRESENCE: &str = "presence";
/// How often it is tried again because another node was quicker.
const TRIES: usize = 5;

/// When agents last called: `at` of each, and what else is said of the call.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct LastCalls {
    #[serde(default)]
    agents: BTreeMap<String, BTreeMap<String, Value>>,
}

impl LastCalls {
    fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Of each agent the later call; of very many agents those that called last.
    fn merged(mut self, other: Self) -> Self {
        let at = |call: &BTreeMap<String, Value>| {
            call.get("at").and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        for (agent, call) in other.agents {
            let is_later = self.agents.get(&agent).is_none_or(|known| at(known) < at(&call));
            if is_later {
                self.agents.insert(agent, call);
            }
        }
        let surplus = self.agents.len().saturating_sub(limits::PRESENCE);
        let mut by_time: Vec<_> =
            self.agents.iter().map(|(agent, call)| (at(call), agent.clone())).collect();
        by_time.sort();
        for (_, agent) in by_time.into_iter().take(surplus) {
            self.agents.remove(&agent);
        }
        self
    }

    fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// Brings the folder up to date with whom other nodes have seen. Waits: only for threads that may
/// block.
pub(crate) fn take_over(
    database: &Database,
    open: &OpenRepository,
    repository: &RepositoryRow,
) -> Result<(), ServiceError> {
    let doc = database.wait(database.read_doc(&repository.tenant, &repository.id, PRESENCE))?;
    let Some(doc) = doc else { return Ok(()) };
    let store = open.memory.store();
    let ours = LastCalls::read(&in_folder(store)?);
    let all = ours.clone().merged(LastCalls::read(&doc.body));
    if all != ours {
        let change = Change { presence: Some(all.to_text()), ..Change::default() };
        store.write(Durability::Normal, &change)?;
    }
    Ok(())
}

/// Adds whom this node has seen, if that is news. Nobody waits for it, and what fails is tried
/// again after the next call.
pub(crate) fn share(database: &Database, open: &Arc<OpenRepository>, repository: &RepositoryRow) {
    let store = open.memory.store();
    if !open.is_news(store.local_state().presence_notes()) {
        return;
    }
    let Ok(seen) = in_folder(store) else { return open.forget_news() };
    let (database, repository) = (database.clone(), repository.clone());
    let open = Arc::downgrade(open);
    database.clone().spawn(async move {
        for _ in 0..TRIES {
            if matches!(add(&database, &repository, &seen).await, Ok(true)) {
                return;
            }
        }
        if let Some(open) = open.upgrade() {
            open.forget_news();
        }
    });
}

/// Whether it is there; not if another node was quicker.
async fn add(
    database: &Database,
    repository: &RepositoryRow,
    seen: &str,
) -> Result<bool, ServiceError> {
    let RepositoryRow { tenant, id, .. } = repository;
    let doc = database.read_doc(tenant, id, PRESENCE).await?;
    let (version, known) = doc.map_or((0, String::new()), |doc| (doc.version, doc.body));
    let body = LastCalls::read(&known).merged(LastCalls::read(seen)).to_text();
    if body == known {
        return Ok(true);
    }
    let doc = DocRow { version, by: "node".to_owned(), body };
    Ok(database.replace_doc(tenant, id, PRESENCE, &doc).await?.is_some())
}

fn in_folder(store: &Store) -> Result<String, ServiceError> {
    let bytes = store.documents().presence()?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_agent_the_later_call_counts() {
        let calls = |text: &str| LastCalls::read(text);
        let here = r#"{"agents":{"ada":{"at":"2026-11-01T10:00:00.000Z","session":"a"},"bob":{"at":"2026-11-01T10:00:00.000Z"}}}"#;
        let there = r#"{"agents":{"ada":{"at":"2026-11-01T11:00:00.000Z","session":"b"},"bob":{"at":"2026-11-01T09:00:00.000Z"},"eve":{"at":"2026-11-01T08:00:00.000Z"}}}"#;
        let all = r#"{"agents":{"ada":{"at":"2026-11-01T11:00:00.000Z","session":"b"},"bob":{"at":"2026-11-01T10:00:00.000Z"},"eve":{"at":"2026-11-01T08:00:00.000Z"}}}"#;
        assert_eq!(calls(here).merged(calls(there)), calls(all));
        assert_eq!(calls(there).merged(calls(here)), calls(all));
        assert_eq!(calls("no JSON").merged(calls(all)).to_text(), format!("{all}\n"));
    }
}
