//! Metrics: `local/metrics.jsonl`, one line for each thing worth counting. It
//! stays on this machine, and losing it loses nothing but the count.

use super::notes::LocalState;
use crate::error::StoreError;

const FILE: &str = "metrics.jsonl";
const OLDER: &str = "metrics-1.jsonl";
/// A file of this size makes room for a new one; the one before it goes.
const MOST: u64 = 2 * 1024 * 1024;

impl LocalState<'_> {
    /// Notes one line; nowhere if there is no `.twining`.
    pub fn note_metric(&self, line: &str) -> Result<(), StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(()) };
        let local = &room.layout.local;
        if local.stat(FILE)?.is_some_and(|(_, print)| print.size > MOST) {
            local.rename(FILE, local, OLDER)?;
        }
        local.make_append(FILE)?.write(format!("{}\n", line.replace('\n', " ")).as_bytes())
    }

    /// The lines noted, the oldest first.
    pub fn metrics(&self) -> Result<Vec<String>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(Vec::new()) };
        let mut lines = Vec::new();
        for name in [OLDER, FILE] {
            let Some(handle) = room.layout.local.open(name)? else { continue };
            let bytes = handle.read_all(usize::try_from(MOST * 2).unwrap_or(usize::MAX))?;
            lines.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
        }
        Ok(lines)
    }
}
