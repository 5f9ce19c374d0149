//! Notes of hooks: small files in `local/hooks/` that one process leaves for the
//! next. Nothing is lost with them but patience.

use crate::error::StoreError;
use crate::store::Store;

const HOOKS: &str = "hooks";
/// Bytes of one note.
const MOST_BYTES: usize = 64 * 1024;
/// Notes that are kept; a new session clears the rest away.
const MOST_NOTES: usize = 64;

impl Store {
    /// Reads a note; none where there is no memory yet, or it is no note of ours.
    pub fn note(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(None) };
        let Some(hooks) = room.layout.local.open_dir(HOOKS)? else { return Ok(None) };
        Ok(hooks.open(&file_of(name))?.and_then(|handle| handle.read_all(MOST_BYTES).ok()))
    }

    /// Leaves a note. Where there is no memory yet, none is made for it.
    pub fn leave_note(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        let hooks = room.layout.local.make_dir(HOOKS)?;
        room.layout.replace(&hooks, &file_of(name), bytes, false)
    }

    /// Clears notes away where there are too many.
    pub fn clear_notes(&self) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        let Some(hooks) = room.layout.local.open_dir(HOOKS)? else { return Ok(()) };
        let names = hooks.list()?;
        if names.len() > MOST_NOTES {
            for name in names {
                hooks.remove(&name)?;
            }
        }
        Ok(())
    }
}

/// A session's name is a host's word, and no path.
fn file_of(name: &str) -> String {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(80).collect();
    format!("note-{plain}.json")
}
