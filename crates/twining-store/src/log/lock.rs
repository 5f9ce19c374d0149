//! The write lock: one writer at a time, and it dies with its process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{Dir, FileHandle};
use crate::error::StoreError;
use crate::log::record::LockState;

/// How long a writer waits before it names the one that is in its way.
pub const TIMEOUT: Duration = Duration::from_secs(5);

/// A lock file, and the door threads of this process queue at.
///
/// flock belongs to the open file, so two threads sharing one would both get
/// it; the mutex keeps them apart, the lock keeps the processes apart.
pub struct FileLock {
    dir: Dir,
    name: &'static str,
    handle_slot: Mutex<Option<FileHandle>>,
}

/// The lock, held. Dropping it lets go.
pub struct LockGuard<'a> {
    handle_slot: MutexGuard<'a, Option<FileHandle>>,
}

impl FileLock {
    /// A lock on the file `name`, opened when first taken.
    pub fn new(dir: &Dir, name: &'static str) -> Self {
        Self { dir: dir.clone(), name, handle_slot: Mutex::new(None) }
    }

    /// Takes the lock, waiting up to [`PATIENCE`].
    pub fn acquire(&self) -> Result<LockGuard<'_>, StoreError> {
        self.acquire_within(TIMEOUT)
    }

    /// Takes the lock, waiting at most so long, and says who has it if that was not enough.
    pub fn acquire_within(&self, timeout: Duration) -> Result<LockGuard<'_>, StoreError> {
        let started = Instant::now();
        if let Some(guard) = self.acquire_timeout(timeout)? {
            return Ok(guard);
        }
        let mut handle_slot = self.handle_slot.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = self.current(&mut handle_slot)?;
        Err(StoreError::Locked {
            path: handle.label().to_owned(),
            holder: handle.lock_holder().unwrap_or_else(|| LockState::holder(handle).filter(|pid| *pid != std::process::id())),
            waited_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Takes the lock if it gets free within so long. For those who can do without it:
    /// asking the system who has it makes every other process that locks wait.
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<Option<LockGuard<'_>>, StoreError> {
        let started = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            let mut guard = LockGuard { handle_slot: self.handle_slot.lock().unwrap_or_else(PoisonError::into_inner) };
            if self.current(&mut guard.handle_slot)?.try_lock()? {
                let open = guard.file().fingerprint()?;
                if self.dir.print(self.name)?.is_some_and(|print| print.ino == open.ino) {
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
    pub fn try_acquire(&self) -> Result<Option<LockGuard<'_>>, StoreError> {
        self.acquire_timeout(Duration::ZERO)
    }

    fn current<'s>(&self, handle_slot: &'s mut Option<FileHandle>) -> Result<&'s FileHandle, StoreError> {
        if handle_slot.is_none() {
            *handle_slot = Some(self.dir.create_random_access(self.name)?);
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
