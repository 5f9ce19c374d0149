//! The store: one write at a time, planned on a view that is up to date and
//! carried out whole; reads on a snapshot, never behind the lock.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use twining_model::scope::{Folding, Root};
use twining_model::{Change, Entry, Id, IdSource, Time};

use super::apply::{Planned, Writer, Wrote};
use super::checkpoint::{self, When};
use super::documents::Documents;
use super::keeper::Work;
use super::mend::{self, Joiners};
use super::room::Room;
use crate::disk::layout::{CONFIG, Layout, Place, WRITE_LOCK};
use crate::disk::{self, Dir, Fingerprint, Probe};
use crate::error::StoreError;
use crate::format::config::{self, Config};
use crate::index::vectors::Vectors;
use crate::index::{Index, IndexPool, Tally, View};
use crate::log::array_file::ArrayFiles;
use crate::log::board::Board;
use crate::log::files::Files;
use crate::log::journal::Journal;
use crate::log::lock::Lock;
use crate::log::shared::Log;

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
pub(super) enum PlannedOn {
    View,
    Files,
}

/// One project's memory.
pub struct Store {
    place: Place,
    ids: Arc<IdSource>,
    root: Root,
    pub(super) probe: Option<Arc<dyn Probe>>,
    room: RwLock<Option<Arc<Room>>>,
    config: Mutex<Option<(Option<Fingerprint>, Config)>>,
    /// What tells a housekeeper that there is something to do.
    pub(super) work: Work,
    /// For each queue: whether something that was taken may still grow.
    pub(super) drained: [AtomicBool; 2],
    /// Whether this process lives longer than a call or two.
    pub(super) stays: Arc<AtomicBool>,
    /// Until when whoever asks waits for an answer, if not for long.
    until: Arc<OnceLock<Instant>>,
    /// What makes one of two sides, where that takes more than this crate knows.
    pub(crate) joiners: OnceLock<Joiners>,
    /// The log that the folder follows, if there is one.
    pub(super) log: OnceLock<Arc<dyn Log>>,
    /// Git's index when such files were last looked at.
    pub(crate) looked: Mutex<Option<Fingerprint>>,
}

impl Store {
    /// The store of a project. Nothing is made, opened or read yet.
    pub fn open(place: Place, ids: Arc<IdSource>) -> Result<Self, StoreError> {
        Self::open_probed(place, ids, None)
    }

    /// The same, with a probe on every call to the disk.
    pub fn open_probed(mut place: Place, ids: Arc<IdSource>, probe: Option<Arc<dyn Probe>>) -> Result<Self, StoreError> {
        let given = place.project.clone();
        place.project = disk::canonical(&given)?;
        let root = Root::new([place.project.as_path(), given.as_path()].into_iter().chain(place.aliases.iter().map(|path| path.as_path())));
        Ok(Self {
            place,
            ids,
            root,
            probe,
            room: RwLock::new(None),
            config: Mutex::new(None),
            work: Work::default(),
            drained: [AtomicBool::new(true), AtomicBool::new(true)],
            stays: Arc::new(AtomicBool::new(false)),
            until: Arc::new(OnceLock::new()),
            joiners: OnceLock::new(),
            log: OnceLock::new(),
            looked: Mutex::new(None),
        })
    }

    /// Time and ids.
    #[must_use]
    pub fn ids(&self) -> &IdSource {
        &self.ids
    }

    /// The project folder, to make scopes relative to.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Where the project is, links resolved.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Whether the volume tells `A` from `a`.
    #[must_use]
    pub fn folding(&self) -> Folding {
        self.reading_room().ok().flatten().map_or(Folding::Exact, |room| room.folding)
    }

