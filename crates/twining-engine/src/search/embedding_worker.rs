//! Making vectors, off everybody's way: in the background, in batches, and
//! resumed wherever it was left.
//!
//! What is to do is found out by comparing the records with the vectors there
//! are, so nothing has to be remembered: after a crash the next look finds what
//! is missing. Of several processes one makes vectors for all. A question waits
//! for the few that are missing after a write, and makes them if nobody does; for
//! the many after a clone it does not wait.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use twining_embed::{Model, Vector};
use twining_store::{
    RowId, Store, StoreError, VectorKeys, View, decision_text, entry_text, vector_key,
};

use super::embedding_index::EmbeddingIndex;

/// Texts for each thread whose vectors are made and kept together.
const BATCH: usize = 8;
/// About how long a vector takes to make, with the texts that share its pass.
const EACH: Duration = Duration::from_millis(5);
/// Maximum number of threads that compute vectors; one processor is left to callers.
const MOST_THREADS: usize = 4;
/// How soon after its start the background begins, and how often it looks.
const FIRST: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(500);
/// How often a question looks whether another process is done.
const POLL: Duration = Duration::from_millis(20);

/// How far the vectors are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingProgress {
    /// Texts that wait for a vector.
    pub waiting: u64,
}

/// Asked after every few texts whether to make more.
pub type GoOn<'a> = dyn FnMut(EmbeddingProgress) -> bool + Send + 'a;

/// Whether somebody waits for the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    Awaited,
    Background,
}

/// The vectors of a store, and what is still to be made.
pub struct EmbeddingWorker {
    store: Arc<Store>,
    embedding_index: Arc<EmbeddingIndex>,
    backlog: Mutex<EmbeddingBacklog>,
    /// Whether a thread of this process has the turn to make vectors, or asks for it.
    leads: AtomicBool,
    threads: usize,
}

impl EmbeddingWorker {
    pub(crate) fn new(store: Arc<Store>, embedding_index: Arc<EmbeddingIndex>) -> Self {
        let threads = std::thread::available_parallelism()
            .map_or(1, |all| (all.get() - 1).clamp(1, MOST_THREADS));
        Self {
            store,
            embedding_index,
            backlog: Mutex::default(),
            leads: AtomicBool::new(false),
            threads,
        }
    }

    /// Finds out what is to be done.
    pub fn scan(&self) -> Result<EmbeddingProgress, StoreError> {
        if !self.store.config()?.search.embeddings {
            return Ok(EmbeddingProgress::default());
        }
        let mut backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
        backlog.scan(&self.store, &self.embedding_index)?;
        Ok(EmbeddingProgress { waiting: backlog.len() as u64 })
    }

    /// Makes every vector there is to make, in this thread, unless somebody is at
    /// it. `go_on` is asked after every few texts.
    pub fn make_all(&self, go_on: &mut GoOn<'_>) -> Result<(), StoreError> {
        if self.scan()?.waiting == 0 || self.leads.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.in_turn(Urgency::Background, go_on).map(drop)
    }

    /// Waits until every record has its vectors, and helps; but not longer than
    /// `patience`, and not at all where that is too short: words answer at once.
    /// How many are still without.
    pub(crate) fn wait(&self, timeout: Duration) -> Result<EmbeddingProgress, StoreError> {
        let until = Instant::now() + timeout;
        let mut embedding = self.scan()?;
        if u128::from(embedding.waiting) * EACH.as_millis() > timeout.as_millis() {
            return Ok(embedding);
        }
        while embedding.waiting > 0 && Instant::now() < until {
            let go_on: &mut GoOn<'_> = &mut |_| Instant::now() < until;
            // Another thread of this process that has the turn is helped.
            let helped = if self.leads.swap(true, Ordering::AcqRel) {
                self.make_some(Urgency::Awaited, go_on)
            } else {
                self.in_turn(Urgency::Awaited, go_on)
            };
            match helped {
                Ok(true) => {}
                // The last of them are in another's hands.
                Ok(false) => std::thread::sleep(POLL),
                // Words answer without them, and whose turn it is meets the same failure.
                Err(_) => return self.scan(),
            }
            embedding = self.scan()?;
        }
        Ok(embedding)
    }

    /// Makes vectors while it is this process's turn, which the caller has claimed
    /// among its threads; whether there was something to make.
    fn in_turn(&self, urgency: Urgency, go_on: &mut GoOn<'_>) -> Result<bool, StoreError> {
        let model = self.embedding_index.model.get().map_or(0, Model::identity);
        let worked = self.store.vectors(model, |file| {
            let Some(_turn) = file.try_embedding_lock()? else { return Ok(false) };
            let mut worked = false;
            while go_on(EmbeddingProgress { waiting: self.waiting() })
                && self.make_some(urgency, go_on)?
            {
                worked = true;
            }
            Ok(worked)
        });
        self.leads.store(false, Ordering::Release);
        worked.map(Option::unwrap_or_default)
    }

