//! The write lock: one writer at a time, and it dies with its process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{Dir, Handle};
use crate::error::StoreError;
use crate::log::record::Record;

/// How long a writer waits before it names the one that is in its way.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A lock file, and the door threads of this process queue at.
///
/// flock belongs to the open file, so two threads sharing one would both get
/// it; the mutex keeps them apart, the lock keeps the processes apart.
pub struct Lock {
    dir: Dir,
    name: &'static str,
    slot: Mutex<Option<Handle>>,
}

/// The lock, held. Dropping it lets go.
pub struct Held<'a> {
    slot: MutexGuard<'a, Option<Handle>>,
}

impl Lock {
    /// A lock on the file `name`, opened when first taken.
    pub fn new(dir: &Dir, name: &'static str) -> Self {
        Self { dir: dir.clone(), name, slot: Mutex::new(None) }
    }

    /// Takes the lock, waiting up to [`PATIENCE`].
    pub fn take(&self) -> Result<Held<'_>, StoreError> {
        self.take_within(PATIENCE)
    }

    /// Takes the lock, waiting at most so long, and says who has it if that was not enough.
    pub fn take_within(&self, patience: Duration) -> Result<Held<'_>, StoreError> {
        let started = Instant::now();
        if let Some(held) = self.take_soon(patience)? {
            return Ok(held);
        }
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = self.current(&mut slot)?;
        Err(StoreError::Locked {
            path: handle.label().to_owned(),
            holder: handle.lock_holder().unwrap_or_else(|| Record::holder(handle).filter(|pid| *pid != std::process::id())),
            waited_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Takes the lock if it gets free within so long. For those who can do without it:
    /// asking the system who has it makes every other process that locks wait.
    pub fn take_soon(&self, patience: Duration) -> Result<Option<Held<'_>>, StoreError> {
        let started = Instant::now();
        let mut pause = Duration::from_micros(20);
        loop {
            let mut held = Held { slot: self.slot.lock().unwrap_or_else(PoisonError::into_inner) };
            if self.current(&mut held.slot)?.try_lock()? {
                let open = held.file().fingerprint()?;
                if self.dir.print(self.name)?.is_some_and(|print| print.ino == open.ino) {
                    Record::sign(held.file(), std::process::id())?;
                    return Ok(Some(held));
                }
                // Someone removed the file while we waited: two writers could each hold
                // a lock on a different inode.
                *held.slot = None;
                continue;
            }
            drop(held);
            if started.elapsed() >= patience {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_micros(500));
        }
    }

    /// Takes the lock only if nobody has it.
    pub fn try_take(&self) -> Result<Option<Held<'_>>, StoreError> {
        self.take_soon(Duration::ZERO)
    }

    fn current<'s>(&self, slot: &'s mut Option<Handle>) -> Result<&'s Handle, StoreError> {
        if slot.is_none() {
            *slot = Some(self.dir.make_random(self.name)?);
        }
        Ok(slot.as_ref().expect("filled above"))
    }
}

impl Held<'_> {
    /// The lock file, which carries the record.
    pub fn file(&self) -> &Handle {
        self.slot.as_ref().expect("a held lock has its file")
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.slot.as_ref() {
            handle.unlock();
        }
    }
}
