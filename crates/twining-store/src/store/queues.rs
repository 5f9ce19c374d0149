//! What hooks queue without a lock, taken by whoever comes next.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use twining_model::{Change, Entry};

use super::apply::StoreWriter;
use super::open::{Durability, Store};
use super::room::OpenStore;
use crate::error::StoreError;
use crate::format::config;
use crate::log::journal::DrainedFile;
use crate::log::queue::{self, DrainCount, Queue};

/// What hooks queue.
#[derive(Clone, Copy, Debug)]
pub struct HookQueues<'s>(&'s Store);

impl Store {
    /// What hooks queue.
    #[must_use]
    pub fn queues(&self) -> HookQueues<'_> {
        HookQueues(self)
    }
}

impl HookQueues<'_> {
    /// Takes what hooks queued to be posted; each line once, whoever asks.
    pub fn drain_posts(&self, make: &mut dyn FnMut(&str) -> Result<Entry, String>) -> Result<DrainCount, StoreError> {
        let drained = self.drain(Queue::Posts, make, |writer, entries, drained| {
            writer.commit(Change::of_entries(entries).into(), Some(drained), Durability::Normal).map(drop)
        })?;
        self.0.work.add();
        Ok(drained)
    }

    /// Takes what hooks queued to be done; the caller then does it once.
    pub fn drain_actions(&self, check: &mut dyn FnMut(&str) -> Result<(), String>) -> Result<DrainCount, StoreError> {
        self.drain(Queue::Actions, check, |writer, _, drained| queue::mark_taken(&writer.store.layout, &drained))
    }

    fn drain<T>(
        &self,
        queue: Queue,
        make: &mut dyn FnMut(&str) -> Result<T, String>,
        mut store_batch: impl FnMut(&mut StoreWriter<'_>, Vec<T>, DrainedFile) -> Result<(), StoreError>,
    ) -> Result<DrainCount, StoreError> {
        let mut count = DrainCount::default();
        let Some(store) = self.store_with_queue(queue)? else { return Ok(count) };
        let Some(guard) = store.lock_briefly()? else { return Ok(count) };
        let now = self.0.ids().now();
        let mut writer = StoreWriter::recovered(&store, guard, now)?;
        for (lines, drained) in queue::take(&store.layout, queue, now)? {
            let (made, rejected) = queue::parse_lines(&lines, make);
            queue::store_rejected(&store.layout, &rejected, now)?;
            count.taken += made.len() as u64;
            count.rejected += rejected.len() as u64;
            store_batch(&mut writer, made, drained)?;
        }
        Ok(count)
    }

    /// Queues something to be done, as hooks do: no lock, and whoever comes next does it.
    pub fn queue_action(&self, line: &str) -> Result<(), StoreError> {
        self.0.open_for_reading()?.map_or(Ok(()), |store| queue::add(&store.layout, Queue::Actions, line))
    }

    /// How many lines from the queues were refused and set aside.
    pub fn rejected_lines(&self) -> Result<u64, StoreError> {
        self.0.open_for_reading()?.map_or(Ok(0), |store| queue::rejected(&store.layout))
    }

    /// The room, if there may be something in this queue.
    fn store_with_queue(&self, queue: Queue) -> Result<Option<Arc<OpenStore>>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let fresh = queue::has_new_lines(&store.layout, queue)?;
        // What was taken is looked at once more, for a hook that still had it open.
        let late = self.0.drained[queue as usize].load(Ordering::Acquire) && queue::has_leftovers(&store.layout, queue)?;
        self.0.drained[queue as usize].store(fresh || late, Ordering::Release);
        let readable = self.0.config()?.version <= config::VERSION;
        Ok(((fresh || late) && readable).then_some(store))
    }
}
