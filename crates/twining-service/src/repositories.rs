//! The repositories that are open on this node: each a folder that follows its log.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use twining_model::{Id, Time};
use twining_store::{Log, LogBase, LogError, NewLine, Store, StoreError};

use crate::database::{Database, HeadWatch, PgLog};
use crate::error::ServiceError;
use crate::principal::RemoteCaller;

/// How soon it is noticed that a repository was closed.
const CLOSED_AFTER: Duration = Duration::from_secs(5);
/// Lines that come sooner after others are taken in together. A read does not wait for it.
const COLLECTED_FOR: Duration = Duration::from_millis(250);
/// Says since which start of the machine a folder is there. Nothing in it is flushed: after
/// another start, parts may be missing.
const BOOT_FILE: &str = "boot";
/// Where the system says which start this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How often the log is compared with what was followed of it.
const COMPARED_EVERY: Duration = Duration::from_secs(4);
/// How soon lines that could not be taken in are asked for again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Opens a memory in a folder of a node; the program that serves has one.
pub trait MemoryOpener: Send + Sync + 'static {
    /// Opens the memory in this folder, whose store is to use this log.
    fn open(&self, folder: &Path, log: Arc<dyn Log>) -> Result<Arc<dyn Memory>, ServiceError>;
}

/// How a call begins.
pub enum CallStart {
    /// It is answered already.
    Answered(CallToolResult),
    /// It adds a line to the log, and is answered once the log has the line, or refused it.
    Appends(Box<NewLine>, FinishCall),
    /// It has to wait for more than that: [`Memory::call`] carries it out.
    Waits,
}

/// Answers a call whose line has this number, or was not taken.
pub type FinishCall = Box<dyn FnOnce(Result<u64, LogError>) -> CallToolResult + Send>;

/// The open memory of one repository.
pub trait Memory: Send + Sync + 'static {
    /// Its store.
    fn store(&self) -> &Store;

    /// Begins a call without waiting for anything, if it can be: short calls that only add a line
    /// wait for the log without a thread.
    fn start(
        self: Arc<Self>,
        tool: &str,
        arguments: &Map<String, Value>,
        caller: &RemoteCaller,
    ) -> CallStart {
        let _ = (tool, arguments, caller);
        CallStart::Waits
    }

    /// Runs a tool. Waits: only for threads that may block.
    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &RemoteCaller,
    ) -> CallToolResult;

    /// What a person is to be asked before this call, if anything. Waits: only for threads that
    /// may block.
    fn question(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &RemoteCaller,
    ) -> Option<String> {
        let _ = (tool, arguments, caller);
        None
    }

    /// Appends lines of a clone that planned them on the log as it is, and returns their numbers.
    fn append(
        &self,
        base: LogBase,
        lines: Vec<NewLine>,
        caller: &RemoteCaller,
    ) -> Result<Vec<u64>, StoreError> {
        let _ = caller;
        self.store().append_to_log(base, &lines)
    }

    /// Takes in lines that a clone planned on an old view, and returns their numbers.
    fn admit(&self, lines: Vec<NewLine>, caller: &RemoteCaller) -> Result<Vec<u64>, StoreError>;
}

/// The repositories that are open on this node: so many, and the least used makes room.
pub struct OpenRepositories {
    database: Database,
    opener: Arc<dyn MemoryOpener>,
    data: PathBuf,
    limit: usize,
    open: Mutex<RepositoryTable>,
}

#[derive(Default)]
struct RepositoryTable {
    slots: HashMap<(Id, Id), RepositorySlot>,
    /// Counts the calls, to know which slot was used last.
    calls: u64,
}

struct RepositorySlot {
    /// Locked while it is being opened, so that others open theirs meanwhile.
    repository: Arc<Mutex<Option<Arc<OpenRepository>>>>,
    used: u64,
}

impl OpenRepositories {
    /// Keeps at most `limit` repositories open, in folders below `data`.
    #[must_use]
    pub fn new(
        database: Database,
        opener: Arc<dyn MemoryOpener>,
        data: PathBuf,
        limit: usize,
    ) -> Self {
        Self { database, opener, data, limit: limit.max(1), open: Mutex::default() }
    }

    /// An open repository, opened if need be. Waits: only for threads that may block.
    pub fn get(&self, tenant: &Id, repo: &Id) -> Result<Arc<OpenRepository>, ServiceError> {
        let (slot, dropped) = self.slot(tenant, repo);
        // Closing takes a moment, for which nobody else should wait.
        drop(dropped);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(repository) = slot.as_ref().filter(|open| !open.is_of_other_log()) {
            return Ok(Arc::clone(repository));
        }
        *slot = None;
        let repository = self.open(tenant, repo)?;
        *slot = Some(Arc::clone(&repository));
        Ok(repository)
    }

    /// A repository that is open already, and can be had without waiting.
    pub(crate) fn opened(&self, tenant: &Id, repo: &Id) -> Option<Arc<OpenRepository>> {
        let of = (tenant.clone(), repo.clone());
        let mut table = self.table();
        table.calls += 1;
        let calls = table.calls;
        let slot = table.slots.get_mut(&of)?;
        slot.used = calls;
        let open = slot.repository.try_lock().ok()?.clone();
        open.filter(|open| !open.is_of_other_log())
    }

