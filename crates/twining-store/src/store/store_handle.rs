//! The open folder: its files, its locks and its index, and the moves that both
//! reading and writing are made of.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use twining_model::{Id, Time, limits};

use super::project_store::Store;
use crate::disk::Dir;
use crate::disk::layout::{CONFIG, DEFAULT_FILES, FOLDER, Layout};
use crate::error::StoreError;
use crate::format::config::Config;
use crate::index::embeddings::VectorFiles;
use crate::index::{Index, IndexPool, PooledIndex, View};
use crate::log::array_file::ArrayWriter;
use crate::log::board::Board;
use crate::log::journal::Journal;
use crate::log::lock::{FileLock, LockGuard, LockState};
use crate::log::outbox_file::OutboxFile;
use crate::log::store_files::StoreFiles;

/// What a reader may wait for the write lock, to do something that can wait.
const BRIEF_WAIT: Duration = Duration::from_millis(50);
/// How long a call waits for another process that is building the index.
const INDEX_TIMEOUT: Duration = Duration::from_secs(120);

/// The open folder and all its contents.
pub(crate) struct OpenStore {
    /// The project's folder.
    pub(crate) project: Dir,
    pub(crate) layout: Layout,
    pub(crate) lock: FileLock,
    pub(crate) checkpoint_lock: FileLock,
    pub(crate) index_lock: FileLock,
    pub(crate) board: Board,
    pub(crate) journal: Journal,
    pub(crate) outbox: OutboxFile,
    pub(crate) files: StoreFiles,
    pub(crate) arrays: ArrayWriter,
    pub(crate) index: IndexPool,
    /// Whether the folder can be made again from a log: nothing is flushed.
    pub(crate) is_cache: bool,
    /// Deadline for the caller's wait, if short.
    pub(crate) deadline: Arc<OnceLock<Instant>>,
    pub(crate) vectors: VectorFiles,
}

impl OpenStore {
    /// Whether its folders are still the ones at their paths.
    pub(crate) fn is_current(&self) -> bool {
        let Layout { top, local, decisions, graph, scratch_dir } = &self.layout;
        top.is_still_at_path()
            && (scratch_dir.is_some()
                || [local, decisions, graph].iter().all(|dir| dir.is_still_at_path()))
    }

