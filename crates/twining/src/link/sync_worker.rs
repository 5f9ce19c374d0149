//! The sync worker: one per machine and folder, in whichever server has its lock, that sends what
//! waits and takes in what others wrote.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use twining_store::{Store, StoreError};

use super::lost_records;
use super::team_link::TeamLink;

/// Until then a server that starts serves its client alone.
const START_PAUSE: Duration = Duration::from_millis(200);
/// How long the service may hold a question for new lines.
const POLL_WAIT: Duration = Duration::from_secs(10);
/// The service is asked no more often than this.
const MIN_INTERVAL: Duration = Duration::from_millis(250);
/// How often it is looked who claims what: a guard reads it from the folder.
const CLAIMS_INTERVAL: Duration = Duration::from_secs(10);
/// How often it is looked whether something waits that could not be sent at once.
const SEND_INTERVAL: Duration = Duration::from_millis(500);
/// How long to wait after a failure, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often a server looks whether the worker of another one is gone.
const TURN: Duration = Duration::from_secs(5);
const LINES: usize = 1024;

/// The running worker. Dropping it lets the thread end.
pub(super) struct SyncWorker {
    stop: Arc<WorkerStop>,
    thread: JoinHandle<()>,
}

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
    pub(super) fn start(store: Arc<Store>, link: TeamLink) -> Self {
        let signal = Arc::new(WorkerStop::default());
        let stop = Arc::clone(&signal);
        // Not joined: it may wait for the service, and nothing acknowledged depends on it.
        let thread = std::thread::spawn(move || work(&store, &link, &signal));
        Self { stop, thread }
    }

    /// Whether it runs: it ends with the link.
    pub(super) fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }
}

impl Drop for SyncWorker {
    fn drop(&mut self) {
        self.stop.is_stopped.store(true, Ordering::Release);
        self.stop.moved.notify_all();
    }
}

fn work(store: &Store, link: &TeamLink, stop: &WorkerStop) {
    stop.wait(START_PAUSE);
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

/// Exchanges lines until the folder is linked no more. What waits is sent beside the question for new
/// lines, which the service may hold for long.
fn exchange(store: &Store, link: &TeamLink, stop: &WorkerStop) {
    std::thread::scope(|scope| {
        scope.spawn(|| repeat(store, link, stop, SEND_INTERVAL, || send(store, link)));
        let claims_at = Cell::new(None);
        repeat(store, link, stop, MIN_INTERVAL, || {
            let is_answered = receive(store, link)?;
            if claims_at.get().is_none_or(|at: Instant| at.elapsed() >= CLAIMS_INTERVAL) {
                link.follow_claims(&link.log.probing())?;
                claims_at.set(Some(Instant::now()));
            }
            Ok(is_answered)
        });
    });
}

/// Does it again and again, no more often than this, and more seldom while it fails.
fn repeat(
    store: &Store,
    link: &TeamLink,
    stop: &WorkerStop,
    interval: Duration,
    act: impl Fn() -> Result<bool, StoreError>,
) {
    let mut pause = FIRST_PAUSE;
    while !stop.is_stopped() && store.outbox().is_linked().unwrap_or(false) {
        let begun = Instant::now();
        let wait = match act() {
            Ok(is_answered) => {
                if is_answered {
                    link.note(&Ok(()));
                    pause = FIRST_PAUSE;
                }
                interval.saturating_sub(begun.elapsed())
            }
            Err(error) => {
                link.note(&Err(error));
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

/// Sends what waits; whether the log was asked.
fn send(store: &Store, link: &TeamLink) -> Result<bool, StoreError> {
    if !store.outbox().has_waiting()? {
        return Ok(false);
    }
    let log = link.asking()?;
    store.outbox().deliver(&log).map(|_| true)
}

/// Takes in what others wrote, once there is something.
fn receive(store: &Store, link: &TeamLink) -> Result<bool, StoreError> {
    let log = link.asking()?;
    lost_records::follow_again_if_lost(store, &log)?;
    let lines = log.poll(store.follower().position()?, LINES, POLL_WAIT)?;
    if !lines.is_empty() {
        store.follower().take_in(&lines)?;
    }
    lost_records::remember_counts(store)?;
    Ok(true)
}
