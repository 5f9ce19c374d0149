//! The receipt of an installation: what was written outside of the memory, and
//! how to take it back. It belongs to one machine, so it lies in `local/`, and its
//! first line says in which one: nobody who wrote a repository can know that.

use super::open::Store;
use crate::disk::Dir;
use crate::disk::layout::{FOLDER, SCAFFOLD};
use crate::error::StoreError;

const RECEIPT: &str = "receipt";
/// Bytes of a receipt; it holds pieces of settings files, never whole projects.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// The lines that a file of the folder lacks, of those that git must be told; none
/// for settings, of which every one may be left out.
#[must_use]
pub fn lacking_lines(name: &str, text: &str) -> Vec<&'static str> {
    let known = SCAFFOLD.iter().find(|(known, _)| *known == name && name.starts_with(".git")).map_or("", |(_, text)| *text);
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
        let room = self.0.writing_room()?;
        let _held = room.lock.take()?;
        for (name, text) in SCAFFOLD {
            if room.layout.top.print(name)?.is_none() {
                room.layout.replace(&room.layout.top, name, text.as_bytes(), false)?;
            }
        }
        Ok(())
    }

    /// Adds the lines that what git is told of the folder lacks, below what stands there.
    pub fn complete(&self) -> Result<(), StoreError> {
        self.prepare()?;
        let room = self.0.writing_room()?;
        let _held = room.lock.take()?;
        for (name, _) in SCAFFOLD {
            let bytes = room.layout.top.read(name, MOST_BYTES)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let lacking = lacking_lines(name, &text);
            if !lacking.is_empty() {
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                room.layout.replace(&room.layout.top, name, format!("{text}{gap}{}\n", lacking.join("\n")).as_bytes(), false)?;
            }
        }
        Ok(())
    }

    /// The receipt, as it was kept; none where there is none.
    pub fn receipt(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(None) };
        let local = &room.layout.local;
        let kept = local.read(RECEIPT, MOST_BYTES)?;
        // One that came with a clone would tell us what to write over people's settings.
        let seal = local.identity()?;
        Ok(kept.and_then(|bytes| bytes.strip_prefix(seal.as_bytes())?.strip_prefix(b"\n").map(<[u8]>::to_vec)))
    }

    /// Keeps a receipt in place of the one before, or none.
    pub fn keep_receipt(&self, receipt: Option<&[u8]>) -> Result<(), StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(()) };
        match receipt {
            Some(bytes) => {
                let sealed = [room.layout.local.identity()?.as_bytes(), b"\n", bytes].concat();
                room.layout.replace(&room.layout.local, RECEIPT, &sealed, true)
            }
            None => room.layout.local.remove(RECEIPT).map(drop),
        }
    }

    /// Removes the whole folder with everything that was ever recorded.
    pub fn purge(&self) -> Result<bool, StoreError> {
        let project = Dir::project(&self.0.place().project, None)?;
        // Of the thing itself: what a link leads to is not ours to remove.
        if project.open_dir(FOLDER)?.is_none() {
            return Ok(false);
        }
        project.remove_tree(FOLDER)?;
        Ok(true)
    }
}
