//! The write lock: one writer at a time, and it dies with its process.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::disk::layout::{Layout, WRITE_LOCK};
use crate::disk::{Dir, FileHandle, Fingerprint};
use crate::error::StoreError;
use crate::log::array_file::EditedArray;
use crate::log::store_files::{Array, ArrayState};

/// How long a writer waits before it names the one that is in its way.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// A lock file, and the mutex that threads of this process queue on.
///
/// flock belongs to the open file, so two threads sharing one would both get it; the mutex
/// separates threads, the lock separates processes.
pub(crate) struct FileLock {
    dir: Dir,
    name: Cow<'static, str>,
    handle_slot: Mutex<Option<FileHandle>>,
}

/// The lock, held. Dropping it lets go.
pub struct LockGuard<'a> {
    handle_slot: MutexGuard<'a, Option<FileHandle>>,
}

impl FileLock {
    /// A lock on the file `name`, opened when first taken.
    pub(crate) fn new(dir: &Dir, name: impl Into<Cow<'static, str>>) -> Self {
        Self { dir: dir.clone(), name: name.into(), handle_slot: Mutex::new(None) }
    }

    /// Takes the lock, waiting up to [`PATIENCE`].
    pub(crate) fn acquire(&self) -> Result<LockGuard<'_>, StoreError> {
        self.acquire_within(TIMEOUT)
    }

    /// Takes the lock, waiting at most so long, and says who has it if that was not enough.
    pub(crate) fn acquire_within(&self, timeout: Duration) -> Result<LockGuard<'_>, StoreError> {
        let started = Instant::now();
        if let Some(guard) = self.acquire_timeout(timeout)? {
            return Ok(guard);
        }
        let mut handle_slot = self.handle_slot.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = self.current(&mut handle_slot)?;
        Err(StoreError::Locked {
            path: handle.label().to_owned(),
            holder: handle.lock_holder().unwrap_or_else(|| {
                LockState::holder(handle).filter(|pid| *pid != std::process::id())
            }),
            waited_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Takes the lock if it gets free within so long. For those who can do without it:
    /// asking the system who has it makes every other process that locks wait.
    pub(crate) fn acquire_timeout(
        &self,
        timeout: Duration,
    ) -> Result<Option<LockGuard<'_>>, StoreError> {
        let started = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            let mut guard = LockGuard {
                handle_slot: self.handle_slot.lock().unwrap_or_else(PoisonError::into_inner),
            };
            if self.current(&mut guard.handle_slot)?.try_lock()? {
                let open = guard.file().fingerprint()?;
                if self.dir.print(&self.name)?.is_some_and(|print| print.ino == open.ino) {
                    LockState::sign(guard.file(), std::process::id())?;
                    return Ok(Some(guard));
                }
                // Someone removed the file while we waited: two writers could each hold
                // a lock on a different inode.
                *guard.handle_slot = None;
                continue;
            }
            drop(guard);
            if started.elapsed() >= timeout {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_micros(500));
        }
    }

    /// Takes the lock only if nobody has it.
    pub(crate) fn try_acquire(&self) -> Result<Option<LockGuard<'_>>, StoreError> {
        self.acquire_timeout(Duration::ZERO)
    }

    fn current<'s>(
        &self,
        handle_slot: &'s mut Option<FileHandle>,
    ) -> Result<&'s FileHandle, StoreError> {
        if handle_slot.is_none() {
            *handle_slot = Some(self.dir.create_random_access(&self.name)?);
        }
        Ok(handle_slot.as_ref().expect("filled above"))
    }
}

impl LockGuard<'_> {
    /// The lock file, which carries the record.
    pub fn file(&self) -> &FileHandle {
        self.handle_slot.as_ref().expect("a held lock has its file")
    }
}

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle_slot.as_ref() {
            handle.unlock();
        }
    }
}

/// Offset of the holder's process id, outside the checksum: it is written before anything is known.
const HOLDER_AT: u64 = 0;
/// Offset of the checksum, then the record as a line of JSON.
const STATE_AT: u64 = 8;
/// More than any record takes.
const MAX_BYTES: usize = 4096;

/// The state in which the last writer left the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LockState {
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
    /// Reads a folder's record, without needing the lock.
    pub(crate) fn of(layout: &Layout) -> Result<Self, StoreError> {
        layout.local.open(WRITE_LOCK)?.map_or_else(|| Ok(Self::default()), |lock| Self::read(&lock))
    }

    /// Reads the record; a damaged one reads as unknown.
    pub(crate) fn read(lock: &FileHandle) -> Result<Self, StoreError> {
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
    pub(crate) fn write(&self, lock: &FileHandle) -> Result<(), StoreError> {
        lock.write_at(&self.encode()?, STATE_AT)
    }

    /// Changes the record. The caller holds the lock.
    pub(crate) fn update(
        lock: &FileHandle,
        change: impl FnOnce(&mut Self),
    ) -> Result<(), StoreError> {
        let mut state = Self::read(lock)?;
        change(&mut state);
        state.write(lock)
    }

    /// Says who holds the lock, for those who wait for it.
    pub(crate) fn sign(lock: &FileHandle, pid: u32) -> Result<(), StoreError> {
        lock.write_at(&u64::from(pid).to_le_bytes(), HOLDER_AT)
    }

    /// Returns the lock holder's process id, if recorded.
    pub(crate) fn holder(lock: &FileHandle) -> Option<u32> {
        let mut bytes = [0; 8];
        let n = lock.read_at(&mut bytes, HOLDER_AT).ok()?;
        let pid = u32::try_from(u64::from_le_bytes(bytes)).ok()?;
        (n == 8 && pid != 0).then_some(pid)
    }

    /// Notes how we left an array that now holds every journal line up to `through`.
    pub(crate) fn set_array_state(&mut self, array: Array, edited: EditedArray, through: u64) {
        let before = self.arrays[array as usize].filter(|before| Some(before.to) == edited.from);
        let (from, since) =
            before.map_or((edited.from, self.applied_seq), |before| (before.from, before.since));
        self.arrays[array as usize] = Some(ArrayState {
            from,
            since,
            to: edited.to,
            through,
            has_gaps: edited.has_gaps,
            is_unchecked: edited.is_unchecked,
        });
    }

    fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let text = serde_json::to_vec(self)?;
        Ok([&xxh3_64(&text).to_le_bytes(), text.as_slice(), b"\n"].concat())
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (sum, rest) = bytes.split_first_chunk()?;
        let text = &rest[..memchr::memchr(b'\n', rest)?];
        if xxh3_64(text) != u64::from_le_bytes(*sum) {
            None
        } else {
            serde_json::from_slice(text).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::log::lock::*;

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
                Some(ArrayState {
                    from: None,
                    since: 1,
                    to: print,
                    through: 4,
                    has_gaps: false,
                    is_unchecked: true,
                }),
                None,
                Some(ArrayState {
                    from: Some(print),
                    since: 2,
                    to: print,
                    through: 3,
                    has_gaps: true,
                    is_unchecked: false,
                }),
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
