//! Where agents meet: `agents/registry.json`, `handoffs/<id>.json`, and in
//! `local/`, of this machine only, who was there lately and who holds what.
//!
//! A plan sees all of it under the write lock: of two processes that claim one path at
//! the same instant, the second plans on what the first has written.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use twining_model::{Id, limits};

use super::open::Store;
use super::room::Room;
use crate::disk::Dir;
use crate::disk::layout::{AGENTS, CLAIMS, FOLDER, HANDOFFS, LOCAL, Layout};
use crate::error::StoreError;
use crate::format::array;
use crate::merge::has_markers;

pub(crate) const REGISTRY: &str = "registry.json";
pub(crate) const PRESENCE: &str = "presence.json";
/// One line a handoff, derived; for the TypeScript server.
pub(crate) const HANDOFF_INDEX: &str = "index.jsonl";

/// What is known of agents, as it is now.
pub struct AgentShelf {
    registry: Option<Vec<u8>>,
    /// When agents last called, as JSON.
    pub presence: Option<Vec<u8>>,
    /// Who holds what, as JSON.
    pub claims: Option<Vec<u8>>,
    handoffs: Option<Dir>,
}

impl AgentShelf {
    /// The registry's elements, and what in it could not be read.
    #[must_use]
    pub fn registered(&self) -> array::Scanned<'_> {
        self.registry.as_deref().map_or_else(|| array::scan(array::NONE), array::scan)
    }

    /// The ids of the newest handoffs, newest first.
    pub fn handoff_ids(&self) -> Result<Vec<Id>, StoreError> {
        let Some(dir) = &self.handoffs else { return Ok(Vec::new()) };
        let names = dir.list()?;
        let ids = names.iter().rev().filter_map(|name| name.strip_suffix(".json").and_then(Id::read));
        Ok(ids.take(limits::HANDOFFS).collect())
    }

    /// A handoff's bytes, if it is there.
    pub fn handoff(&self, id: &Id) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(dir) = &self.handoffs else { return Ok(None) };
        dir.open(&file_name(id))?.map(|handle| handle.read_all(limits::RECORD_BYTES)).transpose()
    }

    pub(crate) fn open(layout: &Layout) -> Result<Self, StoreError> {
        let registry = match layout.top.open_dir(AGENTS)? {
            Some(dir) => read(&dir, REGISTRY)?,
            None => None,
        };
        let presence = read(&layout.local, PRESENCE)?;
        let claims = read(&layout.local, CLAIMS)?;
        Ok(Self { registry, presence, claims, handoffs: layout.top.open_dir(HANDOFFS)? })
    }
}

impl Store {
    /// What is known of agents, without the lock.
    pub fn agents(&self) -> Result<AgentShelf, StoreError> {
        match self.reading_room()? {
            Some(room) => AgentShelf::open(&room.layout),
            None => Ok(AgentShelf { registry: None, presence: None, claims: None, handoffs: None }),
        }
    }

    /// Writes the registry anew in which git left both sides of a merge.
    pub(crate) fn mend_registry(&self, room: &Room) -> Result<(), StoreError> {
        let left = |shelf: &AgentShelf| shelf.registry.as_deref().is_some_and(has_markers);
        if !left(&AgentShelf::open(&room.layout)?) {
            return Ok(());
        }
        let Some(_held) = room.lock.try_take()? else { return Ok(()) };
        let shelf = AgentShelf::open(&room.layout)?;
        let scanned = shelf.registered();
        if !left(&shelf) || !scanned.unreadable.is_empty() {
            return Ok(());
        }
        let text = array::splice_by(agent_of, &scanned, &BTreeMap::new(), &HashSet::new());
        let agents = room.layout.top.make_dir(AGENTS)?;
        put(&room.layout, &agents, REGISTRY, &text)
    }

    /// Remembers that somebody called, if that costs no wait: a busy store is
    /// asked again at the next call.
    pub fn note_presence(&self, plan: impl FnOnce(Option<&[u8]>) -> Option<String>) -> Result<bool, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(false) };
        let Some(_held) = room.lock.try_take()? else { return Ok(false) };
        let known = read(&room.layout.local, PRESENCE)?;
        if let Some(text) = plan(known.as_deref()) {
            put(&room.layout, &room.layout.local, PRESENCE, &text)?;
        }
        Ok(true)
    }
}

fn put(layout: &Layout, dir: &Dir, name: &str, text: &str) -> Result<(), StoreError> {
    if text.len() > limits::AGENTS_BYTES {
        return Err(StoreError::TooLarge { bytes: text.len(), most: limits::AGENTS_BYTES });
    }
    layout.replace(dir, name, text.as_bytes(), false)
}

fn read(dir: &Dir, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    dir.open(name)?.map(|handle| handle.read_all(limits::AGENTS_BYTES)).transpose()
}

fn file_name(id: &Id) -> String {
    format!("{id}.json")
}

pub(crate) fn agent_of(element: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        agent_id: String,
    }
    serde_json::from_str::<Named>(element).ok().map(|named| named.agent_id)
}

/// The path of the claims, for whoever enforces them.
#[must_use]
pub fn claims_path() -> String {
    format!("{FOLDER}/{LOCAL}/{CLAIMS}")
}
