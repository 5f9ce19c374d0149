//! The housekeeper: a thread that does, soon after a write, what no write waits
//! for; and goes on looking for ten seconds in case git takes something away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::board::RECENT_MS;
use crate::store::Store;

/// Writes that come together are kept house for together.
const GATHER: Duration = Duration::from_millis(50);
/// How often to look while git may still interfere.
const LOOK: Duration = Duration::from_millis(500);
/// How long the index's log may stay when there is little to do.
const QUIET_LOG_BYTES: u64 = 512 * 1024;
/// How long an ending process waits for a pass that is under way.
const PARTING: Duration = Duration::from_millis(50);
/// Housekeeping takes at most this share of the time: one part in so many.
const SHARE: u32 = 20;

/// Whether there is something to do, and a bell that rings when there is.
#[derive(Debug, Default)]
pub struct Work {
    waiting: Mutex<bool>,
    bell: Condvar,
}

impl Work {
    /// There is something to do.
    pub fn add(&self) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_all();
    }

    /// Whether there was something; from now on there is not.
    pub fn take(&self) -> bool {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn wait(&self, at_most: Option<Duration>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if *waiting {
            return;
        }
        match at_most {
            Some(time) => drop(self.bell.wait_timeout(waiting, time)),
            None => drop(self.bell.wait(waiting)),
        }
    }
}

/// Keeps house for a store until dropped.
pub struct Keeper {
    store: Arc<Store>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts keeping house.
    #[must_use]
    pub fn start(store: Arc<Store>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (inside, stopped) = (Arc::clone(&store), Arc::clone(&stop));
        // Without a thread, the work is done when the keeper is dropped.
        let thread = std::thread::Builder::new().name("keeper".to_owned()).spawn(move || keep(&inside, &stopped)).ok();
        Self { store, stop, thread }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let unfinished = self.store.work().take();
        self.stop.store(true, Ordering::Release);
        // Rings the bell, so that a waiting thread sees that it is over.
        self.store.work().add();
        // A pass that takes longer is cut short like a kill would, and is as harmless.
        let started = Instant::now();
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && started.elapsed() < PARTING {
            std::thread::sleep(Duration::from_millis(1));
        }
        if unfinished {
            // Nothing acknowledged depends on this; the next process does it otherwise.
            drop(self.store.leave());
        }
    }
}

fn keep(store: &Store, stop: &AtomicBool) {
    let mut watch_until: Option<Instant> = None;
    if store.is_behind().unwrap_or(false) {
        // A process before us ended in a hurry.
        store.work().add();
    }
    while !stop.load(Ordering::Acquire) {
        let idle = watch_until.is_none_or(|until| until < Instant::now());
        store.work().wait(if idle { None } else { Some(LOOK) });
        if stop.load(Ordering::Acquire) {
            return;
        }
        pause(GATHER, stop);
        if stop.load(Ordering::Acquire) {
            return;
        }
        if store.work().take() {
            watch_until = Some(Instant::now() + Duration::from_millis(u64::try_from(RECENT_MS).unwrap_or(10_000)));
        } else {
            // Nobody has written for a moment: the time for what flushes a lot.
            drop(store.settle_index(QUIET_LOG_BYTES));
        }
        let started = Instant::now();
        // Failing here loses nothing: the journal and the ring keep what is to be done.
        drop(store.housekeep());
        pause(started.elapsed() * SHARE, stop);
    }
}

/// Rests after long work, but not when asked to stop.
fn pause(time: Duration, stop: &AtomicBool) {
    let started = Instant::now();
    while started.elapsed() < time && !stop.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(2).min(time));
    }
}
