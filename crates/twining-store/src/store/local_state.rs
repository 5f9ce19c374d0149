//! What only this machine knows: notes of hooks, small files in `local/hooks/` that one
//! process leaves for the next; recorded tool calls; counts. Nothing is lost with them but
//! patience, and what they say is not this crate's business.

use twining_model::limits;
use xxhash_rust::xxh3::xxh3_128;

use super::agents::PRESENCE;
use super::open::Store;
use super::traces::machine_dir;
use crate::disk::Dir;
use crate::error::StoreError;
use crate::log::rotating::RotatingFile;

const HOOKS: &str = "hooks";
/// Bytes of one note.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Notes that are kept; a new session clears the rest away.
const MAX_NOTES: usize = 128;

/// How notes begin that are nobody's alone.
const SHARED: &str = "note-shared-";

const CALLS: RotatingFile = RotatingFile { name: "calls.jsonl", previous: "calls.old.jsonl", max_bytes: limits::CALLS_BYTES as u64 };
/// How far back from the end the latest calls are looked for.
const LATEST_BYTES: u64 = 256 * 1024;
/// One line for each thing worth counting.
const METRICS: RotatingFile = RotatingFile { name: "metrics.jsonl", previous: "metrics-1.jsonl", max_bytes: 2 * 1024 * 1024 };

/// What tells some content from any other, in words.
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
    pub fn note_presence(&self, plan: impl FnOnce(Option<&[u8]>) -> String) -> Result<bool, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(false) };
        let Some(_guard) = store.lock.try_acquire()? else { return Ok(false) };
        let known = store.layout.local.read(PRESENCE, limits::AGENTS_BYTES)?;
        store.layout.replace(&store.layout.local, PRESENCE, plan(known.as_deref()).as_bytes(), false)?;
        Ok(true)
    }

    /// What tells this folder from every copy of it; none where there is none.
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

    /// The last few calls, oldest first.
    pub fn latest_calls(&self) -> Result<Vec<String>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(Vec::new()) };
        let Some(handle) = machine_dir(&store.layout)?.open(CALLS.name)? else { return Ok(Vec::new()) };
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
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(80).collect();
    format!("note-{plain}.json")
}

fn lines_of(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
