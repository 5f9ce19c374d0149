//! The receipt of an installation: what was written outside of the memory, and
//! how to take it back. It belongs to one machine, so it lies in `local/`, and its
//! first line says in which one: nobody who wrote a repository can know that.

use super::open::Store;
use crate::disk::Dir;
use crate::disk::layout::{DEFAULT_FILES, FOLDER};
use crate::error::StoreError;

const RECEIPT: &str = "receipt";
/// Bytes of a receipt; it holds pieces of settings files, never whole projects.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The lines that a file of the folder lacks, of those that git must be told; none
/// for settings, of which every one may be left out.
#[must_use]
pub fn missing_lines(name: &str, text: &str) -> Vec<&'static str> {
    let known = DEFAULT_FILES.iter().find(|(known, _)| *known == name && name.starts_with(".git")).map_or("", |(_, text)| *text);
    let is_there = |line: &&str| text.lines().any(|there| there.split_whitespace().eq(line.split_whitespace()));
    known.lines().filter(|line| !is_there(line)).collect()
}

/// What `init` and `uninstall` do to the folder.
#[derive(Clone, Copy, Debug)]
pub struct Installation<'s>(&'s Store);

impl Store {
    /// What `init` and `uninstall` do to the folder.
    #[must_use]
    pub fn installation(&self) -> Installation<'_> {
        Installation(self)
    }
}

impl Installation<'_> {
    /// Makes the folder where there is none, and adds what a folder made by
    /// another program lacks.
    pub fn prepare(&self) -> Result<(), StoreError> {
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        for (name, text) in DEFAULT_FILES {
            if store.layout.top.print(name)?.is_none() {
                store.layout.replace(&store.layout.top, name, text.as_bytes(), false)?;
            }
        }
        Ok(())
    }

    /// Adds the lines that what git is told of the folder lacks, below what stands there.
    pub fn complete(&self) -> Result<(), StoreError> {
        self.prepare()?;
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        for (name, _) in DEFAULT_FILES {
            let bytes = store.layout.top.read(name, MAX_BYTES)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let missing = missing_lines(name, &text);
            if !missing.is_empty() {
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                store.layout.replace(&store.layout.top, name, format!("{text}{gap}{}\n", missing.join("\n")).as_bytes(), false)?;
            }
        }
        Ok(())
    }

    /// The receipt, as it was kept; none where there is none.
    pub fn receipt(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let local = &store.layout.local;
        let stored = local.read(RECEIPT, MAX_BYTES)?;
        // One that came with a clone would tell us what to write over people's settings.
        let seal = local.identity()?;
        Ok(stored.and_then(|bytes| bytes.strip_prefix(seal.as_bytes())?.strip_prefix(b"\n").map(<[u8]>::to_vec)))
    }

    /// Keeps a receipt in place of the one before, or none.
    pub fn save_receipt(&self, receipt: Option<&[u8]>) -> Result<(), StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(()) };
        match receipt {
            Some(bytes) => {
                let sealed = [store.layout.local.identity()?.as_bytes(), b"\n", bytes].concat();
                store.layout.replace(&store.layout.local, RECEIPT, &sealed, true)
            }
            None => store.layout.local.remove(RECEIPT).map(drop),
        }
    }

    /// Removes the whole folder with everything that was ever recorded.
    pub fn purge(&self) -> Result<bool, StoreError> {
        let project = Dir::project(&self.0.location().project, None)?;
        // Of the thing itself: what a link leads to is not ours to remove.
        if project.open_dir(FOLDER)?.is_none() {
            return Ok(false);
        }
        project.remove_tree(FOLDER)?;
        Ok(true)
    }
}