    /// How many are open.
    #[must_use]
    pub fn count(&self) -> usize {
        self.table().slots.len()
    }

    /// How long the open repository that is latest has been behind its log. One that is filled for
    /// the first time is not late.
    #[must_use]
    pub fn longest_lag(&self, now: Instant) -> Duration {
        let slots: Vec<SharedSlot> =
            self.table().slots.values().map(|slot| Arc::clone(&slot.repository)).collect();
        // One that is being opened is locked, and not late.
        let open = slots.iter().filter_map(|slot| slot.try_lock().ok()?.clone());
        open.map(|repository| repository.lag(now)).max().unwrap_or_default()
    }

    /// The place of a repository, and what had to make room for it.
    fn slot(&self, tenant: &Id, repo: &Id) -> (SharedSlot, Option<RepositorySlot>) {
        let mut table = self.table();
        table.calls += 1;
        let calls = table.calls;
        let of = (tenant.clone(), repo.clone());
        let mut dropped = None;
        if !table.slots.contains_key(&of) && table.slots.len() >= self.limit {
            let least = table.slots.iter().min_by_key(|(_, slot)| slot.used);
            let least = least.map(|(of, _)| of.clone());
            dropped = least.and_then(|of| table.slots.remove(&of));
        }
        let slot = table
            .slots
            .entry(of)
            .or_insert_with(|| RepositorySlot { repository: Arc::default(), used: calls });
        slot.used = calls;
        (Arc::clone(&slot.repository), dropped)
    }

    fn open(&self, tenant: &Id, repo: &Id) -> Result<Arc<OpenRepository>, ServiceError> {
        let head = self.database.wait(self.database.head(tenant, repo))?;
        let folder = self.data.join(tenant.as_str()).join(repo.as_str());
        if !is_of_this_boot(&folder) {
            remove_folder(&folder)?;
        }
        let mut memory = self.open_memory(&folder, tenant, repo)?;
        let log = self.database.log(tenant, repo);
        let follower = memory.store().follower();
        if follower.position()? > head || !follower.is_of(&*log)? {
            // The database is an older one than this folder followed, from a backup: what the
            // folder has beyond it counts no more.
            drop(memory);
            remove_folder(&folder)?;
            memory = self.open_memory(&folder, tenant, repo)?;
        }
        let repository = Arc::new(OpenRepository {
            memory,
            database: self.database.clone(),
            log,
            tenant: tenant.clone(),
            repo: repo.clone(),
            progress: Mutex::default(),
            shared_presence: AtomicU64::new(0),
            is_of_other_log: AtomicBool::new(false),
        });
        self.database.spawn(follow(Arc::downgrade(&repository), self.database.watch_head(repo)));
        Ok(repository)
    }

    fn open_memory(
        &self,
        folder: &Path,
        tenant: &Id,
        repo: &Id,
    ) -> Result<Arc<dyn Memory>, ServiceError> {
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(folder.join(BOOT_FILE), boot_id()))
            .map_err(|source| folder_error("make", folder, source))?;
        self.opener.open(folder, self.database.log(tenant, repo))
    }

    fn table(&self) -> MutexGuard<'_, RepositoryTable> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for OpenRepositories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenRepositories").field("count", &self.count()).finish_non_exhaustive()
    }
}

/// A repository that is open on this node.
pub struct OpenRepository {
    /// Its memory.
    pub memory: Arc<dyn Memory>,
    database: Database,
    log: Arc<PgLog>,
    tenant: Id,
    repo: Id,
    progress: Mutex<FollowProgress>,
    /// The last note of who is at work that other nodes were told of.
    shared_presence: AtomicU64,
    /// Whether its folder followed a log that the database does not have any more.
    is_of_other_log: AtomicBool,
}

/// How the folder of a repository keeps up with the log.
#[derive(Default)]
struct FollowProgress {
    /// When it was last known to have every line.
    complete_at: Option<Time>,
    /// Since when it lacks some, after it had them all.
    late_since: Option<Instant>,
}

impl OpenRepository {
    /// Follows the log to its end, so that a read sees whatever was acknowledged before. Waits:
    /// only for threads that may block.
    pub fn catch_up(&self) -> Result<(), ServiceError> {
        let asked_at = self.memory.store().ids().now();
        let head = self.database.wait(self.database.head(&self.tenant, &self.repo))?;
        let follower = self.memory.store().follower();
        if follower.position()? < head {
            self.note_late();
            follower.catch_up_to(head)?;
        }
        let mut progress = self.progress();
        *progress = FollowProgress { complete_at: Some(asked_at), late_since: None };
        Ok(())
    }

    /// Begins a call, if it only adds a line, and answers it without a thread that waits.
    pub(crate) async fn call_without_thread(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        caller: &RemoteCaller,
    ) -> Option<CallToolResult> {
        match Arc::clone(&self.memory).start(tool, arguments, caller) {
            CallStart::Answered(result) => Some(result),
            CallStart::Appends(line, finish) => {
                Some(finish(self.log.append_line(&line, &caller.principal).await))
            }
            CallStart::Waits => None,
        }
    }

