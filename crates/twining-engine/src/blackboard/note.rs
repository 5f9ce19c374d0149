//! Notes: the entries Twining writes itself.

use serde_json::Map;
use twining_model::{Entry, EntryType};

use crate::caller::Stamp;
use crate::words;

/// An entry of ours about `scope`, without detail, tags or relations so far.
pub(crate) fn note(stamp: &Stamp<'_>, kind: EntryType, scope: &str, summary: &str) -> Entry {
    Entry {
        id: stamp.ids.next().into(),
        timestamp: stamp.at.to_string(),
        agent_id: stamp.caller.agent.clone(),
        entry_type: kind.as_str().to_owned(),
        tags: Vec::new(),
        relates_to: Vec::new(),
        scope: scope.to_owned(),
        summary: words::summary(summary),
        detail: String::new(),
        origin: Some(stamp.caller.origin.clone()),
        extra: Map::new(),
    }
}