    /// Acquires the write lock for work that can wait until the next call: a reader must not wait
    /// for a hung writer.
    pub(crate) fn lock_briefly(&self) -> Result<Option<LockGuard<'_>>, StoreError> {
        self.lock.acquire_timeout(BRIEF_WAIT)
    }

    pub(crate) fn lock_state(&self) -> Result<LockState, StoreError> {
        LockState::of(&self.layout)
    }

    /// Flushes the board to the device.
    pub(crate) fn flush_board(&self) -> Result<(), StoreError> {
        if self.is_cache { Ok(()) } else { self.board.sync() }
    }

    /// How long to wait for another process that has the index.
    pub(crate) fn index_timeout(&self) -> Duration {
        self.deadline
            .get()
            .map_or(INDEX_TIMEOUT, |deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Brings the index up to the files.
    pub(crate) fn catch_up(&self) -> Result<(), StoreError> {
        self.bring_up_to_date(self.index.take()).map(drop)
    }

    fn bring_up_to_date<'p>(
        &self,
        mut pooled: PooledIndex<'p>,
    ) -> Result<PooledIndex<'p>, StoreError> {
        let shared = self.index.shared();
        if let Some(index) = pooled.get()
            && index.is_current(&self.files)?
        {
            return Ok(pooled);
        }
        drop(shared);
        let _exclusive = self.index.exclusive();
        let _lock = self.index_lock.acquire_within(self.index_timeout())?;
        match pooled.with_open(&self.files, |index| index.catch_up(&self.files)) {
            Ok(_) => Ok(pooled),
            Err(error) if error.is_corrupt() => {
                // The index is a cache: a broken one is thrown away, not reported.
                pooled.close_all();
                Index::destroy(&self.files)?;
                pooled.with_open(&self.files, |index| index.catch_up(&self.files))?;
                Ok(pooled)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the index can be queried as is, as far as is known without checking every decision
    /// file. A long-lived process knows what changed, and catches up instead.
    pub(crate) fn is_unchanged_since_scan(&self) -> Result<bool, StoreError> {
        if self.index.is_open() {
            return Ok(false);
        }
        let mut pooled = self.index.take();
        let _exclusive = self.index.exclusive();
        let _lock = self.index_lock.acquire_within(self.index_timeout())?;
        pooled.with_open(&self.files, |index| index.is_unchanged_since_scan(&self.files))
    }

    /// Reads on a snapshot of its own. The caller has caught up.
    pub(crate) fn with_view<T, E: From<StoreError>>(
        &self,
        now: Time,
        read: impl FnOnce(&View<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut pooled = self.index.take();
        if pooled.get().is_none() {
            pooled = self.bring_up_to_date(pooled)?;
        }
        let index = pooled.get().expect("opened above");
        read(&index.view(now, self.files.folding)?)
    }

    /// Rebuilds the index from the files.
    pub(crate) fn rebuild_index(&self) -> Result<(), StoreError> {
        let mut pooled = self.index.take();
        let _exclusive = self.index.exclusive();
        let _lock = self.index_lock.acquire_within(self.index_timeout())?;
        pooled.close_all();
        Index::destroy(&self.files)?;
        pooled.with_open(&self.files, |index| index.rebuild(&self.files)).map(drop)
    }

    /// Empties the index's log, of which `most` bytes may stay.
    pub(crate) fn truncate_wal(&self, max_bytes: u64) -> Result<(), StoreError> {
        let pooled = self.index.take();
        let Some(index) = pooled.get() else { return Ok(()) };
        let _exclusive = self.index.exclusive();
        match self.index_lock.try_acquire()? {
            Some(_lock) => index.truncate_wal(&self.files, max_bytes),
            None => Ok(()),
        }
    }
}

const RECEIPT: &str = "receipt";
const GITIGNORE: &str = ".gitignore";
/// The block that keeps the records of a linked clone out of git.
const BLOCK_BEGIN: &str = "# >>> twining link >>> the team's log has the records";
const BLOCK_END: &str = "# <<< twining link <<<";
/// What the records are, for git: files and folders of `.twining`.
pub const RECORD_PATHS: [&str; 8] = [
    "/blackboard.jsonl",
    "/decisions/",
    "/graph/",
    "/agents/",
    "/handoffs/",
    "/turns/",
    "/traces.jsonl",
    "/anchors.jsonl",
];
/// Bytes of a receipt; it holds pieces of settings files, never whole projects.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Returns the required git lines that a file of the folder lacks; none for settings, which are all
/// optional.
#[must_use]
pub fn missing_lines(name: &str, text: &str) -> Vec<&'static str> {
    let known = DEFAULT_FILES
        .iter()
        .find(|(known, _)| *known == name && name.starts_with(".git"))
        .map_or("", |(_, text)| *text);
    let is_there = |line: &&str| {
        text.lines().any(|there| there.split_whitespace().eq(line.split_whitespace()))
    };
    known.lines().filter(|line| !is_there(line)).collect()
}

/// What `init` and `uninstall` do to the folder.
#[derive(Clone, Copy, Debug)]
pub struct Installation<'s>(&'s Store);

impl Store {
    /// What `init` and `uninstall` do to the folder.
    #[must_use]
    pub fn installation(&self) -> Installation<'_> {
        Installation(self)
    }
}

