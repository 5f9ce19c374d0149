//! What hooks queue without a lock, taken by whoever comes next.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use twining_model::{Change, Entry};

use super::apply::Writer;
use super::open::{Durability, Store};
use super::room::Room;
use crate::error::StoreError;
use crate::format::config;
use crate::log::journal::Drained;
use crate::log::queue::{self, DrainCount, Queue};

/// What hooks queue.
#[derive(Clone, Copy, Debug)]
pub struct Queues<'s>(&'s Store);

impl Store {
    /// What hooks queue.
    #[must_use]
    pub fn queues(&self) -> Queues<'_> {
        Queues(self)
    }
}

impl Queues<'_> {
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
        self.drain(Queue::Actions, check, |writer, _, drained| queue::settle(&writer.room.layout, &drained))
    }

    fn drain<T>(
        &self,
        queue: Queue,
        make: &mut dyn FnMut(&str) -> Result<T, String>,
        mut keep: impl FnMut(&mut Writer<'_>, Vec<T>, Drained) -> Result<(), StoreError>,
    ) -> Result<DrainCount, StoreError> {
        let mut count = DrainCount::default();
        let Some(room) = self.queue_room(queue)? else { return Ok(count) };
        let Some(held) = room.lock_for_a_moment()? else { return Ok(count) };
        let now = self.0.ids().now();
        let mut writer = Writer::recovered(&room, held, now)?;
        for (lines, drained) in queue::take(&room.layout, queue, now)? {
            let (made, rejected) = queue::sort(&lines, make);
            queue::set_aside(&room.layout, &rejected, now)?;
            count.taken += made.len() as u64;
            count.rejected += rejected.len() as u64;
            keep(&mut writer, made, drained)?;
        }
        Ok(count)
    }

    /// Queues something to be done, as hooks do: no lock, and whoever comes next does it.
    pub fn queue_action(&self, line: &str) -> Result<(), StoreError> {
        self.0.reading_room()?.map_or(Ok(()), |room| queue::add(&room.layout, Queue::Actions, line))
    }

    /// How many lines from the queues were refused and set aside.
    pub fn rejected_lines(&self) -> Result<u64, StoreError> {
        self.0.reading_room()?.map_or(Ok(0), |room| queue::rejected(&room.layout))
    }

    /// The room, if there may be something in this queue.
    fn queue_room(&self, queue: Queue) -> Result<Option<Arc<Room>>, StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok(None) };
        let fresh = queue::is_waiting(&room.layout, queue)?;
        // What was taken is looked at once more, for a hook that still had it open.
        let late = self.0.drained[queue as usize].load(Ordering::Acquire) && queue::has_leftovers(&room.layout, queue)?;
        self.0.drained[queue as usize].store(fresh || late, Ordering::Release);
        let readable = self.0.config()?.version <= config::VERSION;
        Ok(((fresh || late) && readable).then_some(room))
    }
}
