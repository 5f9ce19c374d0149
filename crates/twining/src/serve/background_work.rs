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

/// Works for memories until it is dropped.
pub(super) struct BackgroundWork(Arc<OpenMemories>);

#[derive(Default)]
struct OpenMemories(Mutex<Vec<Weak<ServedMemory>>>);

impl BackgroundWork {
    /// Starts both threads.
    pub(super) fn start() -> Self {
        let memories = Arc::<OpenMemories>::default();
        for (name, work) in
            [("embedder", make_vectors as fn(&Weak<OpenMemories>)), ("keeper", keep_house)]
        {
            let memories = Arc::downgrade(&memories);
            // Without a thread, words answer alone, and folders grow until they are opened again.
            drop(thread::Builder::new().name(name.to_owned()).spawn(move || work(&memories)));
        }
        Self(memories)
    }

    /// Works for this memory too, while it is open.
    pub(super) fn add(&self, memory: &Arc<ServedMemory>) {
        self.0.list().push(Arc::downgrade(memory));
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

fn make_vectors(memories: &Weak<OpenMemories>) {
    let mut is_unfinished = false;
    loop {
        if !is_unfinished {
            thread::sleep(LOOK);
        }
        is_unfinished = false;
        let Some(open) = memories.upgrade().map(|memories| memories.open()) else { return };
        for memory in open.iter().filter_map(Weak::upgrade) {
            let until = Instant::now() + TURN;
            let may_go_on = || Instant::now() < until && memories.strong_count() > 0;
            // Failing loses nothing: the next look finds the same to do.
            is_unfinished |= memory.make_vectors(&may_go_on).unwrap_or(false);
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
