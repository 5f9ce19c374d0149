//! The store: one write at a time, planned on a view that is up to date and
//! carried out whole; reads on a snapshot, never behind the lock.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use twining_model::scope::{CaseFolding, ProjectRoot};
use twining_model::{Change, Entry, Id, IdSource, Time};

use super::checkpoint::{self, RewriteTiming};
use super::conflict_repair;
use super::conflict_repair::FileMergers;
use super::documents::Documents;
use super::housekeeper::PendingWork;
use super::journaled_writer::{PlannedChange, StoreWriter, WriteTarget};
use super::store_handle::OpenStore;
use crate::disk::layout::{CONFIG, Layout, StoreLocation, WRITE_LOCK};
use crate::disk::{self, Dir, Fingerprint, Probe};
use crate::error::{LogError, StoreError};
use crate::format::config::{self, Config};
use crate::index::embeddings::{VectorFile, VectorFiles};
use crate::index::{Index, IndexPool, RecordCounts, View};
use crate::log::array_file::ArrayWriter;
use crate::log::board::Board;
use crate::log::journal::Journal;
use crate::log::journal::Log;
use crate::log::lock::FileLock;
use crate::log::outbox_file::OutboxFile;
use crate::log::store_files::StoreFiles;

/// How much must be on the device before a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// In the file: survives a killed process and git, not a power cut.
    Normal,
    /// On the device.
    Strict,
}

/// What a change was planned on, and so what makes the plan out of date.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanBase {
    View,
    Files,
}

/// One project's memory.
pub struct Store {
    location: StoreLocation,
    ids: Arc<IdSource>,
    root: ProjectRoot,
    pub(super) probe: Option<Arc<dyn Probe>>,
    store: RwLock<Option<Arc<OpenStore>>>,
    config: Mutex<Option<(Option<Fingerprint>, Config)>>,
    /// Signals the housekeeper that work is pending.
    pub(super) work: PendingWork,
    /// For each queue: whether something that was taken may still grow.
    pub(super) drained: [AtomicBool; 2],
    /// Whether this process lives longer than a call or two.
    pub(super) is_long_lived: Arc<AtomicBool>,
    /// Deadline for the caller's wait for an answer, if short.
    deadline: Arc<OnceLock<Instant>>,
    /// What makes one of two sides, where that takes more than this crate knows.
    pub(crate) mergers: OnceLock<FileMergers>,
    /// The log that every write goes through, if there is one.
    pub(super) log: OnceLock<Arc<dyn Log>>,
    /// The log that a linked folder exchanges lines with, where it can be reached.
    pub(super) linked_log: RwLock<Option<Arc<dyn Log>>>,
    /// What the log has of a newer format, if it does.
    pub(super) log_too_new: Mutex<Option<LogError>>,
    /// The last line of the log that this process appended, and the last that it took in.
    pub(super) appended_through: AtomicU64,
    pub(super) followed_through: AtomicU64,
    /// One thread at a time asks for lines; who waits for it finds them taken in.
    pub(super) following: Mutex<()>,
    /// How often it was noted who is at work.
    pub(super) presence_notes: AtomicU64,
    /// Git's index when such files were last looked at.
    pub(crate) last_git_index: Mutex<Option<Fingerprint>>,
}

impl Store {
    /// The store of a project. Nothing is made, opened or read yet.
    pub fn open(location: StoreLocation, ids: Arc<IdSource>) -> Result<Self, StoreError> {
        Self::open_probed(location, ids, None)
    }

    /// The same, with a probe on every call to the disk.
    pub fn open_probed(
        mut location: StoreLocation,
        ids: Arc<IdSource>,
        probe: Option<Arc<dyn Probe>>,
    ) -> Result<Self, StoreError> {
        let given = location.project.clone();
        location.project = disk::canonical(&given)?;
        let root = ProjectRoot::new(
            [location.project.as_path(), given.as_path()]
                .into_iter()
                .chain(location.aliases.iter().map(|path| path.as_path())),
        );
        Ok(Self {
            location,
            ids,
            root,
            probe,
            store: RwLock::new(None),
            config: Mutex::new(None),
            work: PendingWork::default(),
            drained: [AtomicBool::new(true), AtomicBool::new(true)],
            is_long_lived: Arc::new(AtomicBool::new(false)),
            deadline: Arc::new(OnceLock::new()),
            mergers: OnceLock::new(),
            log: OnceLock::new(),
            linked_log: RwLock::new(None),
            log_too_new: Mutex::new(None),
            appended_through: AtomicU64::new(0),
            followed_through: AtomicU64::new(0),
            following: Mutex::new(()),
            presence_notes: AtomicU64::new(0),
            last_git_index: Mutex::new(None),
        })
    }

