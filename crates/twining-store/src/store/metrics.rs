//! Metrics: `local/metrics.jsonl`, one line for each thing worth counting. It
//! stays on this machine, and losing it loses nothing but the count.

use super::notes::LocalState;
use crate::error::StoreError;
use crate::log::rotating::Rotating;

const METRICS: Rotating = Rotating { name: "metrics.jsonl", older: "metrics-1.jsonl", most: 2 * 1024 * 1024 };

impl LocalState<'_> {
    /// Notes one line; nowhere if there is no `.twining`.
    pub fn note_metric(&self, line: &str) -> Result<(), StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(()) };
        METRICS.append(&room.layout.local, format!("{}\n", line.replace('\n', " ")).as_bytes())
    }

    /// The lines noted, the oldest first.
    pub fn metrics(&self) -> Result<Vec<String>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(Vec::new()) };
        let bytes = METRICS.read(&room.layout.local)?;
        Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }
}
