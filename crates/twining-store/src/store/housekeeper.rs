//! The housekeeper: a thread that does, soon after a write, the work no write waits for; then keeps
//! checking for ten seconds in case git removes something.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::project_store::Store;
use crate::log::board::RECENT_MS;

/// Writes that come together are kept house for together.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// How often to look while git may still interfere.
const WATCH_INTERVAL: Duration = Duration::from_millis(500);
/// How often to look when nothing is expected.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the index's log may stay when there is little to do.
const QUIET_WAL_BYTES: u64 = 512 * 1024;
/// How long an ending process waits for a pass that is under way.
const SHUTDOWN_WAIT: Duration = Duration::from_millis(50);
/// Housekeeping takes at most this share of the time: one part in so many.
const REST_FACTOR: u32 = 50;

/// Lets every other thread of the machine go first from now on.
pub fn lower_priority() {
    // Where it is refused, the work is only a little more noticeable.
    let _refused = rustix::process::nice(19).is_err();
}

/// Whether there is something to do, and a bell that rings when there is.
#[derive(Debug, Default)]
pub(super) struct PendingWork {
    state: Mutex<WorkState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WorkState {
    waiting: bool,
    over: bool,
}

impl PendingWork {
    /// There is something to do.
    pub(super) fn add(&self) {
        self.state().waiting = true;
        self.changed.notify_all();
    }

    /// Whether there was something; from now on there is not.
    pub(super) fn take(&self) -> bool {
        std::mem::take(&mut self.state().waiting)
    }

    /// There will be nothing more to do.
    fn end(&self) {
        self.state().over = true;
        self.changed.notify_all();
    }

    /// Pauses as long as `goes_on`, or so long; whether there may be more to do.
    fn pause(&self, time: Duration, goes_on: fn(&WorkState) -> bool) -> bool {
        let paused = self
            .changed
            .wait_timeout_while(self.state(), time, |state| !state.over && goes_on(state));
        !paused.map_or_else(|e| e.into_inner().0, |(state, _)| state).over
    }

    fn state(&self) -> MutexGuard<'_, WorkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps house for a store until dropped.
pub struct Housekeeper {
    store: Arc<Store>,
    thread: Option<JoinHandle<()>>,
}

impl Housekeeper {
    /// Starts keeping house.
    #[must_use]
    pub fn start(store: Arc<Store>) -> Self {
        store.is_long_lived.store(true, Ordering::Release);
        let inside = Arc::clone(&store);
        // Without a thread, the work is done when the housekeeper is dropped.
        let thread = std::thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(move || run_loop(&inside))
            .ok();
        Self { store, thread }
    }
}

impl Drop for Housekeeper {
    fn drop(&mut self) {
        self.store.work.end();
        // A pass that takes longer is cut short like a kill would, and is as harmless.
        let started = Instant::now();
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
            && started.elapsed() < SHUTDOWN_WAIT
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.store.work.take() {
            // Nothing acknowledged depends on this; the next process does it otherwise.
            drop(self.store.leave());
        }
    }
}

fn run_loop(store: &Store) {
    let work = &store.work;
    let mut watch_until: Option<Instant> = None;
    if store.has_backlog().unwrap_or(false) {
        // A process before us ended in a hurry, or was killed.
        work.add();
    }
    loop {
        let idle = watch_until.is_none_or(|until| until < Instant::now());
        if !work.pause(if idle { IDLE } else { WATCH_INTERVAL }, |state| !state.waiting)
            || !work.pause(DEBOUNCE, |_| true)
        {
            return;
        }
        let written = work.take();
        if written {
            watch_until = Some(
                Instant::now() + Duration::from_millis(u64::try_from(RECENT_MS).unwrap_or(10_000)),
            );
        } else {
            // Nobody has written for a moment: the time for what flushes a lot.
            drop(store.truncate_wal(QUIET_WAL_BYTES));
        }
        let started = Instant::now();
        // Failing here loses nothing: the journal and the ring keep what is to be done.
        let unfinished = store.housekeep_if_due().unwrap_or(false);
        if written && unfinished {
            work.add();
        }
        if !work.pause(started.elapsed() * REST_FACTOR, |_| true) {
            return;
        }
    }
}
