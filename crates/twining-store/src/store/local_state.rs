//! What only this machine knows: notes of hooks, small files in `local/hooks/` that one
//! process leaves for the next; recorded tool calls; counts. Nothing is lost with them but
//! patience, and what they say is not this crate's business.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use serde::de::DeserializeOwned;
use twining_model::{Change, Entry, limits};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::documents::PRESENCE;
use super::journaled_writer::StoreWriter;
use super::line_file::machine_dir;
use super::project_store::{Durability, Store};
use super::store_handle::OpenStore;
use crate::disk::Dir;
use crate::disk::layout::Layout;
use crate::error::StoreError;
use crate::format::config;
use crate::log::board::RotatingFile;
use crate::log::hook_queue;
use crate::log::hook_queue::{DrainCount, Queue};
use crate::log::journal::DrainedFile;

const HOOKS: &str = "hooks";
/// Bytes of one note.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Notes that are kept; a new session clears the rest away.
const MAX_NOTES: usize = 128;

/// How notes begin that are nobody's alone.
const SHARED: &str = "note-shared-";

const CALLS: RotatingFile = RotatingFile {
    name: "calls.jsonl",
    previous: "calls.old.jsonl",
    max_bytes: limits::CALLS_BYTES as u64,
};
/// How far back from the end the latest calls are looked for.
const LATEST_BYTES: u64 = 256 * 1024;
/// One line for each thing worth counting.
const METRICS: RotatingFile =
    RotatingFile { name: "metrics.jsonl", previous: "metrics-1.jsonl", max_bytes: 2 * 1024 * 1024 };

/// Returns a digest of the content, as text.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    format!("{:x}-{:032x}", bytes.len(), xxh3_128(bytes))
}

/// What only this machine knows: notes of hooks, tool calls, counts, files that moved.
#[derive(Clone, Copy, Debug)]
pub struct LocalState<'s>(pub(super) &'s Store);

