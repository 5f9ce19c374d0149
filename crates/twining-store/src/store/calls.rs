//! Recorded tool calls: two files in `local/` that take turns, so that the newest
//! are kept and the oldest go. Written before every tool call, so nobody waits:
//! one append, no lock. What they say is not this crate's business.

use twining_model::limits;

use super::notes::LocalState;
use super::traces::nook;
use crate::error::StoreError;
use crate::log::rotating::Rotating;

const CALLS: Rotating = Rotating { name: "calls.jsonl", older: "calls.old.jsonl", most: limits::CALLS_BYTES as u64 };
/// How far back from the end the latest calls are looked for.
const LATEST_BYTES: u64 = 256 * 1024;

impl LocalState<'_> {
    /// Records a call. Makes no folder.
    pub fn record_call(&self, line: &str) -> Result<(), StoreError> {
        if line.len() > limits::CALL_BYTES || line.contains('\n') {
            return Err(StoreError::TooLarge { bytes: line.len(), most: limits::CALL_BYTES });
        }
        let Some(room) = self.0.open_to_traces()? else { return Ok(()) };
        CALLS.append(&nook(&room.layout)?, format!("{line}\n").as_bytes())
    }

    /// The newest calls, oldest first, as many as a backtest replays.
    pub fn calls(&self) -> Result<Vec<String>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(Vec::new()) };
        let bytes = CALLS.read(&nook(&room.layout)?)?;
        let mut lines = lines_of(&bytes);
        let surplus = lines.len().saturating_sub(limits::CALLS);
        Ok(lines.split_off(surplus))
    }

    /// The last few calls, oldest first.
    pub fn latest_calls(&self) -> Result<Vec<String>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(Vec::new()) };
        let Some(handle) = nook(&room.layout)?.open(CALLS.name)? else { return Ok(Vec::new()) };
        let (bytes, is_cut) = handle.read_end(LATEST_BYTES)?;
        // The first line may have lost its beginning.
        Ok(lines_of(&bytes).split_off(usize::from(is_cut)))
    }
}

fn lines_of(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
