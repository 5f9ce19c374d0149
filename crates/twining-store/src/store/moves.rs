//! What was found out about moved files, kept in `local/` so that git is asked
//! only for what is new. Delete it at any moment.

use super::notes::LocalState;
use crate::error::StoreError;

const MOVES: &str = "moves.json";
const MOST_BYTES: usize = 16 * 1024 * 1024;

impl LocalState<'_> {
    /// What was kept, if it can be read.
    pub fn moves(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(None) };
        Ok(room.layout.local.open(MOVES)?.and_then(|handle| handle.read_all(MOST_BYTES).ok()))
    }

    /// Keeps it.
    pub fn keep_moves(&self, bytes: &[u8]) -> Result<(), StoreError> {
        match self.0.reading_room()? {
            Some(room) if bytes.len() <= MOST_BYTES => room.layout.replace(&room.layout.local, MOVES, bytes, false),
            _ => Ok(()),
        }
    }
}