impl LocalState<'_> {
    /// Reads a note; none where there is no memory yet, or it is no note of ours.
    pub fn note(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(hooks) = self.hooks()? else { return Ok(None) };
        Ok(hooks.open(&note_file(name))?.and_then(|handle| handle.read_all(MAX_BYTES).ok()))
    }

    /// Leaves a note. Where there is no memory yet, none is made for it.
    pub fn write_note(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(()) };
        let hooks = store.layout.local.make_dir(HOOKS)?;
        store.layout.replace(&hooks, &note_file(name), bytes, false)
    }

    /// The record in a note; none where there is none that can be read.
    #[must_use]
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&self.note(name).ok().flatten()?).ok()
    }

    /// Writes a record as a note, and returns whether that succeeded.
    pub fn write_json(&self, name: &str, record: &impl Serialize) -> bool {
        serde_json::to_vec(record).is_ok_and(|bytes| self.write_note(name, &bytes).is_ok())
    }

    /// Whether there is such a note.
    pub fn has_note(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.hooks()?.map_or(Ok(None), |hooks| hooks.print(&note_file(name)))?.is_some())
    }

    /// Clears the oldest notes away where there are too many.
    pub fn clear_notes(&self) -> Result<(), StoreError> {
        let Some(hooks) = self.hooks()? else { return Ok(()) };
        // What all sessions share is not a session's to age.
        let mut names = hooks.list()?;
        names.retain(|name| !name.starts_with(SHARED));
        if names.len() <= MAX_NOTES {
            return Ok(());
        }
        let mut aged = Vec::with_capacity(names.len());
        for name in names {
            let written = hooks.print(&name)?.unwrap_or_default().mtime_ns;
            aged.push((written, name));
        }
        aged.sort();
        let surplus = aged.len().saturating_sub(MAX_NOTES / 2);
        aged.into_iter().take(surplus).try_for_each(|(_, name)| hooks.remove(&name).map(drop))
    }

    /// Remembers that somebody called, if that costs no wait: a busy store is
    /// asked again at the next call.
    pub fn note_presence(
        &self,
        plan: impl FnOnce(Option<&[u8]>) -> String,
    ) -> Result<bool, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(false) };
        let Some(_guard) = store.lock.try_acquire()? else { return Ok(false) };
        let known = store.layout.local.read(PRESENCE, limits::AGENTS_BYTES)?;
        store.layout.replace(
            &store.layout.local,
            PRESENCE,
            plan(known.as_deref()).as_bytes(),
            false,
        )?;
        self.0.presence_notes.fetch_add(1, Ordering::AcqRel);
        Ok(true)
    }

    /// How often this process has noted who is at work.
    #[must_use]
    pub fn presence_notes(&self) -> u64 {
        self.0.presence_notes.load(Ordering::Acquire)
    }

    /// Identifies this folder among its copies; `None` if there is no folder.
    pub fn identity(&self) -> Result<Option<String>, StoreError> {
        self.0.open_for_reading()?.map(|store| store.layout.local.identity()).transpose()
    }

    /// Takes a note away.
    pub fn remove_note(&self, name: &str) -> Result<(), StoreError> {
        self.hooks()?.map_or(Ok(false), |hooks| hooks.remove(&note_file(name))).map(drop)
    }

    /// Records a call. Written before every tool call, so nobody waits: one append, no lock.
    /// Makes no folder.
    pub fn record_call(&self, line: &str) -> Result<(), StoreError> {
        if line.len() > limits::CALL_BYTES || line.contains('\n') {
            return Err(StoreError::TooLarge { bytes: line.len(), max_bytes: limits::CALL_BYTES });
        }
        let Some(store) = self.0.open_for_hooks()? else { return Ok(()) };
        CALLS.append(&machine_dir(&store.layout)?, format!("{line}\n").as_bytes())
    }

    /// The newest calls, oldest first, as many as a backtest replays.
    pub fn calls(&self) -> Result<Vec<String>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(Vec::new()) };
        let mut lines = lines_of(&CALLS.read(&machine_dir(&store.layout)?)?);
        let surplus = lines.len().saturating_sub(limits::CALLS);
        Ok(lines.split_off(surplus))
    }

    /// How many bytes the recorded calls take: it grows with every call, until the oldest go.
    pub fn calls_bytes(&self) -> Result<u64, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(0) };
        let dir = machine_dir(&store.layout)?;
        let prints = [dir.print(CALLS.previous)?, dir.print(CALLS.name)?];
        Ok(prints.iter().flatten().map(|print| print.size).sum())
    }

    /// The last few calls, oldest first.
    pub fn latest_calls(&self) -> Result<Vec<String>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(Vec::new()) };
        let Some(handle) = machine_dir(&store.layout)?.open(CALLS.name)? else {
            return Ok(Vec::new());
        };
        let (bytes, is_cut) = handle.read_tail(LATEST_BYTES)?;
        // The first line may have lost its beginning.
        Ok(lines_of(&bytes).split_off(usize::from(is_cut)))
    }

    /// Notes one line; nowhere if there is no `.twining`.
    pub fn note_metric(&self, line: &str) -> Result<(), StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(()) };
        METRICS.append(&store.layout.local, format!("{}\n", line.replace('\n', " ")).as_bytes())
    }

    /// The lines noted, the oldest first.
    pub fn metrics(&self) -> Result<Vec<String>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(Vec::new()) };
        Ok(lines_of(&METRICS.read(&store.layout.local)?))
    }

    fn hooks(&self) -> Result<Option<Dir>, StoreError> {
        self.0.open_for_reading()?.map_or(Ok(None), |store| store.layout.local.open_dir(HOOKS))
    }
}

impl Store {
    /// What only this machine knows.
    #[must_use]
    pub fn local_state(&self) -> LocalState<'_> {
        LocalState(self)
    }
}

/// A session's name is a host's word, and no path.
fn note_file(name: &str) -> String {
    let plain: String =
        name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(80).collect();
    format!("note-{plain}.json")
}

fn lines_of(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes)
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

const FOLDER: &str = "packs";
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The packs of one project.
pub struct Packs {
    layout: Layout,
    dir: Dir,
    seal: String,
    today: i64,
}

impl LocalState<'_> {
    /// The packs; none if there is no `.twining`.
    pub fn packs(&self) -> Result<Option<Packs>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let dir = store.layout.local.make_dir(FOLDER)?;
        // Of this folder alone: a pack that came with a clone has another seal.
        let (seal, today) = (dir.identity()?, self.0.ids().now().as_ms().div_euclid(DAY_MS));
        Ok(Some(Packs { layout: store.layout.clone(), dir, seal, today }))
    }
}

