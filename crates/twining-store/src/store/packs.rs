//! Packs: answers that were dear to make, kept in `local/packs` under a key of
//! everything they were made from, so that an old one is never found again.
//!
//! The day of the last use is part of a file's name: cleaning up reads no pack.

use twining_model::limits;
use xxhash_rust::xxh3::Xxh3;

use super::local_state::LocalState;
use crate::disk::Dir;
use crate::disk::layout::Layout;
use crate::error::StoreError;

const FOLDER: &str = "packs";
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The packs of one project.
pub struct Packs {
    layout: Layout,
    dir: Dir,
    seal: String,
    today: i64,
}

impl LocalState<'_> {
    /// The packs; none if there is no `.twining`.
    pub fn packs(&self) -> Result<Option<Packs>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let dir = store.layout.local.make_dir(FOLDER)?;
        // Of this folder alone: a pack that came with a clone has another seal.
        let (seal, today) = (dir.identity()?, self.0.ids().now().as_ms().div_euclid(DAY_MS));
        Ok(Some(Packs { layout: store.layout.clone(), dir, seal, today }))
    }
}

impl Packs {
    /// The key of what is made from these parts.
    #[must_use]
    pub fn key(&self, kind: &str, parts: &[&[u8]]) -> String {
        let mut hash = Xxh3::new();
        for part in std::iter::once(self.seal.as_bytes()).chain(parts.iter().copied()) {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        format!("{kind}-{:032x}", hash.digest128())
    }

    /// A pack, and that it was used today.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let is_it = |name: &String| name.rsplit_once('.').is_some_and(|(found, _)| found == key);
        let Some(name) = self.dir.list()?.into_iter().find(is_it) else { return Ok(None) };
        let bytes = self.dir.read(&name, limits::ANSWER_BYTES * 2)?;
        // Another process may have done it first; then it is as it should be.
        drop(self.dir.rename(&name, &self.dir, &self.name(key)));
        Ok(bytes)
    }

    /// Keeps a pack, and lets go of those that nobody used for so many days.
    pub fn put(&self, key: &str, bytes: &[u8], unused_days: i64) -> Result<(), StoreError> {
        self.layout.replace(&self.dir, &self.name(key), bytes, false)?;
        for name in self.dir.list()? {
            let used: Option<i64> = name.rsplit_once('.').and_then(|(_, day)| day.parse().ok());
            if used.is_none_or(|used| used < self.today - unused_days) {
                self.dir.remove(&name)?;
            }
        }
        Ok(())
    }

    fn name(&self, key: &str) -> String {
        format!("{key}.{}", self.today)
    }
}