    /// What the project is called.
    #[must_use]
    pub fn project_name(&self) -> String {
        let named = self.config().map(|config| config.project_name).unwrap_or_default();
        if !named.trim().is_empty() {
            return named;
        }
        self.place.project.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// The settings, read again when the file changes.
    pub fn config(&self) -> Result<Config, StoreError> {
        self.reading_room()?.map_or_else(|| Ok(Config::default()), |room| self.config_of(&room))
    }

    /// Appends entries to the blackboard, without the index.
    pub fn post(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let change = Change::of_entries(entries.to_vec());
        if self.log.get().is_some() {
            return self.write(Durability::Normal, &change);
        }
        let room = self.writing_room()?;
        Writer::new(&room, room.lock.take()?, self.ids.now())?.commit(change.into(), None, Durability::Normal)?;
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
        let room = self.writing_room()?;
        // Without the lock first: a long catch-up must not keep others from posting.
        room.catch_up()?;
        self.commit(&room, durability, PlannedOn::View, |now| {
            room.catch_up()?;
            room.with_view(now, |view| {
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
        self.commit(&*self.writing_room()?, durability, PlannedOn::Files, |_| {
            let (change, outcome) = plan(&read(&self.documents())?)?;
            Ok((change.into(), outcome))
        })
    }

    /// Carries out a change that is true whatever others wrote.
    pub fn write(&self, durability: Durability, change: &Change) -> Result<(), StoreError> {
        self.commit(&*self.writing_room()?, durability, PlannedOn::Files, |_| Ok((change.clone().into(), ())))
    }

    /// Every write: through the log if the folder follows one, else at once.
    fn commit<T, E: From<StoreError>>(
        &self,
        room: &Room,
        durability: Durability,
        planned_on: PlannedOn,
        mut plan: impl FnMut(Time) -> Result<(Planned, T), E>,
    ) -> Result<T, E> {
        match self.log.get() {
            Some(log) => self.commit_through(&**log, durability, planned_on, plan),
            None => self.commit_here(room, durability, &mut plan),
        }
    }

    /// Takes the lock, completes what a killed writer left, plans, and carries the change out.
    pub(super) fn commit_here<T, E: From<StoreError>>(
        &self,
        room: &Room,
        durability: Durability,
        plan: &mut dyn FnMut(Time) -> Result<(Planned, T), E>,
    ) -> Result<T, E> {
        let held = room.lock.take()?;
        let now = self.ids.now();
        let mut writer = Writer::recovered(room, held, now)?;
        let (planned, outcome) = plan(now)?;
        let wrote = writer.commit(planned, None, durability)?;
        if wrote != Wrote::Nothing {
            self.work.add();
        }
        drop(writer);
        match wrote {
            Wrote::Entries if durability == Durability::Strict => room.board.sync()?,
            Wrote::Journal if durability == Durability::Strict => room.journal.sync()?,
            _ => {}
        }
        Ok(outcome)
    }

    /// Reads on a snapshot that holds every write acknowledged before.
    pub fn view<T, E: From<StoreError>>(&self, read: impl FnOnce(&View<'_>) -> Result<T, E>) -> Result<T, E> {
        let now = self.ids.now();
        let Some(room) = self.reading_room()? else {
            let index = Index::in_memory()?;
            return read(&index.view(now, Folding::Exact)?);
        };
        room.catch_up()?;
        room.with_view(now, read)
    }

    /// The same for a process that has milliseconds: the decision files are not all
    /// looked at, if that was done and their folder has not changed since; those that
    /// the answer tells are. One that was changed in place and is not told may count
    /// as it was.
    pub fn glance<T, E: From<StoreError>>(&self, read: impl Fn(&View<'_>) -> Result<T, E>, told: impl Fn(&T) -> Vec<Id>) -> Result<T, E> {
        if let Some(room) = self.reading_room()?
            // What is wrong is found out again below, where it can be dealt with.
            && room.is_as_looked().unwrap_or(false)
        {
            let answer = room.with_view(self.ids.now(), |view| -> Result<Option<T>, E> {
                let answer = read(view)?;
                Ok(view.decisions().are_as_filed(&told(&answer), &room.files)?.then_some(answer))
            });
            if let Ok(Some(answer)) = answer {
                return Ok(answer);
            }
        }
        self.view(read)
    }

    /// Works on the file of vectors; nothing if there is no `.twining`.
    pub fn vectors<T>(&self, work: impl FnOnce(&Vectors) -> Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        self.reading_room()?.map(|room| work(&room.vectors)).transpose()
    }

    /// Whether `.twining` is there.
    pub fn exists(&self) -> Result<bool, StoreError> {
        Ok(self.reading_room()?.is_some())
    }

    /// Builds the index anew from the files, and tells what it holds.
    pub fn rebuild(&self) -> Result<Tally, StoreError> {
        if let Some(room) = self.reading_room()? {
            room.rebuild_index()?;
        }
        self.view(|view| view.tally())
    }

    /// From now on, nobody waits longer than this for another process that has the
    /// index, all calls together: a host that waits for a hook goes on without it.
    pub fn hurry(&self, most: Duration) {
        let _ = self.until.set(Instant::now() + most);
    }

    /// What is done off the path of any call: flush, index, carry the journal
    /// into the arrays, and put back what git took from under a writer.
    pub fn housekeep(&self) -> Result<(), StoreError> {
        self.housekeep_when(When::Now)
    }

    fn housekeep_when(&self, when: When) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        self.work.take();
        if let Some(held) = room.lock.try_take()? {
            let mut writer = Writer::recovered(&room, held, self.ids.now())?;
            writer.record.kept_ms = self.ids.now().as_ms();
            writer.note()?;
        }
        room.board.sync()?;
        room.catch_up()?;
        let now = self.ids.now();
        mend::after_git(&room, now)?;
        self.mend_with_joiners(&room)?;
        checkpoint::run(&room, now, when)?;
        // At once, while nobody waits: the next call then finds the index up to date.
        room.catch_up()?;
        self.settle(LOG_BYTES)?;
        room.layout.sweep((now.as_ms() - 3_600_000).saturating_mul(1_000_000))
    }

    /// Empties the index's log if it is longer than `most` bytes: the first to open the
    /// index reads all of it. It flushes, so a process in a hurry leaves it to others.
    pub fn settle(&self, most: u64) -> Result<(), StoreError> {
        let room = self.reading_room()?.filter(|_| self.until.get().is_none());
        room.map_or(Ok(()), |room| room.settle_index(most))
    }

    /// Whether what belongs to the memory is kept beside it, because it may only be read.
    #[must_use]
    pub fn is_beside(&self) -> bool {
        self.open_room().is_some_and(|room| room.layout.stand_in.is_some())
    }

    /// Whether a process before us left the arrays behind, or the index's log long.
    pub(crate) fn is_behind(&self) -> Result<bool, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(false) };
        Ok(checkpoint::is_due(&room.record()?) || Index::log_bytes(&room.files)? > LONG_LOG_BYTES)
    }

    /// What is left to do when a process ends. Blanks in arrays
    /// that take long to write are left to the next process.
    pub fn leave(&self) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        self.work.take();
        room.board.sync()?;
        let record = room.record()?;
        let (large, journal) = (room.files.graph_bytes()? > QUICK_BYTES, room.journal.bytes()?);
        if (large && journal < LONG_JOURNAL_BYTES) || (!checkpoint::is_due(&record) && journal == 0) {
            return Ok(());
        }
        checkpoint::run(&room, self.ids.now(), if large { When::Quiet } else { When::Now })
    }

    /// Keeps house unless another process has just begun to: what it flushes and
    /// indexes is ours too. Whether there may be something left to do.
    pub(crate) fn housekeep_in_turn(&self) -> Result<bool, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(false) };
        let since = self.ids.now().as_ms() - room.record()?.kept_ms;
        if (0..TURN_MS).contains(&since) {
            return Ok(true);
        }
        self.housekeep_when(When::Quiet).map(|()| false)
    }

    fn config_of(&self, room: &Room) -> Result<Config, StoreError> {
        let print = room.layout.top.print(CONFIG)?;
        let mut known = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seen, config)) = known.as_ref()
            && *seen == print
        {
            return Ok(config.clone());
        }
        let config = Config::load(&room.layout)?;
        *known = Some((print, config.clone()));
        Ok(config)
    }

    pub(crate) fn reading_room(&self) -> Result<Option<Arc<Room>>, StoreError> {
        if let Some(room) = self.open_room() {
            return Ok(Some(room));
        }
        Layout::open(&self.place, self.probe.clone())?.map(|layout| self.move_in(layout)).transpose()
    }

    pub(crate) fn writing_room(&self) -> Result<Arc<Room>, StoreError> {
        let room = match self.reading_room()? {
            Some(room) => room,
            None => self.move_in(Layout::make(&self.place.project, self.probe.clone())?)?,
        };
        let found = self.config_of(&room)?.version;
        if found > config::VERSION {
            return Err(StoreError::TooNew { found, known: config::VERSION });
        }
        Ok(room)
    }

    /// The room we are in, unless its folders were replaced: git removes a
    /// directory whose last file goes, and makes a new one later.
    fn open_room(&self) -> Option<Arc<Room>> {
        let room = self.room.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        room.is_current().then_some(room)
    }

    fn move_in(&self, layout: Layout) -> Result<Arc<Room>, StoreError> {
        let git = self.place.git_dir.as_ref().and_then(|path| Dir::project(path, self.probe.clone()).ok());
        let room = Arc::new(Room {
            lock: Lock::new(&layout.local, WRITE_LOCK),
            checkpoint_lock: Lock::new(&layout.local, "checkpoint.lock"),
            index_lock: Lock::new(&layout.local, "index.lock"),
            board: Board::new(&layout, &self.place.project, git),
            journal: Journal::new(&layout.local),
            files: Files::new(&layout, &self.stays),
            arrays: ArrayFiles::default(),
            index: IndexPool::default(),
            until: Arc::clone(&self.until),
            vectors: Vectors::new(&layout),
            folding: layout.folding(),
            project: Dir::project(&self.place.project, self.probe.clone())?,
            layout,
        });
        Writer::recover_after_crash(&room, self.ids.now())?;
        *self.room.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&room));
        Ok(room)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("project", &self.place.project).finish_non_exhaustive()
    }
}

/// A change with the ids that the arrays do not have yet.
pub(super) fn planned(view: &View<'_>, change: Change) -> Result<Planned, StoreError> {
    let mut new: HashSet<String> = change.decisions.iter().map(|decision| decision.id.to_string()).collect();
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
    Ok(Planned { change, new })
}

/// How often one of many processes keeps house for all.
const TURN_MS: i64 = 400;
/// How long the index's log may grow while there is much to do.
const LOG_BYTES: u64 = 64 * 1024 * 1024;
/// How much of a log is read within a fraction of a millisecond.
pub const BRIEF_LOG_BYTES: u64 = 256 * 1024;
/// How much of a log is read within a millisecond: more was left by a process that
/// was killed, and whoever finds it empties it, even if it only reads.
pub const LONG_LOG_BYTES: u64 = 8 * 1024 * 1024;
/// A journal of this size is shortened, whatever it takes.
const LONG_JOURNAL_BYTES: u64 = 1024 * 1024;
/// Arrays up to this size are written within a few milliseconds.
const QUICK_BYTES: u64 = 2 * 1024 * 1024;
