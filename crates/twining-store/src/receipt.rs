//! The receipt of an installation: what was written outside of the memory, and
//! how to take it back. It belongs to one machine, so it lies in `local/`.

use crate::disk::Dir;
use crate::error::StoreError;
use crate::layout::{FOLDER, SCAFFOLD};
use crate::store::Store;

const RECEIPT: &str = "installed.json";
/// Bytes of a receipt; it holds pieces of settings files, never whole projects.
const MOST_BYTES: usize = 32 * 1024 * 1024;

impl Store {
    /// Makes the folder where there is none, and adds what a folder made by
    /// another program lacks.
    pub fn prepare(&self) -> Result<(), StoreError> {
        let room = self.writing_room()?;
        let held = room.lock.take()?;
        for (name, text) in SCAFFOLD {
            if room.layout.top.stat(name)?.is_none() {
                room.layout.replace(&room.layout.top, name, text.as_bytes(), false)?;
            }
        }
        drop(held);
        Ok(())
    }

    /// The receipt, as it was kept; none where there is none.
    pub fn receipt(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(None) };
        room.layout.local.open(RECEIPT)?.map(|handle| handle.read_all(MOST_BYTES)).transpose()
    }

    /// Keeps a receipt in place of the one before, or none.
    pub fn keep_receipt(&self, receipt: Option<&[u8]>) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        match receipt {
            Some(bytes) => room.layout.replace(&room.layout.local, RECEIPT, bytes, true),
            None => room.layout.local.remove(RECEIPT).map(drop),
        }
    }

    /// Removes the whole folder with everything that was ever recorded.
    pub fn purge(&self) -> Result<bool, StoreError> {
        let project = Dir::project(&self.place().project, None)?;
        // Of the thing itself: what a link leads to is not ours to remove.
        if project.open_dir(FOLDER)?.is_none() {
            return Ok(false);
        }
        project.remove_tree(FOLDER)?;
        Ok(true)
    }
}