impl Packs {
    /// The key of what is made from these parts.
    #[must_use]
    pub fn key(&self, kind: &str, parts: &[&[u8]]) -> String {
        let mut hash = Xxh3::new();
        for part in std::iter::once(self.seal.as_bytes()).chain(parts.iter().copied()) {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        format!("{kind}-{:032x}", hash.digest128())
    }

    /// A pack, and that it was used today.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let is_it = |name: &String| name.rsplit_once('.').is_some_and(|(found, _)| found == key);
        let Some(name) = self.dir.list()?.into_iter().find(is_it) else { return Ok(None) };
        let bytes = self.dir.read(&name, limits::ANSWER_BYTES * 2)?;
        // Another process may have done it first; then it is as it should be.
        drop(self.dir.rename(&name, &self.dir, &self.name(key)));
        Ok(bytes)
    }

    /// Keeps a pack, and lets go of those that nobody used for so many days.
    pub fn put(&self, key: &str, bytes: &[u8], unused_days: i64) -> Result<(), StoreError> {
        self.layout.replace(&self.dir, &self.name(key), bytes, false)?;
        for name in self.dir.list()? {
            let used: Option<i64> = name.rsplit_once('.').and_then(|(_, day)| day.parse().ok());
            if used.is_none_or(|used| used < self.today - unused_days) {
                self.dir.remove(&name)?;
            }
        }
        Ok(())
    }

    fn name(&self, key: &str) -> String {
        format!("{key}.{}", self.today)
    }
}

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
    /// Takes the posts that hooks queued; each line once, whichever process drains.
    pub fn drain_posts(
        &self,
        make: &mut dyn FnMut(&str) -> Result<Entry, String>,
    ) -> Result<DrainCount, StoreError> {
        let drained = self.drain(Queue::Posts, make, |writer, entries, drained| {
            writer
                .commit(Change::of_entries(entries).into(), Some(drained), Durability::Normal)
                .map(drop)
        })?;
        self.0.work.add();
        Ok(drained)
    }

    /// Takes what hooks queued to be done; the caller then does it once.
    pub fn drain_actions(
        &self,
        check: &mut dyn FnMut(&str) -> Result<(), String>,
    ) -> Result<DrainCount, StoreError> {
        self.drain(Queue::Actions, check, |writer, _, drained| {
            hook_queue::mark_taken(&writer.store.layout, &drained)
        })
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
        for (lines, drained) in hook_queue::take(&store.layout, queue, now)? {
            let (made, rejected) = hook_queue::parse_lines(&lines, make);
            hook_queue::store_rejected(&store.layout, &rejected, now)?;
            count.taken += made.len() as u64;
            count.rejected += rejected.len() as u64;
            store_batch(&mut writer, made, drained)?;
        }
        Ok(count)
    }

    /// Queues an action, as hooks do: without a lock, for the next process to carry out.
    pub fn queue_action(&self, line: &str) -> Result<(), StoreError> {
        self.0
            .open_for_reading()?
            .map_or(Ok(()), |store| hook_queue::add(&store.layout, Queue::Actions, line))
    }

    /// How many lines from the queues were refused and set aside.
    pub fn rejected_lines(&self) -> Result<u64, StoreError> {
        self.0.open_for_reading()?.map_or(Ok(0), |store| hook_queue::rejected(&store.layout))
    }

    /// Returns the store if this queue may contain lines.
    fn store_with_queue(&self, queue: Queue) -> Result<Option<Arc<OpenStore>>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let fresh = hook_queue::has_new_lines(&store.layout, queue)?;
        // What was taken is looked at once more, for a hook that still had it open.
        let late = self.0.drained[queue as usize].load(Ordering::Acquire)
            && hook_queue::has_leftovers(&store.layout, queue)?;
        self.0.drained[queue as usize].store(fresh || late, Ordering::Release);
        let readable = self.0.config()?.version <= config::VERSION;
        Ok(((fresh || late) && readable).then_some(store))
    }
}
