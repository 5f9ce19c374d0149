//! The sync worker: one thread per machine and folder, in whichever server has its lock, that
//! sends what waits and takes in what others wrote.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use twining_store::{Store, StoreError};

use super::team_link::TeamLink;

/// How long the service may hold a question for new lines.
const POLL_WAIT: Duration = Duration::from_secs(10);
/// The service is asked no more often than this.
const MIN_INTERVAL: Duration = Duration::from_millis(250);
/// How long to wait after a failure, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often a server looks whether the worker of another one is gone.
const TURN: Duration = Duration::from_secs(5);
const LINES: usize = 1024;

/// The running worker. Dropping it lets the thread end.
pub(crate) struct SyncWorker(Arc<WorkerStop>);

#[derive(Default)]
struct WorkerStop {
    is_stopped: AtomicBool,
    lock: Mutex<()>,
    moved: Condvar,
}

impl WorkerStop {
    /// Waits so long, or until the end; whether to go on.
    fn wait(&self, pause: Duration) -> bool {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.moved.wait_timeout_while(guard, pause, |()| !self.is_stopped());
        !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }
}

impl SyncWorker {
    /// Starts the thread.
    pub(crate) fn start(store: Arc<Store>, link: TeamLink) -> Self {
        let signal = Arc::new(WorkerStop::default());
        let stop = Arc::clone(&signal);
        // Not joined: it may wait for the service, and nothing acknowledged depends on it.
        std::thread::spawn(move || work(&store, &link, &stop));
        Self(signal)
    }
}

impl Drop for SyncWorker {
    fn drop(&mut self) {
        self.0.is_stopped.store(true, Ordering::Release);
        self.0.moved.notify_all();
    }
}

fn work(store: &Store, link: &TeamLink, stop: &WorkerStop) {
    while !stop.is_stopped() {
        if !store.outbox().is_linked().unwrap_or(false) {
            return;
        }
        match store.outbox().sync_lock() {
            Ok(Some(_lock)) => exchange(store, link, stop),
            _ => drop(stop.wait(TURN)),
        }
    }
}

/// Exchanges lines until the folder is linked no more.
fn exchange(store: &Store, link: &TeamLink, stop: &WorkerStop) {
    let mut pause = FIRST_PAUSE;
    while !stop.is_stopped() && store.outbox().is_linked().unwrap_or(false) {
        let begun = Instant::now();
        let answer = round(store, link);
        link.note(&answer);
        let wait = match answer {
            Ok(()) => {
                pause = FIRST_PAUSE;
                MIN_INTERVAL.saturating_sub(begun.elapsed())
            }
            Err(_) => {
                let wait = pause;
                pause = (pause * 2).min(LONGEST_PAUSE);
                wait
            }
        };
        if !stop.wait(wait) {
            return;
        }
    }
}

fn round(store: &Store, link: &TeamLink) -> Result<(), StoreError> {
    let log = link.log.probing();
    store.outbox().deliver(&log.reporting(outbox_age(store)?))?;
    let lines =
        log.reporting(outbox_age(store)?).poll(store.follower().position()?, LINES, POLL_WAIT)?;
    if lines.is_empty() { Ok(()) } else { store.follower().take_in(&lines) }
}

/// How long the oldest change that the log has not accepted has waited.
fn outbox_age(store: &Store) -> Result<Duration, StoreError> {
    let oldest = store.outbox().state()?.since;
    Ok(oldest.map_or(Duration::ZERO, |since| store.ids().now().since(since)))
}
