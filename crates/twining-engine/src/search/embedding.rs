//! Making vectors, off everybody's way: in the background, in batches, and
//! resumed wherever it was left.
//!
//! What is to do is found out by comparing the records with the vectors there
//! are, so nothing has to be remembered: after a crash the next look finds what
//! is missing. Of several processes one makes vectors for all; a question that
//! cannot wait for the background of its own process helps it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use twining_embed::{Bulk, Long, Vector};
use twining_store::{Store, StoreError, View, decision_text, entry_text, meaning_of};

use super::backlog::{Backlog, Job};
use super::meanings::Meanings;

/// Texts whose vectors are made and kept together.
const BATCH: usize = 16;
/// How soon after its start the background begins, and how often it looks.
const FIRST: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(500);
/// How often a question looks whether another process is done.
const POLL: Duration = Duration::from_millis(20);

/// How far the vectors are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Embedding {
    /// Texts that wait for a vector.
    pub waiting: u64,
}

/// The vectors of a store, and what is still to be made.
pub struct Study {
    store: Arc<Store>,
    meanings: Arc<Meanings>,
    backlog: Mutex<Backlog>,
    /// Whether it is this process's turn to make vectors.
    leads: AtomicBool,
}

impl Study {
    pub(crate) fn new(store: Arc<Store>, meanings: Arc<Meanings>) -> Self {
        Self { store, meanings, backlog: Mutex::default(), leads: AtomicBool::new(false) }
    }

    /// Finds out what is to be done.
    pub fn look(&self) -> Result<Embedding, StoreError> {
        if !self.store.config()?.search.embeddings {
            return Ok(Embedding::default());
        }
        let mut backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
        backlog.look(&self.store, &self.meanings)?;
        Ok(Embedding { waiting: backlog.len() as u64 })
    }

    /// Makes the vectors of one batch; whether there was one.
    fn make_some(&self) -> Result<bool, StoreError> {
        let jobs = self.backlog.lock().unwrap_or_else(PoisonError::into_inner).take(BATCH);
        if jobs.is_empty() {
            return Ok(false);
        }
        let made = self.make(&jobs);
        let mut backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
        match made {
            Ok(_) => backlog.settle(&jobs),
            // A disk that is full now has room later; nobody looks at these records again.
            Err(_) => backlog.give_back(jobs),
        }
        made
    }

    fn make(&self, jobs: &[Job]) -> Result<bool, StoreError> {
        let texts = self.store.view(|view| jobs.iter().map(|job| text_of(view, job)).collect::<Result<Vec<_>, StoreError>>())?;
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        let Ok(model) = self.meanings.model.get() else { return Ok(false) };
        let mut made: Vec<(u64, Vector)> = Vec::with_capacity(texts.len());
        model.embed_each(&texts, Bulk { threads: 1, long: Long::First }, |number, vectors| {
            made.extend(vectors.into_iter().next().map(|vector| (meaning_of(&texts[number]), vector)));
            ControlFlow::Continue(())
        });
        self.meanings.add(&self.store, &made)?;
        Ok(true)
    }

    /// Makes every vector there is to make, in this thread, unless another
    /// process is at it. `go_on` is asked between batches.
    pub fn make_all(&self, go_on: &mut dyn FnMut(Embedding) -> bool) -> Result<(), StoreError> {
        if self.look()?.waiting == 0 {
            return Ok(());
        }
        let worked = self.store.vectors(|file| {
            let Some(_turn) = file.take_turn()? else { return Ok(()) };
            self.leads.store(true, Ordering::Release);
            let mut worked = Ok(());
            while worked.is_ok() && go_on(Embedding { waiting: self.waiting() }) {
                match self.make_some() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => worked = Err(error),
                }
            }
            self.leads.store(false, Ordering::Release);
            worked
        });
        worked.map(|_| ())
    }

    /// Waits until every record has its vectors, and helps; but not longer than
    /// `patience`. How many are still without.
    pub(crate) fn wait(&self, patience: Duration) -> Result<Embedding, StoreError> {
        let started = Instant::now();
        loop {
            let embedding = self.look()?;
            if embedding.waiting == 0 || started.elapsed() >= patience {
                return Ok(embedding);
            }
            let helped = match self.leads.load(Ordering::Acquire) {
                true => self.help(started, patience),
                false => Ok(false),
            };
            match helped {
                Ok(true) => {}
                // The last of them are in another's hands.
                Ok(false) => std::thread::sleep(POLL),
                // Words answer without them, and whose turn it is meets the same failure.
                Err(_) => return self.look(),
            }
        }
    }

    /// Whether there was something to help with.
    fn help(&self, started: Instant, patience: Duration) -> Result<bool, StoreError> {
        let mut helped = false;
        while started.elapsed() < patience && self.make_some()? {
            helped = true;
        }
        Ok(helped)
    }

    fn waiting(&self) -> u64 {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }
}

/// The text to make a vector of; nothing if its record is gone.
fn text_of(view: &View<'_>, job: &Job) -> Result<Option<String>, StoreError> {
    let (summary, text) = match *job {
        Job::Entry(row, _) if view.entries().sense_at(row)?.is_some() => {
            let entry = view.entries().at_row(row)?;
            (entry.summary.trim().to_owned(), entry_text(&entry))
        }
        Job::Decision(row, _) if view.decisions().sense_at(row)?.is_some() => {
            let decision = view.decisions().at_row(row)?;
            (decision.summary.trim().to_owned(), decision_text(&decision))
        }
        _ => return Ok(None),
    };
    // The row may hold something else by now: then its own turn comes later.
    let name = job.name();
    Ok([text, summary].into_iter().find(|text| meaning_of(text) == name))
}

/// A thread that makes vectors until it is dropped.
pub struct Embedder {
    rest: Arc<Rest>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Rest {
    over: Mutex<bool>,
    bell: Condvar,
}

impl Rest {
    /// Rests; whether to go on.
    fn rest(&self, time: Duration) -> bool {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let rested = self.bell.wait_timeout_while(over, time, |over| !*over);
        !*rested.map_or_else(|e| e.into_inner().0, |(over, _)| over)
    }

    fn goes_on(&self) -> bool {
        !*self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Embedder {
    /// Starts making vectors, a moment from now.
    #[must_use]
    pub fn start(study: Arc<Study>) -> Self {
        let rest = Arc::new(Rest::default());
        let inside = Arc::clone(&rest);
        let work = move || {
            twining_store::step_back();
            let mut pause = FIRST;
            while inside.rest(pause) {
                // Failing loses nothing: the next look finds the same to do.
                drop(study.make_all(&mut |_| inside.goes_on()));
                pause = LOOK;
            }
        };
        // Without a thread, words answer alone.
        let thread = std::thread::Builder::new().name("embedder".to_owned()).spawn(work).ok();
        Self { rest, thread }
    }
}

impl Drop for Embedder {
    fn drop(&mut self) {
        *self.rest.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.rest.bell.notify_all();
        // Not waited for: a batch cut short is made again, and whoever ends must not wait for it.
        drop(self.thread.take());
    }
}
