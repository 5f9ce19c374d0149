//! What the last writer left: a line of JSON with its checksum, inside the lock file.
//!
//! It tells the next writer whether the files are still as one of us left them,
//! and readers how far the journal goes. It is a hint about files, never truth:
//! garbage in it costs a second look, not a record.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::disk::layout::{Layout, WRITE_LOCK};
use crate::disk::{FileHandle, Fingerprint};
use crate::error::StoreError;
use crate::log::array_file::EditedArray;
use crate::log::files::{Array, ArrayState};

/// Where the holder's process id stands, outside the checksum: it is written
/// before anything is known.
const HOLDER_AT: u64 = 0;
/// Where a checksum stands, then the record as a line of JSON.
const STATE_AT: u64 = 8;
/// More than any record takes.
const MAX_BYTES: usize = 4096;

/// The state in which the last writer left the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockState {
    /// The blackboard after the last append.
    pub board: Fingerprint,
    /// Grows whenever the board was found changed by someone else.
    pub epoch: u64,
    /// The last journal line.
    pub written_seq: u64,
    /// The last journal line whose decisions and entries are in their files.
    pub applied_seq: u64,
    /// The last journal line that is in every array.
    pub checkpoint_seq: u64,
    /// The last journal line that would survive a power cut without the journal.
    pub synced_seq: u64,
    /// Which run of the machine wrote this; what was not flushed is gone with it.
    pub boot: u64,
    /// Git's own index when we last made sure that git took nothing away.
    pub git_mtime_ns: i64,
    /// When somebody last began to keep house.
    #[serde(rename = "kept_ms")]
    pub housekept_ms: i64,
    /// The last line that was dropped from the journal.
    pub dropped_seq: u64,
    /// The last line of the log that the folder has followed.
    pub followed_seq: u64,
    /// How we left each array.
    pub arrays: [Option<ArrayState>; 3],
}

impl LockState {
    /// The record of a folder, whoever holds the lock.
    pub fn of(layout: &Layout) -> Result<Self, StoreError> {
        layout.local.open(WRITE_LOCK)?.map_or_else(|| Ok(Self::default()), |lock| Self::read(&lock))
    }

    /// Reads the record; a damaged one reads as unknown.
    pub fn read(lock: &FileHandle) -> Result<Self, StoreError> {
        let mut bytes = [0; MAX_BYTES];
        // A reader holds no lock and may meet a writer halfway; that lasts nanoseconds.
        for _ in 0..4 {
            let read = lock.read_at(&mut bytes, STATE_AT)?;
            if let Some(state) = Self::decode(&bytes[..read]) {
                return Ok(state);
            }
        }
        Ok(Self::default())
    }

    /// Writes the record. The caller holds the lock.
    pub fn write(&self, lock: &FileHandle) -> Result<(), StoreError> {
        lock.write_at(&self.encode()?, STATE_AT)
    }

    /// Changes the record. The caller holds the lock.
    pub fn update(lock: &FileHandle, change: impl FnOnce(&mut Self)) -> Result<(), StoreError> {
        let mut state = Self::read(lock)?;
        change(&mut state);
        state.write(lock)
    }

    /// Says who holds the lock, for those who wait for it.
    pub fn sign(lock: &FileHandle, pid: u32) -> Result<(), StoreError> {
        lock.write_at(&u64::from(pid).to_le_bytes(), HOLDER_AT)
    }

    /// Who holds the lock, if it said so.
    pub fn holder(lock: &FileHandle) -> Option<u32> {
        let mut bytes = [0; 8];
        let n = lock.read_at(&mut bytes, HOLDER_AT).ok()?;
        let pid = u32::try_from(u64::from_le_bytes(bytes)).ok()?;
        (n == 8 && pid != 0).then_some(pid)
    }

    /// Notes how we left an array that now holds every journal line up to `through`.
    pub fn set_array_state(&mut self, array: Array, edited: EditedArray, through: u64) {
        let before = self.arrays[array as usize].filter(|before| Some(before.to) == edited.from);
        let (from, since) = before.map_or((edited.from, self.applied_seq), |before| (before.from, before.since));
        self.arrays[array as usize] =
            Some(ArrayState { from, since, to: edited.to, through, has_gaps: edited.has_gaps, is_unchecked: edited.is_unchecked });
    }

    fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let text = serde_json::to_vec(self)?;
        Ok([&xxh3_64(&text).to_le_bytes(), text.as_slice(), b"\n"].concat())
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (sum, rest) = bytes.split_first_chunk()?;
        let text = &rest[..memchr::memchr(b'\n', rest)?];
        if xxh3_64(text) != u64::from_le_bytes(*sum) { None } else { serde_json::from_slice(text).ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_the_round_trip_and_a_flipped_bit_does_not() {
        let print = Fingerprint { ino: 7, size: 99, mtime_ns: -3 };
        let state = LockState {
            board: print,
            epoch: 2,
            written_seq: 10,
            applied_seq: 9,
            checkpoint_seq: 4,
            synced_seq: 3,
            boot: 77,
            git_mtime_ns: -8,
            housekept_ms: 5,
            dropped_seq: 2,
            followed_seq: 6,
            arrays: [
                Some(ArrayState { from: None, since: 1, to: print, through: 4, has_gaps: false, is_unchecked: true }),
                None,
                Some(ArrayState { from: Some(print), since: 2, to: print, through: 3, has_gaps: true, is_unchecked: false }),
            ],
        };
        let mut bytes = state.encode().expect("encodes");
        assert_eq!(LockState::decode(&bytes), Some(state));
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            assert_eq!(LockState::decode(&bytes), None, "byte {at}");
            bytes[at] ^= 1;
        }
    }
}