    /// Takes in the lines up to one that the log is said to have. Waits: only for threads that may
    /// block.
    fn follow_to(&self, said: u64) -> Result<(), ServiceError> {
        self.memory.store().follower().catch_up_to(said)?;
        self.progress().late_since = None;
        Ok(())
    }

    /// Looks whether the log is still the one that the folder followed: a database that is restored
    /// from a backup beside a running node has another. Waits: only for threads that may block.
    fn compare_with_log(&self) -> Result<(), ServiceError> {
        if !self.memory.store().follower().is_of(&*self.log)? {
            self.is_of_other_log.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Whether whoever needs it next has to open it again, which makes its folder anew.
    fn is_of_other_log(&self) -> bool {
        self.is_of_other_log.load(Ordering::Acquire)
    }

    /// Until when the folder certainly has every line, for when the database does not answer.
    pub fn as_of(&self) -> Result<Option<Time>, ServiceError> {
        let store = self.memory.store();
        let complete_at = self.progress().complete_at;
        let Some((head, read_at)) = self.database.known_head(&self.repo) else {
            return Ok(complete_at);
        };
        if head == 0 || store.follower().position()? < head {
            return Ok(complete_at);
        }
        let ago = i64::try_from(read_at.elapsed().as_millis()).unwrap_or(i64::MAX);
        let polled_at = Time::from_ms(store.ids().now().as_ms().saturating_sub(ago));
        Ok(complete_at.max(Some(polled_at)))
    }

    /// Whether other nodes have not been told of this note of who is at work; from now on they
    /// have.
    pub(crate) fn is_news(&self, note: u64) -> bool {
        self.shared_presence.swap(note, Ordering::AcqRel) != note
    }

    /// Other nodes could not be told.
    pub(crate) fn forget_news(&self) {
        self.shared_presence.store(0, Ordering::Release);
    }

    /// How long the folder has been behind the log.
    fn lag(&self, now: Instant) -> Duration {
        let late_since = self.progress().late_since;
        late_since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }

    /// Notes that the log has lines that the folder lacks.
    fn note_late(&self) {
        let mut progress = self.progress();
        if progress.complete_at.is_some() && progress.late_since.is_none() {
            progress.late_since = Some(Instant::now());
        }
    }

    fn progress(&self) -> MutexGuard<'_, FollowProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for OpenRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenRepository")
            .field("tenant", &self.tenant)
            .field("repo", &self.repo)
            .finish_non_exhaustive()
    }
}

type SharedSlot = Arc<Mutex<Option<Arc<OpenRepository>>>>;

/// Takes in what others write, until the repository is closed.
async fn follow(repository: Weak<OpenRepository>, mut head: HeadWatch) {
    let mut next = tokio::time::Instant::now();
    let mut compared_at = next;
    loop {
        let waited = tokio::time::timeout(CLOSED_AFTER, head.moved()).await;
        let Some(repository) = repository.upgrade() else { return };
        if compared_at.elapsed() >= COMPARED_EVERY {
            let open = Arc::clone(&repository);
            // A database that does not answer is asked again.
            let _ = tokio::task::spawn_blocking(move || open.compare_with_log()).await;
            compared_at = tokio::time::Instant::now();
        }
        if repository.is_of_other_log() {
            return;
        }
        if waited.is_ok() {
            repository.note_late();
            tokio::time::sleep_until(next).await;
            next = tokio::time::Instant::now() + COLLECTED_FOR;
            let said = head.said();
            let mut repository = Some(repository);
            while let Some(open) = repository.take() {
                let weak = Arc::downgrade(&open);
                let followed = tokio::task::spawn_blocking(move || open.follow_to(said)).await;
                if matches!(followed, Ok(Err(_))) {
                    tokio::time::sleep(RETRY_AFTER).await;
                    repository = weak.upgrade();
                }
            }
        }
    }
}

/// Which start of the machine this is; empty where the system does not say.
fn boot_id() -> &'static [u8] {
    static ID: OnceLock<Vec<u8>> = OnceLock::new();
    ID.get_or_init(|| std::fs::read(BOOT_ID).unwrap_or_default())
}

fn is_of_this_boot(folder: &Path) -> bool {
    std::fs::read(folder.join(BOOT_FILE)).is_ok_and(|boot| boot == boot_id())
}

fn remove_folder(folder: &Path) -> Result<(), ServiceError> {
    let unless_gone = |removed: std::io::Result<()>| match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|error| folder_error("remove", folder, error)),
    };
    // First, so that a folder of which only a part was removed is not taken for a whole one.
    unless_gone(std::fs::remove_file(folder.join(BOOT_FILE)))?;
    unless_gone(std::fs::remove_dir_all(folder))
}

fn folder_error(doing: &'static str, folder: &Path, source: std::io::Error) -> ServiceError {
    ServiceError::Folder { doing, path: folder.display().to_string(), source }
}
