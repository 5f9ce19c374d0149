//! Recorded tool calls: two files in `local/` that take turns, so that the newest
//! are kept and the oldest go. Written before every tool call, so nobody waits:
//! one append, no lock. What they say is not this crate's business.

use twining_model::limits;

use super::notes::LocalState;
use super::traces::{append_after, nook};
use crate::disk::Handle;
use crate::error::StoreError;

const CALLS: &str = "calls.jsonl";
const OLDER: &str = "calls.old.jsonl";
/// How far back from the end the latest calls are looked for.
const LATEST_BYTES: u64 = 256 * 1024;

impl LocalState<'_> {
    /// Records a call. Makes no folder.
    pub fn record_call(&self, line: &str) -> Result<(), StoreError> {
        if line.len() > limits::CALL_BYTES || line.contains('\n') {
            return Err(StoreError::TooLarge { bytes: line.len(), most: limits::CALL_BYTES });
        }
        let Some(room) = self.0.open_to_traces()? else { return Ok(()) };
        let nook = nook(&room.layout)?;
        let handle = nook.make_append(CALLS)?;
        append_after(&handle, format!("{line}\n").as_bytes())?;
        let full = |size: u64| size > limits::CALLS_BYTES as u64;
        if full(handle.fingerprint()?.size)
            && let Some(_held) = room.lock.try_take()?
            && nook.stat(CALLS)?.is_some_and(|(_, print)| full(print.size))
        {
            // Under the lock, and looked at again: a second turn would push the older ones out at once.
            nook.rename(CALLS, &nook, OLDER)?;
        }
        Ok(())
    }

    /// The newest calls, oldest first, as many as a backtest replays.
    pub fn calls(&self) -> Result<Vec<String>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(Vec::new()) };
        let nook = nook(&room.layout)?;
        let mut lines = Vec::new();
        for name in [OLDER, CALLS] {
            if let Some(handle) = nook.open(name)? {
                lines.extend(from_end(&handle, limits::CALLS_BYTES as u64 * 2)?);
            }
        }
        let surplus = lines.len().saturating_sub(limits::CALLS);
        Ok(lines.split_off(surplus))
    }

    /// The last few calls, oldest first.
    pub fn latest_calls(&self) -> Result<Vec<String>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(Vec::new()) };
        match nook(&room.layout)?.open(CALLS)? {
            Some(handle) => from_end(&handle, LATEST_BYTES),
            None => Ok(Vec::new()),
        }
    }
}

fn from_end(handle: &Handle, most: u64) -> Result<Vec<String>, StoreError> {
    let size = handle.fingerprint()?.size;
    let from = size.saturating_sub(most);
    let mut bytes = vec![0; usize::try_from(size - from).unwrap_or(0)];
    let read = handle.read_at(&mut bytes, from)?;
    let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
    // The first line may have lost its beginning.
    Ok(text.lines().skip(usize::from(from > 0)).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
