//! What the last writer left: a small fixed record inside the lock file.
//!
//! It tells the next writer whether the files are still as one of us left them,
//! and readers how far the journal goes. It is a hint about files, never truth:
//! garbage in it costs a second look, not a record.

use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{Fingerprint, Handle};
use crate::error::StoreError;
use crate::log::array_file::Edited;
use crate::log::files::{Array, ArrayState};

const MAGIC: u64 = 0x0231_474e_494e_5754;
/// Single values, then nine words an array, then the checksum.
const SINGLE: usize = 14;
const EACH: usize = 9;
const WORDS: usize = SINGLE + 3 * EACH;
const BYTES: usize = (WORDS + 1) * 8;
/// Where the holder's process id stands, outside the checksum: it is written
/// before anything is known.
const HOLDER_AT: u64 = 512;

/// The state in which the last writer left the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
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
    pub kept_ms: i64,
    /// The last line that was dropped from the journal.
    pub dropped_seq: u64,
    /// The last line of the log that the folder has followed.
    pub followed_seq: u64,
    /// How we left each array.
    pub arrays: [Option<ArrayState>; 3],
}

impl Record {
    /// Reads the record; a damaged one reads as unknown.
    pub fn read(lock: &Handle) -> Result<Self, StoreError> {
        let mut bytes = [0; BYTES];
        // A reader holds no lock and may meet a writer halfway; that lasts nanoseconds.
        for _ in 0..4 {
            let n = lock.read_at(&mut bytes, 0)?;
            if n < BYTES {
                return Ok(Self::default());
            }
            if let Some(record) = Self::decode(&bytes) {
                return Ok(record);
            }
        }
        Ok(Self::default())
    }

    /// Writes the record. The caller holds the lock.
    pub fn write(&self, lock: &Handle) -> Result<(), StoreError> {
        lock.write_at(&self.encode(), 0)
    }

    /// Says who holds the lock, for those who wait for it.
    pub fn sign(lock: &Handle, pid: u32) -> Result<(), StoreError> {
        lock.write_at(&u64::from(pid).to_le_bytes(), HOLDER_AT)
    }

    /// Who holds the lock, if it said so.
    pub fn holder(lock: &Handle) -> Option<u32> {
        let mut bytes = [0; 8];
        let n = lock.read_at(&mut bytes, HOLDER_AT).ok()?;
        let pid = u32::try_from(u64::from_le_bytes(bytes)).ok()?;
        (n == 8 && pid != 0).then_some(pid)
    }

    /// Notes how we left an array that now holds every journal line up to `through`.
    pub fn leave_array(&mut self, array: Array, edited: Edited, through: u64) {
        let before = self.arrays[array as usize].filter(|before| Some(before.to) == edited.from);
        let (from, since) = before.map_or((edited.from, self.applied_seq), |before| (before.from, before.since));
        self.arrays[array as usize] =
            Some(ArrayState { from, since, to: edited.to, through, is_loose: edited.is_loose, is_unchecked: edited.is_unchecked });
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut words = vec![
            MAGIC,
            self.board.ino,
            self.board.size,
            self.board.mtime_ns as u64,
            self.epoch,
            self.written_seq,
            self.applied_seq,
            self.checkpoint_seq,
            self.synced_seq,
            self.boot,
            self.git_mtime_ns as u64,
            self.kept_ms as u64,
            self.dropped_seq,
            self.followed_seq,
        ];
        for array in self.arrays {
            let known = array.unwrap_or_default();
            let from = known.from.unwrap_or_default();
            words.extend([
                u64::from(array.is_some())
                    | u64::from(known.from.is_some()) << 1
                    | u64::from(known.is_loose) << 2
                    | u64::from(known.is_unchecked) << 3,
                from.ino,
                from.size,
                from.mtime_ns as u64,
                known.to.ino,
                known.to.size,
                known.to.mtime_ns as u64,
                known.through,
                known.since,
            ]);
        }
        let mut bytes = [0; BYTES];
        for (slot, word) in bytes.chunks_exact_mut(8).zip(&words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        let sum = xxh3_64(&bytes[..BYTES - 8]);
        bytes[BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; BYTES]) -> Option<Self> {
        let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect();
        if words[0] != MAGIC || words[WORDS] != xxh3_64(&bytes[..BYTES - 8]) {
            return None;
        }
        let print = |at: usize| Fingerprint { ino: words[at], size: words[at + 1], mtime_ns: words[at + 2] as i64 };
        let array = |at: usize| {
            (words[at] & 1 == 1).then(|| ArrayState {
                from: (words[at] & 2 == 2).then(|| print(at + 1)),
                to: print(at + 4),
                through: words[at + 7],
                since: words[at + 8],
                is_loose: words[at] & 4 == 4,
                is_unchecked: words[at] & 8 == 8,
            })
        };
        Some(Self {
            board: print(1),
            epoch: words[4],
            written_seq: words[5],
            applied_seq: words[6],
            checkpoint_seq: words[7],
            synced_seq: words[8],
            boot: words[9],
            git_mtime_ns: words[10] as i64,
            kept_ms: words[11] as i64,
            dropped_seq: words[12],
            followed_seq: words[13],
            arrays: [array(SINGLE), array(SINGLE + EACH), array(SINGLE + 2 * EACH)],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_the_round_trip_and_a_flipped_bit_does_not() {
        let print = Fingerprint { ino: 7, size: 99, mtime_ns: -3 };
        let record = Record {
            board: print,
            epoch: 2,
            written_seq: 10,
            applied_seq: 9,
            checkpoint_seq: 4,
            synced_seq: 3,
            boot: 77,
            git_mtime_ns: -8,
            kept_ms: 5,
            dropped_seq: 2,
            followed_seq: 6,
            arrays: [
                Some(ArrayState { from: None, since: 1, to: print, through: 4, is_loose: false, is_unchecked: true }),
                None,
                Some(ArrayState { from: Some(print), since: 2, to: print, through: 3, is_loose: true, is_unchecked: false }),
            ],
        };
        let mut bytes = record.encode();
        assert_eq!(Record::decode(&bytes), Some(record));
        for at in 0..BYTES {
            bytes[at] ^= 1;
            assert_eq!(Record::decode(&bytes), None, "byte {at}");
            bytes[at] ^= 1;
        }
    }
}
