//! The store: one write at a time, planned on a view that is up to date and
//! carried out whole; reads on a snapshot, never behind the lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use twining_model::scope::{Folding, Root};
use twining_model::{Change, Entry, Id, IdSource};

use crate::archive::{self, Archival, Archived};
use crate::board::Board;
use crate::checkpoint::{self, When};
use crate::config::{self, Config};
use crate::disk::{self, Dir, Fingerprint, Probe};
use crate::error::StoreError;
use crate::files::Files;
use crate::index::{Index, IndexPool, View};
use crate::journal::Journal;
use crate::keeper::Work;
use crate::layout::{CONFIG, Layout, Place};
use crate::lock::{Held, Lock};
use crate::mend::{self, Joiners};
use crate::queue::{self, DrainCount, Queue};
use crate::record::Record;
use crate::room::Room;
use crate::vectors::Vectors;

/// The lock file of writers.
pub const WRITE_LOCK: &str = "lock";

/// How much must be on the device before a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// In the file: survives a killed process and git, not a power cut.
    Normal,
    /// On the device.
    Strict,
}

/// What a rebuilt index holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Entries on the board.
    pub entries: u64,
    /// Decisions of any status.
    pub decisions: u64,
    /// Entities.
    pub entities: u64,
    /// Relations.
    pub relations: u64,
}