    /// Makes the vectors of one batch; whether there was one.
    fn make_some(&self, urgency: Urgency, go_on: &mut GoOn<'_>) -> Result<bool, StoreError> {
        let jobs =
            self.backlog.lock().unwrap_or_else(PoisonError::into_inner).take(BATCH * self.threads);
        if jobs.is_empty() {
            return Ok(false);
        }
        let made = self.make(&jobs, urgency, go_on);
        let mut backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
        match made {
            Ok(left) => {
                backlog.mark_done(&jobs);
                backlog.give_back(left);
                Ok(true)
            }
            // A full disk may have space later; these records are not queued again otherwise.
            Err(error) => {
                backlog.give_back(jobs);
                Err(error)
            }
        }
    }

    /// Computes vectors until told to stop; returns the jobs left.
    fn make(
        &self,
        jobs: &[EmbeddingJob],
        urgency: Urgency,
        go_on: &mut GoOn<'_>,
    ) -> Result<Vec<EmbeddingJob>, StoreError> {
        let Ok(model) = self.embedding_index.model.get() else { return Ok(Vec::new()) };
        let (mut left, mut texts) = (Vec::new(), Vec::new());
        self.store.view(|view| {
            for job in jobs {
                if let Some(text) = text_of(view, job)? {
                    left.push(Some(*job));
                    texts.push(text);
                }
            }
            Ok::<_, StoreError>(())
        })?;
        let mut made: Vec<(u64, Vector)> = Vec::with_capacity(texts.len());
        let mut compute = || {
            model.embed_each(&texts, self.threads, |number, vector| {
                made.push((vector_key(&texts[number]), vector));
                left[number] = None;
                match go_on(EmbeddingProgress { waiting: self.waiting() }) {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
        };
        match urgency {
            Urgency::Awaited => compute(),
            // Only the computing yields to others: a thread of low priority that holds a lock of
            // the store would make callers wait for whatever else runs on the machine.
            Urgency::Background => std::thread::scope(|scope| {
                scope.spawn(|| {
                    twining_store::lower_priority();
                    compute();
                });
            }),
        }
        self.embedding_index.add(&self.store, &made)?;
        Ok(left.into_iter().flatten().collect())
    }

    fn waiting(&self) -> u64 {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }
}

/// The text to make a vector of; nothing if its record is gone.
fn text_of(view: &View<'_>, job: &EmbeddingJob) -> Result<Option<String>, StoreError> {
    let (summary, text) = match *job {
        EmbeddingJob::Entry(row, _) if view.entries().header(row)?.is_some() => {
            let entry = view.entries().at_row(row)?;
            (entry.summary.trim().to_owned(), entry_text(&entry))
        }
        EmbeddingJob::Decision(row, _) if view.decisions().header(row)?.is_some() => {
            let decision = view.decisions().at_row(row)?;
            (decision.summary.trim().to_owned(), decision_text(&decision))
        }
        _ => return Ok(None),
    };
    // The row may hold something else by now: then its own turn comes later.
    let name = job.name();
    Ok([text, summary].into_iter().find(|text| vector_key(text) == name))
}

/// A thread that makes vectors until it is dropped.
pub struct EmbeddingThread {
    rest: Arc<StopSignal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct StopSignal {
    over: Mutex<bool>,
    bell: Condvar,
}

impl StopSignal {
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

impl EmbeddingThread {
    /// Starts making vectors, a moment from now.
    #[must_use]
    pub fn start(embedding_worker: Arc<EmbeddingWorker>) -> Self {
        let rest = Arc::new(StopSignal::default());
        let inside = Arc::clone(&rest);
        let work = move || {
            let mut pause = FIRST;
            while inside.rest(pause) {
                // Failing loses nothing: the next look finds the same to do.
                drop(embedding_worker.make_all(&mut |_| inside.goes_on()));
                pause = LOOK;
            }
        };
        // Without a thread, words answer alone.
        let thread = std::thread::Builder::new().name("embedder".to_owned()).spawn(work).ok();
        Self { rest, thread }
    }
}

impl Drop for EmbeddingThread {
    fn drop(&mut self) {
        *self.rest.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.rest.bell.notify_all();
        // Not joined: an interrupted batch is computed again, and shutdown must not wait for it.
        drop(self.thread.take());
    }
}

/// Records looked at in one go; nobody else reads meanwhile.
const STRETCH: usize = 4000;
/// Entries that are as likely asked for as decisions: the newest.
const RECENT: usize = 200;
/// How far the records were looked at, and the texts that wait.
#[derive(Default)]
pub(super) struct EmbeddingBacklog {
    entries: Option<(RowId, VectorKeys)>,
    decisions: Option<(RowId, VectorKeys)>,
    waiting: VecDeque<EmbeddingJob>,
    queued: HashSet<u64>,
    /// Those that were taken and are not made yet.
    making: HashSet<u64>,
    /// Which file of vectors the records were compared with.
    edition: u64,
}

/// A text waiting for its vector, by row and name.
#[derive(Clone, Copy, Debug)]
pub(super) enum EmbeddingJob {
    Entry(RowId, u64),
    Decision(RowId, u64),
}

impl EmbeddingJob {
    pub(super) fn name(self) -> u64 {
        let (Self::Entry(_, name) | Self::Decision(_, name)) = self;
        name
    }
}

impl EmbeddingBacklog {
    /// How many have no vector yet, those that are just being made among them.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.making.len()
    }

    /// The next texts: new ones first, then decisions, then older entries; newest first in each.
    pub(super) fn take(&mut self, most: usize) -> Vec<EmbeddingJob> {
        let from = self.waiting.len().saturating_sub(most);
        let jobs: Vec<EmbeddingJob> = self.waiting.split_off(from).into_iter().rev().collect();
        for job in &jobs {
            self.queued.remove(&job.name());
            self.making.insert(job.name());
        }
        jobs
    }

    /// Notes that what was taken is made, or can never be.
    pub(super) fn mark_done(&mut self, jobs: &[EmbeddingJob]) {
        for job in jobs {
            self.making.remove(&job.name());
        }
    }

    /// Takes back what was taken and not made.
    pub(super) fn give_back(&mut self, jobs: Vec<EmbeddingJob>) {
        self.mark_done(&jobs);
        for job in jobs.into_iter().rev() {
            if self.queued.insert(job.name()) {
                self.waiting.push_back(job);
            }
        }
    }

    /// Looks at the records that came since the last look, or at all if they
    /// are not those that were seen.
    pub(super) fn scan(
        &mut self,
        store: &Store,
        embedding_index: &EmbeddingIndex,
    ) -> Result<(), StoreError> {
        // The vectors may be gone, of records that were seen to have one.
        if self.entries.is_some() || self.decisions.is_some() {
            let edition = embedding_index.edition(store)?;
            if edition != self.edition {
                *self =
                    Self { edition, making: std::mem::take(&mut self.making), ..Self::default() };
            }
        }
        let before = self.waiting.len();
        loop {
            let fresh = store.view(|view| self.next_records(view))?;
            if fresh.is_empty() {
                break;
            }
            let unknown: HashSet<u64> = embedding_index
                .unknown(store, fresh.iter().map(|job| job.name()))?
                .into_iter()
                .collect();
            for job in fresh {
                if unknown.contains(&job.name())
                    && !self.making.contains(&job.name())
                    && self.queued.insert(job.name())
                {
                    self.waiting.push_back(job);
                }
            }
        }
        self.put_in_order(before);
        if before > 0 {
            self.strike_out_made(store, embedding_index)?;
        }
        Ok(())
    }

    /// Puts what came since in the order in which it is wanted, the first last.
    fn put_in_order(&mut self, from: usize) {
        let fresh = self.waiting.split_off(from).into_iter();
        let (decisions, entries): (Vec<EmbeddingJob>, Vec<EmbeddingJob>) =
            fresh.partition(|job| matches!(job, EmbeddingJob::Decision(..)));
        let (older, recent) = entries.split_at(entries.len().saturating_sub(RECENT));
        self.waiting.extend(older.iter().chain(&decisions).chain(recent));
    }

    /// Another process may have made what waits here.
    fn strike_out_made(
        &mut self,
        store: &Store,
        embedding_index: &EmbeddingIndex,
    ) -> Result<(), StoreError> {
        let unknown: HashSet<u64> =
            embedding_index.unknown(store, self.queued.iter().copied())?.into_iter().collect();
        if unknown.len() < self.queued.len() {
            self.waiting.retain(|job| unknown.contains(&job.name()));
            self.queued = unknown;
        }
        Ok(())
    }

    fn next_records(&mut self, view: &View<'_>) -> Result<Vec<EmbeddingJob>, StoreError> {
        let (entries, decisions) = (view.entries(), view.decisions());
        // git or an archive may have replaced what was seen: then all is looked at again.
        if let Some((row, sense)) = self.entries
            && entries.header(row)?.is_none_or(|header| header.vector_keys != sense)
        {
            self.entries = None;
        }
        if let Some((row, sense)) = self.decisions
            && decisions.header(row)?.is_none_or(|header| header.vector_keys != sense)
        {
            self.decisions = None;
        }
        let mut jobs = Vec::new();
        for (row, sense) in entries.vector_keys_after(self.entries.map(|(row, _)| row), STRETCH)? {
            jobs.extend(sense.names().map(|name| EmbeddingJob::Entry(row, name)));
            self.entries = Some((row, sense));
        }
        for (row, sense) in
            decisions.vector_keys_after(self.decisions.map(|(row, _)| row), STRETCH)?
        {
            jobs.extend(sense.names().map(|name| EmbeddingJob::Decision(row, name)));
            self.decisions = Some((row, sense));
        }
        Ok(jobs)
    }
}