impl Installation<'_> {
    /// Makes the folder where there is none, and adds what a folder made by
    /// another program lacks.
    pub fn prepare(&self) -> Result<(), StoreError> {
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        for (name, text) in DEFAULT_FILES {
            if store.layout.top.print(name)?.is_none() {
                store.layout.replace(&store.layout.top, name, text.as_bytes(), false)?;
            }
        }
        Ok(())
    }

    /// Appends the lines that the folder's git files lack, after their existing content.
    pub fn complete(&self) -> Result<(), StoreError> {
        self.prepare()?;
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        for (name, _) in DEFAULT_FILES {
            let bytes = store.layout.top.read(name, MAX_BYTES)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let missing = missing_lines(name, &text);
            if !missing.is_empty() {
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                store.layout.replace(
                    &store.layout.top,
                    name,
                    format!("{text}{gap}{}\n", missing.join("\n")).as_bytes(),
                    false,
                )?;
            }
        }
        Ok(())
    }

    /// Keeps records out of git with a block in `.gitignore`, or takes that block out. Returns
    /// whether anything changed.
    pub fn ignore_records(&self, are_ignored: bool) -> Result<bool, StoreError> {
        self.prepare()?;
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        let bytes = store.layout.top.read(GITIGNORE, MAX_BYTES)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<&str> = text.lines().collect();
        let begin = lines.iter().position(|line| *line == BLOCK_BEGIN);
        let end = lines.iter().position(|line| *line == BLOCK_END);
        if let (Some(begin), Some(end)) = (begin, end)
            && begin < end
        {
            lines.drain(begin..=end);
        }
        if are_ignored {
            lines.extend([BLOCK_BEGIN].into_iter().chain(RECORD_PATHS).chain([BLOCK_END]));
        }
        let after: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if after == text {
            return Ok(false);
        }
        store.layout.replace(&store.layout.top, GITIGNORE, after.as_bytes(), false)?;
        Ok(true)
    }

    /// Whether that block is in `.gitignore`: git does not have the records.
    pub fn are_records_ignored(&self) -> Result<bool, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(false) };
        let bytes = store.layout.top.read(GITIGNORE, MAX_BYTES)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).lines().any(|line| line == BLOCK_BEGIN))
    }

    /// Names the team's repository in `config.yml`, and returns whether it says so then: a file
    /// that cannot be read, or that names another, stays as it is.
    pub fn label_team(&self, repository: &Id) -> Result<bool, StoreError> {
        self.prepare()?;
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        let bytes = store.layout.top.read(CONFIG, limits::CONFIG_BYTES)?.unwrap_or_default();
        if Config::parse(&bytes).team == repository.as_str() {
            return Ok(true);
        }
        let odd = Config::parse(&bytes).notes.len();
        let text = String::from_utf8_lossy(&bytes);
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let after = format!("{text}{gap}team: {repository}\n");
        let config = Config::parse(after.as_bytes());
        if config.team != repository.as_str() || config.notes.len() > odd {
            return Ok(false);
        }
        store.layout.replace(&store.layout.top, CONFIG, after.as_bytes(), false)?;
        Ok(true)
    }

    /// Calls `read` with the folder while nobody writes, everything acknowledged being in its
    /// files.
    pub fn with_settled_files<T>(
        &self,
        read: impl FnOnce(&Path) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.0.housekeep()?;
        let store = self.0.open_for_writing()?;
        let _guard = store.lock.acquire()?;
        read(&self.0.location().project.join(FOLDER))
    }

    /// The receipt, as it was kept; none where there is none.
    pub fn receipt(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let local = &store.layout.local;
        let stored = local.read(RECEIPT, MAX_BYTES)?;
        // A receipt from a clone could control what we write over users' settings.
        let seal = local.identity()?;
        Ok(stored.and_then(|bytes| {
            bytes.strip_prefix(seal.as_bytes())?.strip_prefix(b"\n").map(<[u8]>::to_vec)
        }))
    }

    /// Keeps a receipt in place of the one before, or none.
    pub fn save_receipt(&self, receipt: Option<&[u8]>) -> Result<(), StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(()) };
        match receipt {
            Some(bytes) => {
                let sealed = [store.layout.local.identity()?.as_bytes(), b"\n", bytes].concat();
                store.layout.replace(&store.layout.local, RECEIPT, &sealed, true)
            }
            None => store.layout.local.remove(RECEIPT).map(drop),
        }
    }

    /// Removes the whole folder with everything that was ever recorded.
    pub fn purge(&self) -> Result<bool, StoreError> {
        let project = Dir::project(&self.0.location().project, None)?;
        // Of the thing itself: what a link leads to is not ours to remove.
        if project.open_dir(FOLDER)?.is_none() {
            return Ok(false);
        }
        project.remove_tree(FOLDER)?;
        Ok(true)
    }
}
