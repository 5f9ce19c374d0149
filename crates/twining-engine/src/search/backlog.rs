//! What is to be done: the texts without a vector.

use std::collections::{HashSet, VecDeque};

use twining_store::{Row, Sense, Store, StoreError, View};

use super::meanings::EmbeddingIndex;

/// Records looked at in one go; nobody else reads meanwhile.
const STRETCH: usize = 4000;
/// Entries that are as likely asked for as decisions: the newest.
const RECENT: usize = 200;
/// Vectors nobody needs are thrown away when they are more than the others, and this many.
const LITTER: usize = 20_000;

/// How far the records were looked at, and the texts that wait.
#[derive(Default)]
pub(super) struct EmbeddingBacklog {
    entries: Option<(Row, Sense)>,
    decisions: Option<(Row, Sense)>,
    waiting: VecDeque<EmbeddingJob>,
    queued: HashSet<u64>,
    /// Those that were taken and are not made yet.
    making: HashSet<u64>,
    /// Which file of vectors the records were compared with.
    edition: u64,
}

/// A text that waits, by the row it stands in and its name.
#[derive(Clone, Copy, Debug)]
pub(super) enum EmbeddingJob {
    Entry(Row, u64),
    Decision(Row, u64),
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

    /// The next texts: what was just said first, then decisions, then older entries; of each the newest.
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
    pub(super) fn scan(&mut self, store: &Store, embedding_index: &EmbeddingIndex) -> Result<(), StoreError> {
        let mut seen: HashSet<u64> = HashSet::new();
        // The vectors may be gone, of records that were seen to have one.
        if self.entries.is_some() || self.decisions.is_some() {
            let edition = embedding_index.edition(store)?;
            if edition != self.edition {
                *self = Self { edition, making: std::mem::take(&mut self.making), ..Self::default() };
            }
        }
        let is_first = self.entries.is_none() && self.decisions.is_none();
        let before = self.waiting.len();
        loop {
            let fresh = store.view(|view| self.next_records(view))?;
            if fresh.is_empty() {
                break;
            }
            if is_first {
                seen.extend(fresh.iter().map(|job| job.name()));
            }
            let unknown: HashSet<u64> = embedding_index.unknown(store, fresh.iter().map(|job| job.name()))?.into_iter().collect();
            for job in fresh {
                if unknown.contains(&job.name()) && !self.making.contains(&job.name()) && self.queued.insert(job.name()) {
                    self.waiting.push_back(job);
                }
            }
        }
        self.put_in_order(before);
        if is_first && embedding_index.len() > 2 * seen.len() + LITTER {
            embedding_index.shrink_to(store, &seen)?;
        }
        if before > 0 {
            self.strike_out_made(store, embedding_index)?;
        }
        Ok(())
    }

    /// Puts what came since in the order in which it is wanted, the first last.
    fn put_in_order(&mut self, from: usize) {
        let fresh = self.waiting.split_off(from).into_iter();
        let (decisions, entries): (Vec<EmbeddingJob>, Vec<EmbeddingJob>) = fresh.partition(|job| matches!(job, EmbeddingJob::Decision(..)));
        let (older, recent) = entries.split_at(entries.len().saturating_sub(RECENT));
        self.waiting.extend(older.iter().chain(&decisions).chain(recent));
    }

    /// Another process may have made what waits here.
    fn strike_out_made(&mut self, store: &Store, embedding_index: &EmbeddingIndex) -> Result<(), StoreError> {
        let unknown: HashSet<u64> = embedding_index.unknown(store, self.queued.iter().copied())?.into_iter().collect();
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
            && entries.card(row)?.is_none_or(|card| card.sense != sense)
        {
            self.entries = None;
        }
        if let Some((row, sense)) = self.decisions
            && decisions.card(row)?.is_none_or(|card| card.sense != sense)
        {
            self.decisions = None;
        }
        let mut jobs = Vec::new();
        for (row, sense) in entries.senses_after(self.entries.map(|(row, _)| row), STRETCH)? {
            jobs.extend(sense.names().map(|name| EmbeddingJob::Entry(row, name)));
            self.entries = Some((row, sense));
        }
        for (row, sense) in decisions.senses_after(self.decisions.map(|(row, _)| row), STRETCH)? {
            jobs.extend(sense.names().map(|name| EmbeddingJob::Decision(row, name)));
            self.decisions = Some((row, sense));
        }
        Ok(jobs)
    }
}
