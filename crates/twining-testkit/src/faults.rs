//! Disks that fail on demand: the Nth call, and from then on if it was the
//! process that died.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use twining_store::disk::{DiskOp, Fault, Probe};

/// No space left on device.
pub const ENOSPC: i32 = 28;
/// Permission denied.
pub const EACCES: i32 = 13;
/// Input/output error.
pub const EIO: i32 = 5;

/// What happens at the chosen call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOutcome {
    /// It fails once; the process lives on.
    Fails(i32),
    /// A write goes half way and fails once.
    Tears(i32),
    /// The process dies before it: this and everything after fails.
    Dies,
    /// The process dies in the middle of it: half the bytes are written.
    DiesHalfWay,
}

/// A probe that counts calls and interferes with one of them.
pub struct Faults {
    seen: AtomicUsize,
    at: usize,
    outcome: FaultOutcome,
    log: Mutex<Vec<(DiskOp, String)>>,
}

impl Faults {
    /// Interferes with call number `at`, counted from zero.
    #[must_use]
    pub fn at(at: usize, outcome: FaultOutcome) -> Self {
        Self { seen: AtomicUsize::new(0), at, outcome, log: Mutex::new(Vec::new()) }
    }

    /// Only counts.
    #[must_use]
    pub fn none() -> Self {
        Self::at(usize::MAX, FaultOutcome::Dies)
    }

    /// How many calls there were.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    /// Restarts counting from zero.
    pub fn reset(&self) {
        self.seen.store(0, Ordering::SeqCst);
    }

    /// Every call there was.
    #[must_use]
    pub fn log(&self) -> Vec<(DiskOp, String)> {
        self.log.lock().map(|log| log.clone()).unwrap_or_default()
    }
}

impl Probe for Faults {
    fn before(&self, op: DiskOp, name: &str) -> Fault {
        let n = self.seen.fetch_add(1, Ordering::SeqCst);
        if let Ok(mut log) = self.log.lock() {
            log.push((op, name.to_owned()));
        }
        match self.outcome {
            _ if n < self.at => Fault::None,
            FaultOutcome::Fails(errno) if n == self.at => Fault::Fail(errno),
            FaultOutcome::Tears(errno) if n == self.at => Fault::Short(7, errno),
            FaultOutcome::Fails(_) | FaultOutcome::Tears(_) => Fault::None,
            FaultOutcome::DiesHalfWay if n == self.at => Fault::Short(7, EIO),
            FaultOutcome::Dies | FaultOutcome::DiesHalfWay => Fault::Fail(EIO),
        }
    }
}
