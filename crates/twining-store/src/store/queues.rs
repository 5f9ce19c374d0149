//! What hooks queue without a lock, taken by whoever comes next.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use twining_model::{Change, Entry};

use super::open::{Durability, Store};
use super::room::Room;
use crate::error::StoreError;
use crate::format::config;
use crate::log::queue::{self, DrainCount, Queue};
use crate::log::record::Record;

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
        let Some(room) = self.queue_room(Queue::Posts)? else { return Ok(DrainCount::default()) };
        let Some(held) = room.lock_for_a_moment()? else { return Ok(DrainCount::default()) };
        let now = self.0.ids().now();
        let mut record = Record::read(held.file())?;
        room.recover(&mut record, now)?;
        let footing = room.board.settle(&mut record, now)?;
        let mut count = DrainCount::default();
        for batch in queue::take(&room.layout, Queue::Posts, now)? {
            let (entries, rejected) = queue::sort(&batch.lines, make);
            queue::set_aside(&room.layout, &rejected, now)?;
            count.taken += entries.len() as u64;
            count.rejected += rejected.len() as u64;
            let change = Change { entries, ..Change::default() };
            room.commit(change.into(), Some(batch.drained), Durability::Normal, footing, &mut record, &held, now)?;
        }
        record.write(held.file())?;
        self.0.work().add();
        Ok(count)
    }

    /// Takes what hooks queued to be done; the caller then does it once.
    pub fn drain_actions(&self, check: &mut dyn FnMut(&str) -> Result<(), String>) -> Result<DrainCount, StoreError> {
        let Some(room) = self.queue_room(Queue::Actions)? else { return Ok(DrainCount::default()) };
        let Some(held) = room.lock_for_a_moment()? else { return Ok(DrainCount::default()) };
        let now = self.0.ids().now();
        let mut count = DrainCount::default();
        for batch in queue::take(&room.layout, Queue::Actions, now)? {
            let mut rejected = Vec::new();
            for line in &batch.lines {
                match check(line) {
                    Ok(()) => count.taken += 1,
                    Err(reason) => rejected.push((line.clone(), reason)),
                }
            }
            count.rejected += rejected.len() as u64;
            queue::set_aside(&room.layout, &rejected, now)?;
            queue::settle(&room.layout, &batch.drained)?;
        }
        drop(held);
        Ok(count)
    }

    /// Queues something to be done, as hooks do: no lock, and whoever comes next does it.
    pub fn queue_action(&self, line: &str) -> Result<(), StoreError> {
        match self.0.reading_room()? {
            Some(room) => queue::add(&room.layout, Queue::Actions, line),
            None => Ok(()),
        }
    }

    /// How many lines from the queues were refused and set aside.
    pub fn rejected_lines(&self) -> Result<u64, StoreError> {
        match self.0.reading_room()? {
            Some(room) => queue::rejected(&room.layout),
            None => Ok(0),
        }
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