/// One project's memory.
pub struct Store {
    place: Place,
    ids: Arc<IdSource>,
    root: Root,
    probe: Option<Arc<dyn Probe>>,
    room: RwLock<Option<Arc<Room>>>,
    config: Mutex<Option<(Option<Fingerprint>, Config)>>,
    work: Work,
    /// For each queue: whether something that was taken may still grow.
    drained: [AtomicBool; 2],
    /// Whether this process lives longer than a call or two.
    stays: Arc<AtomicBool>,
    /// Until when whoever asks waits for an answer, if not for long.
    until: Arc<OnceLock<Instant>>,
    /// What makes one of two sides, where that takes more than this crate knows.
    pub(crate) joiners: OnceLock<Joiners>,
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
        match self.reading_room()? {
            Some(room) => self.config_of(&room),
            None => Ok(Config::default()),
        }
    }

    /// Appends entries to the blackboard, without the index.
    pub fn post(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let room = self.writing_room()?;
        let change = Change { entries: entries.to_vec(), ..Change::default() };
        let held = room.lock.take()?;
        let mut record = Record::read(held.file())?;
        let now = self.ids.now();
        let footing = room.board.settle(&mut record, now)?;
        let written = room.append_entries(&change, footing, &mut record, now);
        record.write(held.file())?;
        self.work.add();
        written
    }

    /// Plans a change on an up-to-date view and carries it out, whole or not at all.
    pub fn transact<T, E: From<StoreError>>(
        &self,
        durability: Durability,
        plan: impl FnOnce(&View<'_>) -> Result<(Change, T), E>,
    ) -> Result<T, E> {
        let room = self.writing_room()?;
        // Without the lock first: a long catch-up must not keep others from posting.
        room.catch_up()?;
        let held = room.lock.take()?;
        let (outcome, wrote) = self.commit_planned(&room, &held, plan)?;
        drop(held);
        if durability == Durability::Strict {
            match wrote {
                Wrote::Nothing => {}
                Wrote::Entries => room.board.sync()?,
                Wrote::Journal => room.journal.sync()?,
            }
        }
        Ok(outcome)
    }

    fn commit_planned<T, E: From<StoreError>>(
        &self,
        room: &Room,
        held: &Held<'_>,
        plan: impl FnOnce(&View<'_>) -> Result<(Change, T), E>,
    ) -> Result<(T, Wrote), E> {
        let now = self.ids.now();
        let mut record = Record::read(held.file())?;
        let before = record;
        room.recover(&mut record, now)?;
        let footing = room.board.settle(&mut record, now)?;
        if record != before {
            record.write(held.file())?;
        }
        room.catch_up()?;
        let (change, outcome) = room.with_view(now, plan)?;
        let wrote = if change.is_empty() {
            Wrote::Nothing
        } else if change.is_only_entries() {
            let written = room.append_entries(&change, footing, &mut record, now);
            record.write(held.file())?;
            written?;
            Wrote::Entries
        } else {
            room.commit(change, None, footing, &mut record, held, now)?;
            Wrote::Journal
        };
        self.work.add();
        Ok((outcome, wrote))
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

    /// Moves entries off the board.
    pub fn archive<E: From<StoreError>>(&self, choose: impl FnOnce(&View<'_>) -> Result<Archival, E>) -> Result<Archived, E> {
        let room = self.writing_room()?;
        room.catch_up()?;
        let held = room.lock.take()?;
        let now = self.ids.now();
        let mut record = Record::read(held.file())?;
        room.recover(&mut record, now)?;
        room.board.settle(&mut record, now)?;
        record.write(held.file())?;
        room.catch_up()?;
        let archival = room.with_view(now, choose)?;
        let archived = archive::move_out(&room.layout, &archival, now)?;
        if archived.moved > 0 {
            let dropped = archival.ids.iter().cloned().collect();
            let known = room.board.replaced(&mut record, &dropped);
            record.epoch = record.epoch.saturating_add(1);
            record.write(held.file())?;
            known?;
        }
        self.work.add();
        Ok(archived)
    }

    /// Takes what hooks queued to be posted; each line once, whoever asks.
    pub fn drain_posts(&self, make: &mut dyn FnMut(&str) -> Result<Entry, String>) -> Result<DrainCount, StoreError> {
        let Some(room) = self.queue_room(Queue::Posts)? else { return Ok(DrainCount::default()) };
        let Some(held) = room.lock_for_a_moment()? else { return Ok(DrainCount::default()) };
        let now = self.ids.now();
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
            room.commit(change, Some(batch.drained), footing, &mut record, &held, now)?;
        }
        record.write(held.file())?;
        self.work.add();
        Ok(count)
    }

    /// Takes what hooks queued to be done; the caller then does it once.
    pub fn drain_actions(&self, check: &mut dyn FnMut(&str) -> Result<(), String>) -> Result<DrainCount, StoreError> {
        let Some(room) = self.queue_room(Queue::Actions)? else { return Ok(DrainCount::default()) };
        let Some(held) = room.lock_for_a_moment()? else { return Ok(DrainCount::default()) };
        let now = self.ids.now();
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
        match self.reading_room()? {
            Some(room) => queue::add(&room.layout, Queue::Actions, line),
            None => Ok(()),
        }
    }

    /// How many lines from the queues were refused and set aside.
    pub fn rejected_lines(&self) -> Result<u64, StoreError> {
        match self.reading_room()? {
            Some(room) => queue::rejected(&room.layout),
            None => Ok(0),
        }
    }

    /// Works on the file of vectors; nothing if there is no `.twining`.
    pub fn vectors<T>(&self, work: impl FnOnce(&Vectors) -> Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        self.reading_room()?.map(|room| work(&room.vectors)).transpose()
    }

    /// Whether `.twining` is there.
    pub fn exists(&self) -> Result<bool, StoreError> {
        Ok(self.reading_room()?.is_some())
    }

    /// Builds the index anew from the files.
    pub fn rebuild(&self) -> Result<Rebuilt, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(Rebuilt::default()) };
        room.rebuild_index()?;
        self.view(|view| {
            let tally = view.tally()?;
            let decisions = tally.active + tally.provisional + tally.superseded + tally.overridden;
            Ok(Rebuilt { entries: tally.entries, decisions, entities: tally.entities, relations: tally.relations })
        })
    }

    /// Puts entries on the board for a writer that holds the lock for something else too.
    pub(crate) fn post_under(&self, held: &Held<'_>, room: &Room, entries: Vec<Entry>) -> Result<(), StoreError> {
        if entries.is_empty() {
            return Ok(());
        }
        let (mut record, now) = (Record::read(held.file())?, self.ids.now());
        let footing = room.board.settle(&mut record, now)?;
        let written = room.append_entries(&Change { entries, ..Change::default() }, footing, &mut record, now);
        // What was found out about the board holds whether or not the line went in.
        record.write(held.file())?;
        self.work.add();
        written
    }

    /// From now on, nobody waits longer than this for another process that has the
    /// index, all calls together: a host that waits for a hook goes on without it.
    pub fn hurry(&self, most: Duration) {
        let _ = self.until.set(Instant::now() + most);
    }

    /// From now on, what is worth its while only in a process that stays is done.
    pub(crate) fn stay(&self) {
        self.stays.store(true, Ordering::Release);
    }

    /// What tells a housekeeper that there is something to do.
    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    pub(crate) fn probe(&self) -> Option<Arc<dyn Probe>> {
        self.probe.clone()
    }

    /// What is done off the path of any call: flush, index, carry the journal
    /// into the arrays, and put back what git took from under a writer.
    pub fn housekeep(&self) -> Result<(), StoreError> {
        self.housekeep_when(When::Now)
    }

    fn housekeep_when(&self, when: When) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        self.work.take();
        self.look_after_git(&room)?;
        room.board.sync()?;
        let indexed = room.files.journal_seq();
        room.catch_up()?;
        let now = self.ids.now();
        mend::after_git(&room, now)?;
        self.mend_with_joiners(&room)?;
        checkpoint::run(&room, indexed, now, when)?;
        // At once, while nobody waits: the next call then finds the index up to date.
        room.catch_up()?;
        self.settle_index(LOG_BYTES)?;
        room.layout.sweep((now.as_ms() - 3_600_000).saturating_mul(1_000_000))
    }

    /// Empties the index's log where it would slow down the next process: the
    /// first to open the index reads all of it, and a hook has milliseconds.
    pub fn settle(&self) -> Result<(), StoreError> {
        self.settle_index(BRIEF_LOG_BYTES)
    }

    /// Empties the index's log, of which `most` bytes may stay.
    pub(crate) fn settle_index(&self, most: u64) -> Result<(), StoreError> {
        self.reading_room()?.map_or(Ok(()), |room| room.settle_index(most))
    }

    /// Whether what belongs to the memory is kept beside it, because it may only be read.
    #[must_use]
    pub fn is_beside(&self) -> bool {
        self.open_room().is_some_and(|room| room.layout.stand_in.is_some())
    }

    /// Whether the arrays lack what the journal holds.
    pub(crate) fn is_behind(&self) -> Result<bool, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(false) };
        let record = room.record()?;
        Ok(record.checkpoint_seq < record.applied_seq)
    }

    /// What is left to do when a process ends. Arrays that take long to write are
    /// left to the next process: the journal has what they lack.
    pub fn leave(&self) -> Result<(), StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(()) };
        self.work.take();
        room.board.sync()?;
        let record = room.record()?;
        let large = room.files.arrays_bytes()? > QUICK_BYTES;
        if record.checkpoint_seq == record.applied_seq || large {
            return Ok(());
        }
        let indexed = room.files.journal_seq();
        room.catch_up()?;
        checkpoint::run(&room, indexed, self.ids.now(), When::Now)
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

    fn look_after_git(&self, room: &Room) -> Result<(), StoreError> {
        let Some(held) = room.lock.try_take()? else { return Ok(()) };
        let now = self.ids.now();
        let mut record = Record::read(held.file())?;
        record.kept_ms = now.as_ms();
        let looked = room.recover(&mut record, now).and_then(|()| room.board.settle(&mut record, now));
        record.write(held.file())?;
        looked.map(|_| ())
    }

    fn config_of(&self, room: &Room) -> Result<Config, StoreError> {
        let print = room.layout.top.stat(CONFIG)?.map(|(_, print)| print);
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

    /// The room, if there may be something in this queue.
    fn queue_room(&self, queue: Queue) -> Result<Option<Arc<Room>>, StoreError> {
        let Some(room) = self.reading_room()? else { return Ok(None) };
        let fresh = queue::is_waiting(&room.layout, queue)?;
        // What was taken is looked at once more, for a hook that still had it open.
        let late = self.drained[queue as usize].load(Ordering::Acquire) && queue::has_leftovers(&room.layout, queue)?;
        self.drained[queue as usize].store(fresh || late, Ordering::Release);
        let readable = self.config_of(&room)?.version <= config::VERSION;
        Ok(((fresh || late) && readable).then_some(room))
    }

    pub(crate) fn reading_room(&self) -> Result<Option<Arc<Room>>, StoreError> {
        if let Some(room) = self.open_room() {
            return Ok(Some(room));
        }
        match Layout::open(&self.place, self.probe.clone())? {
            Some(layout) => self.move_in(layout).map(Some),
            None => Ok(None),
        }
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
        room.is_current(&self.place).then_some(room)
    }

    fn move_in(&self, layout: Layout) -> Result<Arc<Room>, StoreError> {
        let git = match &self.place.git_dir {
            Some(path) => Dir::project(path, self.probe.clone()).ok(),
            None => None,
        };
        let room = Arc::new(Room {
            lock: Lock::new(&layout.local, WRITE_LOCK),
            checkpoint_lock: Lock::new(&layout.local, "checkpoint.lock"),
            index_lock: Lock::new(&layout.local, "index.lock"),
            board: Board::new(&layout, &self.place.project, git),
            journal: Journal::new(&layout.local),
            files: Files::new(&layout, &self.stays),
            index: IndexPool::default(),
            until: Arc::clone(&self.until),
            vectors: Vectors::new(&layout),
            folding: layout.folding(),
            layout,
        });
        room.recover_after_crash(self.ids.now())?;
        *self.room.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&room));
        Ok(room)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("project", &self.place.project).finish_non_exhaustive()
    }
}

/// How often one of many processes keeps house for all.
const TURN_MS: i64 = 400;
/// How long the index's log may grow while there is much to do.
const LOG_BYTES: u64 = 64 * 1024 * 1024;
/// How much of a log is read within a fraction of a millisecond.
const BRIEF_LOG_BYTES: u64 = 256 * 1024;
/// Arrays up to this size are written within a few milliseconds.
const QUICK_BYTES: u64 = 2 * 1024 * 1024;

/// What a transaction put where, and so what to flush.
enum Wrote {
    Nothing,
    Entries,
    Journal,
}
