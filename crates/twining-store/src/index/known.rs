//! What the database says of the files it was made from.
//!
//! It stands in the database and nowhere else: another process may catch the
//! shared database up, and then its word counts, not our memory.

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::view::corrupt;
use crate::disk::Fingerprint;
use crate::error::StoreError;

/// How much of the files is in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexedFiles {
    /// The blackboard.
    pub board: BoardPosition,
    /// `entities.json` and `relations.json`.
    pub arrays: [Option<Fingerprint>; 2],
    /// The last journal line.
    pub seq: u64,
}

/// How much of the blackboard is in the database: every line that ends at or
/// before `offset`, and one after it if that is whole but for its newline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BoardPosition {
    /// The file, as it was when it was last read.
    pub print: Option<Fingerprint>,
    /// The writers' count of changes from outside.
    pub epoch: u64,
    /// Up to here lines are complete.
    pub offset: u64,
    /// How many lines that is.
    pub line: u64,
    /// The segment that `offset` closes so far; it has a line, unless the board has none.
    pub segment: Segment,
}

/// A stretch of whole lines, by its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    /// Where its first line starts.
    pub start: u64,
    /// How many lines come before it.
    pub line: u64,
    /// The hashes of its lines, mixed in order.
    pub hash: u64,
}

impl Segment {
    /// Takes one more line in.
    pub fn take(&mut self, line_hash: u64) {
        self.hash = (self.hash.rotate_left(23) ^ line_hash).wrapping_mul(0x9E37_79B1_85EB_CA87);
    }
}

const LOAD: &str = "SELECT state FROM known WHERE one = 1";
const SAVE: &str = "INSERT OR REPLACE INTO known(one, state) VALUES(1, ?1)";

impl IndexedFiles {
    /// Reads it.
    pub fn load(conn: &Connection) -> Result<Self, StoreError> {
        let state: Option<String> = conn.prepare_cached(LOAD)?.query_row([], |row| row.get(0)).optional()?;
        let Some(state) = state else { return Ok(Self::default()) };
        serde_json::from_str(&state).map_err(|_| corrupt("a state of the files that cannot be read"))
    }

    /// Writes it.
    pub fn save(&self, conn: &Connection) -> Result<(), StoreError> {
        conn.prepare_cached(SAVE)?.execute([serde_json::to_string(self)?])?;
        Ok(())
    }
}
