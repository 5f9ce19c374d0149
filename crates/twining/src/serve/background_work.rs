//! What a node does beside its calls, for all its open memories together: one thread makes
//! vectors, one memory after the other, and one keeps house.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use twining_service::Memory;

use super::served_memory::ServedMemory;

/// How often to look for records without vectors.
const LOOK: Duration = Duration::from_millis(500);
/// How long vectors of one memory are made before it is the next one's turn.
const TURN: Duration = Duration::from_millis(250);
/// How often to keep house where something was written.
const KEEP: Duration = Duration::from_secs(5);
/// Housekeeping takes at most this share of the time: one part in so many.
const REST_FACTOR: u32 = 20;

/// While somebody calls, vectors rest so many times as long as they work. Their low priority does
/// not do that alone: the database, and whoever else has a group of its own, shares the processors
/// with this program as a whole.
const VECTORS_REST_FACTOR: u32 = 2;
/// Somebody calls if a call came in so short a time ago.
const CALLING_FOR: Duration = Duration::from_millis(500);

/// Works for memories until it is dropped.
pub(super) struct BackgroundWork {
    memories: Arc<OpenMemories>,
    pub(super) calls: Arc<CallTimes>,
}

#[derive(Default)]
struct OpenMemories(Mutex<Vec<Weak<ServedMemory>>>);

/// When this node was last called.
#[derive(Default)]
pub(super) struct CallTimes(Mutex<Option<Instant>>);

impl CallTimes {
    /// There is a call.
    pub(super) fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Rests after this much work, if somebody calls.
    fn rest_after(&self, worked: Duration) {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < CALLING_FOR) {
            thread::sleep(worked * VECTORS_REST_FACTOR);
        }
    }
}

impl BackgroundWork {
    /// Starts both threads.
    pub(super) fn start() -> Self {
        let (memories, calls) = (Arc::<OpenMemories>::default(), Arc::<CallTimes>::default());
        let (of_vectors, of_housekeeping) = (Arc::downgrade(&memories), Arc::downgrade(&memories));
        let calls_seen = Arc::clone(&calls);
        // Without these threads, words answer alone, and folders grow until they are opened again.
        drop(start_thread("embedder", move || make_vectors(&of_vectors, &calls_seen)));
        drop(start_thread("keeper", move || keep_house(&of_housekeeping)));
        Self { memories, calls }
    }

    /// Works for this memory too, while it is open.
    pub(super) fn add(&self, memory: &Arc<ServedMemory>) {
        self.memories.list().push(Arc::downgrade(memory));
    }
}

impl OpenMemories {
    fn open(&self) -> Vec<Weak<ServedMemory>> {
        let mut memories = self.list();
        memories.retain(|memory| memory.strong_count() > 0);
        memories.clone()
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Weak<ServedMemory>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start_thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

fn make_vectors(memories: &Weak<OpenMemories>, calls: &CallTimes) {
    let mut is_unfinished = false;
    loop {
        if !is_unfinished {
            thread::sleep(LOOK);
        }
        is_unfinished = false;
        let Some(open) = memories.upgrade().map(|memories| memories.open()) else { return };
        for memory in open.iter().filter_map(Weak::upgrade) {
            let until = Instant::now() + TURN;
            let mut began = Instant::now();
            // Failing loses nothing: the next look finds the same to do.
            let stopped = memory.make_vectors(&mut || {
                calls.rest_after(began.elapsed());
                began = Instant::now();
                began < until && memories.strong_count() > 0
            });
            is_unfinished |= stopped.unwrap_or(false);
        }
    }
}

fn keep_house(memories: &Weak<OpenMemories>) {
    loop {
        thread::sleep(KEEP);
        let Some(open) = memories.upgrade().map(|memories| memories.open()) else { return };
        for memory in open.iter().filter_map(Weak::upgrade) {
            let began = Instant::now();
            // Failing loses nothing: the journal keeps what is to be done.
            if memory.store().housekeep_after_writes().unwrap_or(false) {
                drop(memory);
                thread::sleep(began.elapsed() * REST_FACTOR);
            }
        }
    }
}