    /// Time and ids.
    #[must_use]
    pub fn ids(&self) -> &IdSource {
        &self.ids
    }

    /// The project folder, to make scopes relative to.
    #[must_use]
    pub fn root(&self) -> &ProjectRoot {
        &self.root
    }

    /// Where the project is, links resolved.
    #[must_use]
    pub fn location(&self) -> &StoreLocation {
        &self.location
    }

    /// Whether the volume distinguishes `A` from `a`.
    #[must_use]
    pub fn folding(&self) -> CaseFolding {
        self.open_for_reading()
            .ok()
            .flatten()
            .map_or(CaseFolding::Exact, |store| store.files.folding)
    }

    /// What the project is called.
    #[must_use]
    pub fn project_name(&self) -> String {
        let named = self.config().map(|config| config.project_name).unwrap_or_default();
        if !named.trim().is_empty() {
            return named;
        }
        self.location
            .project
            .file_name()
            .map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// The settings, read again when the file changes.
    pub fn config(&self) -> Result<Config, StoreError> {
        self.open_for_reading()?
            .map_or_else(|| Ok(Config::default()), |store| self.config_of(&store))
    }

    /// Appends entries to the blackboard, without the index. Where there is a log, they are in
    /// the log; the next view takes them in.
    pub fn post(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let change = Change::of_entries(entries.to_vec());
        let store = self.open_for_writing()?;
        if let Some(log) = self.log.get() {
            return self.append_unfollowed(&**log, &store, change);
        }
        if store.outbox.seal()?.is_some() {
            return self.write(Durability::Normal, &change);
        }
        StoreWriter::new(&store, store.lock.acquire()?, self.ids.now())?.commit(
            change.into(),
            None,
            Durability::Normal,
        )?;
        self.work.add();
        Ok(())
    }

    /// Plans a change on an up-to-date view and carries it out, whole or not at all. The
    /// plan may be asked more than once.
    pub fn transact<T, E: From<StoreError>>(
        &self,
        durability: Durability,
        mut plan: impl FnMut(&View<'_>) -> Result<(Change, T), E>,
    ) -> Result<T, E> {
        let store = self.open_for_writing()?;
        // Without the lock first: a long catch-up must not keep others from posting.
        store.catch_up()?;
        self.commit(&store, durability, PlanBase::View, |now| {
            store.catch_up()?;
            store.with_view(now, |view| {
                let (change, outcome) = plan(view)?;
                Ok((planned(view, change)?, outcome))
            })
        })
    }

    /// The same where the plan is made on some files, read under the lock, and not on the index.
    pub fn transact_on<'s, B, T, E: From<StoreError>>(
        &'s self,
        durability: Durability,
        read: impl Fn(&Documents<'s>) -> Result<B, StoreError>,
        mut plan: impl FnMut(&B) -> Result<(Change, T), E>,
    ) -> Result<T, E> {
        self.commit(&*self.open_for_writing()?, durability, PlanBase::Files, |_| {
            let (change, outcome) = plan(&read(&self.documents())?)?;
            Ok((change.into(), outcome))
        })
    }

    /// Carries out a change that is true whatever others wrote.
    pub fn write(&self, durability: Durability, change: &Change) -> Result<(), StoreError> {
        self.commit(&*self.open_for_writing()?, durability, PlanBase::Files, |_| {
            Ok((change.clone().into(), ()))
        })
    }

    /// Every write: through the log of a node, or of a linked clone where the plan needs it and
    /// the log answers; else at once.
    fn commit<T, E: From<StoreError>>(
        &self,
        store: &OpenStore,
        durability: Durability,
        planned_on: PlanBase,
        mut plan: impl FnMut(Time) -> Result<(PlannedChange, T), E>,
    ) -> Result<T, E> {
        if let Some(log) = self.log.get() {
            return self.commit_to_log(&**log, durability, planned_on, plan);
        }
        match self.linked_log() {
            Some(log) if store.outbox.seal()?.is_some() => {
                self.commit_linked(&*log, store, durability, planned_on, plan)
            }
            _ => self.commit_locally(store, durability, &mut plan),
        }
    }

    /// Takes the lock, completes what a killed writer left, plans, and carries the change out.
    pub(super) fn commit_locally<T, E: From<StoreError>>(
        &self,
        store: &OpenStore,
        durability: Durability,
        plan: &mut dyn FnMut(Time) -> Result<(PlannedChange, T), E>,
    ) -> Result<T, E> {
        let guard = store.lock.acquire()?;
        let now = self.ids.now();
        let mut writer = StoreWriter::recovered(store, guard, now)?;
        let (planned, outcome) = plan(now)?;
        let durability = if store.is_cache { Durability::Normal } else { durability };
        let wrote = writer.commit(planned, None, durability)?;
        if wrote != WriteTarget::Nothing {
            self.work.add();
        }
        drop(writer);
        match wrote {
            WriteTarget::Entries if durability == Durability::Strict => store.board.sync()?,
            WriteTarget::Journal if durability == Durability::Strict => store.journal.sync()?,
            _ => {}
        }
        Ok(outcome)
    }

    /// Reads on a snapshot that holds every write acknowledged before.
    pub fn view<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&View<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let now = self.ids.now();
        let Some(store) = self.open_for_reading()? else {
            let index = Index::in_memory()?;
            return read(&index.view(now, CaseFolding::Exact)?);
        };
        self.follow_own_lines()?;
        store.catch_up()?;
        store.with_view(now, read)
    }

    /// The same for one more question of a process that asked a moment ago: what was written since
    /// need not be seen.
    pub fn view_again<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&View<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match self.open_for_reading()? {
            Some(store) if store.index.is_open() => store.with_view(self.ids.now(), read),
            _ => self.view(read),
        }
    }

