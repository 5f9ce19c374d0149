//! Where agents meet: `agents/registry.json`, `handoffs/<id>.json`, and in
//! `local/`, of this machine only, who was there lately and who holds what.
//!
//! A plan sees all of it under the write lock: of two processes that claim one path at
//! the same instant, the second plans on what the first has written.

use twining_model::{Id, limits};

use super::documents::Documents;
use crate::disk::Dir;
use crate::disk::layout::{AGENTS, CLAIMS, FOLDER, HANDOFFS, LOCAL, Layout};
use crate::error::StoreError;
use crate::format::array;

pub(crate) const REGISTRY: &str = "registry.json";
pub(crate) const PRESENCE: &str = "presence.json";
/// One line a handoff, derived; for the TypeScript server.
pub(crate) const HANDOFF_INDEX: &str = "index.jsonl";

/// What is known of agents, as it is now.
#[derive(Default)]
pub struct AgentFiles {
    registry: Option<Vec<u8>>,
    /// When agents last called, as JSON.
    pub presence: Option<Vec<u8>>,
    /// Who holds what, as JSON.
    pub claims: Option<Vec<u8>>,
    handoffs: Option<Dir>,
}

impl AgentFiles {
    /// The registry's elements, and what in it could not be read.
    #[must_use]
    pub fn registered(&self) -> array::ScannedArray<'_> {
        self.registry.as_deref().map_or_else(|| array::scan(array::EMPTY_ARRAY), array::scan)
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
        self.handoffs.as_ref().map_or(Ok(None), |dir| dir.read(&format!("{id}.json"), limits::RECORD_BYTES))
    }

    pub(crate) fn open(layout: &Layout) -> Result<Self, StoreError> {
        let registry = layout.top.open_dir(AGENTS)?.map_or(Ok(None), |dir| dir.read(REGISTRY, limits::AGENTS_BYTES))?;
        let [presence, claims] = [PRESENCE, CLAIMS].map(|name| layout.local.read(name, limits::AGENTS_BYTES));
        Ok(Self { registry, presence: presence?, claims: claims?, handoffs: layout.top.open_dir(HANDOFFS)? })
    }
}

impl Documents<'_> {
    /// What is known of agents.
    pub fn agents(&self) -> Result<AgentFiles, StoreError> {
        self.0.open_for_reading()?.map_or_else(|| Ok(AgentFiles::default()), |store| AgentFiles::open(&store.layout))
    }

    /// Who holds what, as JSON, without the rest.
    pub fn claims(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.open_for_reading()?.map_or(Ok(None), |store| store.layout.local.read(CLAIMS, limits::AGENTS_BYTES))
    }
}

/// The path of the claims, for whoever enforces them.
#[must_use]
pub fn claims_path() -> String {
    format!("{FOLDER}/{LOCAL}/{CLAIMS}")
}