    /// The same for a process that has milliseconds: skips checking all decision files if that was
    /// done and their folder has not changed since; checks those that the answer cites. An uncited
    /// one that was edited in place may appear in its old state.
    pub fn view_without_scan<T, E: From<StoreError>>(
        &self,
        read: impl Fn(&View<'_>) -> Result<T, E>,
        cited: impl Fn(&T) -> Vec<Id>,
    ) -> Result<T, E> {
        if let Some(store) = self.open_for_reading()?
            // What is wrong is found out again below, where it can be dealt with.
            && store.is_unchanged_since_scan().unwrap_or(false)
        {
            let answer = store.with_view(self.ids.now(), |view| -> Result<Option<T>, E> {
                let answer = read(view)?;
                Ok(view
                    .decisions()
                    .are_files_unchanged(&cited(&answer), &store.files)?
                    .then_some(answer))
            });
            if let Ok(Some(answer)) = answer {
                return Ok(answer);
            }
        }
        self.view(read)
    }

    /// Works on the file of a model's vectors; nothing if there is no `.twining`.
    pub fn vectors<T>(
        &self,
        model: u64,
        work: impl FnOnce(&VectorFile) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.open_for_reading()?.map(|store| work(&store.vectors.of(model))).transpose()
    }

    /// Whether `.twining` is there.
    pub fn exists(&self) -> Result<bool, StoreError> {
        Ok(self.open_for_reading()?.is_some())
    }

    /// Rebuilds the index from the files, and returns its record counts.
    pub fn rebuild(&self) -> Result<RecordCounts, StoreError> {
        if let Some(store) = self.open_for_reading()? {
            store.rebuild_index()?;
        }
        self.view(|view| view.counts())
    }

    /// From now on, nobody waits longer than this for another process that has the
    /// index, all calls together: a host that waits for a hook goes on without it.
    pub fn set_deadline(&self, timeout: Duration) {
        let _ = self.deadline.set(Instant::now() + timeout);
    }

    /// What is done off the path of any call: flush, index, carry the journal
    /// into the arrays, and put back what git took from under a writer.
    pub fn housekeep(&self) -> Result<(), StoreError> {
        self.housekeep_when(RewriteTiming::Now)
    }

    fn housekeep_when(&self, when: RewriteTiming) -> Result<(), StoreError> {
        let Some(store) = self.open_for_reading()? else { return Ok(()) };
        self.work.take();
        if let Some(guard) = store.lock.try_acquire()? {
            let mut writer = StoreWriter::recovered(&store, guard, self.ids.now())?;
            writer.state.housekept_ms = self.ids.now().as_ms();
            writer.save_state()?;
        }
        store.flush_board()?;
        store.catch_up()?;
        let now = self.ids.now();
        conflict_repair::repair_after_git(&store, now)?;
        self.repair_with_mergers(&store)?;
        checkpoint::run(&store, now, when)?;
        // At once, while nobody waits: the next call then finds the index up to date.
        store.catch_up()?;
        self.truncate_wal(BUSY_WAL_BYTES)?;
        store.layout.remove_stale_temp_files((now.as_ms() - 3_600_000).saturating_mul(1_000_000))
    }

    /// Empties the index's log if it is longer than `most` bytes: the first to open the
    /// index reads all of it. It flushes, so a process in a hurry leaves it to others.
    pub fn truncate_wal(&self, max_bytes: u64) -> Result<(), StoreError> {
        let store = self.open_for_reading()?.filter(|_| self.deadline.get().is_none());
        store.map_or(Ok(()), |store| store.truncate_wal(max_bytes))
    }

    /// Whether what belongs to the memory is kept beside it, because it may only be read.
    #[must_use]
    pub fn uses_scratch_dir(&self) -> bool {
        self.current().is_some_and(|store| store.layout.scratch_dir.is_some())
    }

    /// Whether a process before us left the arrays behind, or the index's log long.
    pub(crate) fn has_backlog(&self) -> Result<bool, StoreError> {
        let Some(store) = self.open_for_reading()? else { return Ok(false) };
        Ok(checkpoint::is_due(&store.lock_state()?)
            || Index::wal_bytes(&store.files)? > LONG_WAL_BYTES)
    }

    /// What is left to do when a process ends. Blanks in arrays
    /// that take long to write are left to the next process.
    pub fn leave(&self) -> Result<(), StoreError> {
        let Some(store) = self.open_for_reading()? else { return Ok(()) };
        self.work.take();
        store.flush_board()?;
        let state = store.lock_state()?;
        let (large, journal) = (store.files.graph_bytes()? > QUICK_BYTES, store.journal.bytes()?);
        if (large && journal < LONG_JOURNAL_BYTES) || (!checkpoint::is_due(&state) && journal == 0)
        {
            return Ok(());
        }
        checkpoint::run(
            &store,
            self.ids.now(),
            if large { RewriteTiming::Quiet } else { RewriteTiming::Now },
        )
    }

    /// Keeps house after writes, where nobody else does: one thread for all stores of a process.
    /// Whether there was something to do.
    pub fn housekeep_after_writes(&self) -> Result<bool, StoreError> {
        if !self.work.take() {
            return Ok(false);
        }
        self.housekeep_when(RewriteTiming::Quiet)?;
        self.truncate_wal(LONG_WAL_BYTES).map(|()| true)
    }

    /// Says that this process lives long, and that somebody keeps house in it.
    pub fn stay_open(&self) {
        self.is_long_lived.store(true, Ordering::Release);
        if self.has_backlog().unwrap_or(false) {
            // A process before us ended in a hurry, or was killed.
            self.work.add();
        }
    }

    /// Keeps house unless another process has just begun to: what it flushes and
    /// indexes is ours too. Whether there may be something left to do.
    pub(crate) fn housekeep_if_due(&self) -> Result<bool, StoreError> {
        let Some(store) = self.open_for_reading()? else { return Ok(false) };
        let since = self.ids.now().as_ms() - store.lock_state()?.housekept_ms;
        if (0..TURN_MS).contains(&since) {
            return Ok(true);
        }
        self.housekeep_when(RewriteTiming::Quiet).map(|()| false)
    }

    fn config_of(&self, store: &OpenStore) -> Result<Config, StoreError> {
        let print = store.layout.top.print(CONFIG)?;
        let mut known = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seen, config)) = known.as_ref()
            && *seen == print
        {
            return Ok(config.clone());
        }
        let config = Config::load(&store.layout)?;
        *known = Some((print, config.clone()));
        Ok(config)
    }

    pub(crate) fn open_for_reading(&self) -> Result<Option<Arc<OpenStore>>, StoreError> {
        if let Some(store) = self.current() {
            return Ok(Some(store));
        }
        Layout::open(&self.location, self.probe.clone())?
            .map(|layout| self.open_layout(layout))
            .transpose()
    }

    pub(crate) fn open_for_writing(&self) -> Result<Arc<OpenStore>, StoreError> {
        let store = match self.open_for_reading()? {
            Some(store) => store,
            None => self.open_layout(Layout::make(&self.location.project, self.probe.clone())?)?,
        };
        let found = self.config_of(&store)?.version;
        if found > config::VERSION {
            return Err(StoreError::TooNew { found, known: config::VERSION });
        }
        Ok(store)
    }

    /// Returns the open store, unless its folders were replaced: git removes a directory with its
    /// last file, and creates a new one later.
    fn current(&self) -> Option<Arc<OpenStore>> {
        let store = self.store.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        store.is_current().then_some(store)
    }

    fn open_layout(&self, layout: Layout) -> Result<Arc<OpenStore>, StoreError> {
        let git = self
            .location
            .git_dir
            .as_ref()
            .and_then(|path| Dir::project(path, self.probe.clone()).ok());
        let store = Arc::new(OpenStore {
            lock: FileLock::new(&layout.local, WRITE_LOCK),
            checkpoint_lock: FileLock::new(&layout.local, "checkpoint.lock"),
            index_lock: FileLock::new(&layout.local, "index.lock"),
            board: Board::new(&layout, &self.location, git),
            journal: Journal::new(&layout.local),
            outbox: OutboxFile::new(&layout),
            files: StoreFiles::new(&layout, &self.is_long_lived),
            arrays: ArrayWriter::default(),
            index: IndexPool::default(),
            is_cache: self.location.is_cache,
            deadline: Arc::clone(&self.deadline),
            vectors: VectorFiles::new(&layout),
            project: Dir::project(&self.location.project, self.probe.clone())?,
            layout,
        });
        StoreWriter::recover_after_crash(&store, self.ids.now())?;
        *self.store.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&store));
        Ok(store)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("project", &self.location.project).finish_non_exhaustive()
    }
}

/// A change with the ids that the arrays do not have yet.
pub(super) fn planned(view: &View<'_>, change: Change) -> Result<PlannedChange, StoreError> {
    let mut new: HashSet<String> =
        change.decisions.iter().map(|decision| decision.id.to_string()).collect();
    let graph = view.graph();
    for entity in &change.entities {
        if !graph.has_entity(&entity.id)? {
            new.insert(entity.id.clone());
        }
    }
    for relation in &change.relations {
        if !graph.has_relation(&relation.id)? {
            new.insert(relation.id.clone());
        }
    }
    Ok(PlannedChange { change, new, sent_as: None })
}

/// How often one of many processes keeps house for all.
const TURN_MS: i64 = 400;
/// How long the index's log may grow while there is much to do.
const BUSY_WAL_BYTES: u64 = 64 * 1024 * 1024;
/// How much of a log is read within a fraction of a millisecond.
pub const SHORT_WAL_BYTES: u64 = 256 * 1024;
/// Size of a log that is read within a millisecond: more was left by a killed process, and the
/// process that finds it empties it, even if it only reads.
pub const LONG_WAL_BYTES: u64 = 8 * 1024 * 1024;
/// A journal of this size is shortened, whatever it takes.
const LONG_JOURNAL_BYTES: u64 = 1024 * 1024;
/// Arrays up to this size are written within a few milliseconds.
const QUICK_BYTES: u64 = 2 * 1024 * 1024;
