//! Tells a process that stays open when the memory may have changed: `.twining/`, its folders,
//! git's HEAD, and the feature list and graph where they are kept elsewhere.
//!
//! On Linux the system says so, through a descriptor one can poll beside others; nothing runs
//! until then. Elsewhere, or where the system refuses, fingerprints are compared every two
//! seconds. What readers write themselves (the index, vectors, locks) is no change: a reader
//! must not wake itself.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use xxhash_rust::xxh3::Xxh3;

use crate::disk::layout::{AGENTS, DECISIONS, FOLDER, GRAPH, HANDOFFS, LOCAL, TURNS};
use crate::disk::{Dir, FileKind};

/// How often fingerprints are compared where the system reports nothing.
const COMPARE_INTERVAL: Duration = Duration::from_secs(2);
/// Begins the name of the folder in `local/` that belongs to this machine.
const MACHINE_FOLDER: &str = "own-";
/// Most folders of turns that are watched, one for each task.
const MAX_TURN_FOLDERS: usize = 4096;
/// In `.twining/` itself: queues and counts that no answer shows.
const UNSHOWN: [&str; 2] = ["metrics", "pending-"];

/// Where to look, as the store knows it.
#[derive(Clone, Debug)]
pub(crate) struct WatchScope {
    /// The folder that holds, or will hold, `.twining`.
    pub(crate) project: PathBuf,
    /// The repository's git directory, if there is one.
    pub(crate) git_dir: Option<PathBuf>,
    /// The files of `local/` that answers are made of.
    pub(crate) local_files: Vec<&'static str>,
    /// Those in the folder of this machine.
    pub(crate) machine_files: Vec<&'static str>,
    /// Files elsewhere in the project, relative to it.
    pub(crate) project_files: Vec<String>,
    /// Files outside the project, by their whole paths: HEAD of a linked worktree, the user's
    /// policy.
    pub(crate) outside_files: Vec<PathBuf>,
}

/// A watch over a project's memory. It begins before the first read, so that nothing is missed.
pub struct FolderWatch {
    scope: WatchScope,
    method: WatchMethod,
}

enum WatchMethod {
    /// The system reports changes.
    #[cfg(target_os = "linux")]
    Reported(system::Inotify),
    /// Fingerprints are compared; this is what they were.
    Compared(u64),
}

/// Which names in a folder matter.
#[derive(Clone, Debug)]
enum NameFilter {
    All,
    NotBeginningWith(&'static [&'static str]),
    Only(Vec<String>),
}

impl NameFilter {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::NotBeginningWith(prefixes) => {
                !prefixes.iter().any(|prefix| name.starts_with(prefix))
            }
            Self::Only(names) => names.iter().any(|listed| listed == name),
        }
    }
}

impl FolderWatch {
    pub(crate) fn begin(scope: WatchScope) -> Self {
        let method = WatchMethod::of(&scope);
        Self { scope, method }
    }

    /// Readable when something may have changed; to be polled. `None` where the system reports
    /// nothing: then call [`Self::drain`] each [`Self::interval`]. Ask again after each drain.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.method {
            #[cfg(target_os = "linux")]
            WatchMethod::Reported(inotify) => Some(inotify.fd()),
            WatchMethod::Compared(_) => None,
        }
    }

    /// How often to call [`Self::drain`] without being told to; `None` where [`Self::fd`] tells.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        self.fd().is_none().then_some(COMPARE_INTERVAL)
    }

    /// Takes what was reported since the last call, and returns whether the memory may have
    /// changed. Never waits.
    pub fn drain(&mut self) -> bool {
        match &mut self.method {
            #[cfg(target_os = "linux")]
            WatchMethod::Reported(inotify) => {
                let drained = inotify.drain();
                if !drained.folders_changed {
                    return drained.is_change;
                }
                // The caller reads after this, so what a new folder got before is seen too.
                if inotify.watch(watched_folders(&self.scope)).is_none() {
                    self.method = WatchMethod::Compared(fingerprint(&self.scope));
                }
                true
            }
            WatchMethod::Compared(known) => {
                let now = fingerprint(&self.scope);
                std::mem::replace(known, now) != now
            }
        }
    }
}

impl std::fmt::Debug for FolderWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FolderWatch").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl WatchMethod {
    #[cfg(target_os = "linux")]
    fn of(scope: &WatchScope) -> Self {
        system::Inotify::begin(watched_folders(scope))
            .map_or_else(|| Self::Compared(fingerprint(scope)), Self::Reported)
    }

    #[cfg(not(target_os = "linux"))]
    fn of(scope: &WatchScope) -> Self {
        Self::Compared(fingerprint(scope))
    }
}

/// Every folder to watch that is there now. Links are not followed.
fn watched_folders(scope: &WatchScope) -> Vec<(Dir, NameFilter)> {
    let mut folders = Vec::new();
    if let Ok(project) = Dir::project(&scope.project, None) {
        match project.open_dir(FOLDER).ok().flatten() {
            Some(top) => memory_folders(&top, scope, &mut folders),
            // Until it is made: a project's own folder is busier than its memory.
            None => folders.push((project.clone(), NameFilter::Only(vec![FOLDER.to_owned()]))),
        }
        for path in &scope.project_files {
            folders.extend(folder_of(&project, path));
        }
    }
    if let Some(git) = scope.git_dir.as_deref().and_then(|path| Dir::project(path, None).ok()) {
        // A commit moves the branch, not HEAD; its log has a line for both.
        let head = || NameFilter::Only(vec!["HEAD".to_owned()]);
        folders.extend(inner(&git, "logs").map(|logs| (logs, head())));
        folders.push((git, head()));
    }
    folders.extend(outside_folders(&scope.outside_files));
    folders
}

/// The folders of files outside the project: each once, because a folder has one filter.
fn outside_folders(files: &[PathBuf]) -> impl Iterator<Item = (Dir, NameFilter)> {
    let mut names: BTreeMap<&Path, Vec<String>> = BTreeMap::new();
    for file in files {
        if let (Some(folder), Some(name)) = (file.parent(), file.file_name()) {
            names.entry(folder).or_default().push(name.to_string_lossy().into_owned());
        }
    }
    names
        .into_iter()
        .filter_map(|(path, names)| Some((Dir::project(path, None).ok()?, NameFilter::Only(names))))
}

fn memory_folders(top: &Dir, scope: &WatchScope, folders: &mut Vec<(Dir, NameFilter)>) {
    let only = |names: &[&str]| NameFilter::Only(names.iter().map(ToString::to_string).collect());
    folders.push((top.clone(), NameFilter::NotBeginningWith(&UNSHOWN)));
    for name in [DECISIONS, GRAPH, AGENTS, HANDOFFS] {
        folders.extend(inner(top, name).map(|dir| (dir, NameFilter::All)));
    }
    if let Some(local) = inner(top, LOCAL) {
        let machine = inner_folders(&local).filter(|dir| {
            dir.path()
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(MACHINE_FOLDER))
        });
        folders.extend(machine.map(|dir| (dir, only(&scope.machine_files))));
        folders.push((local, only(&scope.local_files)));
    }
    if let Some(turns) = inner(top, TURNS) {
        let features: Vec<Dir> = inner_folders(&turns).collect();
        let tasks: Vec<Dir> = features.iter().flat_map(inner_folders).collect();
        let all = std::iter::once(turns).chain(features).chain(tasks).take(MAX_TURN_FOLDERS);
        folders.extend(all.map(|dir| (dir, NameFilter::All)));
    }
}

/// The folder of a file that is there.
fn folder_of(project: &Dir, path: &str) -> Option<(Dir, NameFilter)> {
    let path = Path::new(path);
    let name = path.file_name()?.to_str()?;
    let parents = path.parent()?.iter().filter_map(|part| part.to_str());
    let dir = project.walk(parents).ok().flatten()?;
    dir.print(name).ok().flatten()?;
    Some((dir, NameFilter::Only(vec![name.to_owned()])))
}

fn inner(dir: &Dir, name: &str) -> Option<Dir> {
    dir.open_dir(name).ok().flatten()
}

fn inner_folders(dir: &Dir) -> impl Iterator<Item = Dir> + use<> {
    let dir = dir.clone();
    dir.list().unwrap_or_default().into_iter().filter_map(move |name| {
        let (kind, _) = dir.stat(&name).ok().flatten()?;
        if kind == FileKind::Dir { inner(&dir, &name) } else { None }
    })
}

/// Changes when a file that matters does.
fn fingerprint(scope: &WatchScope) -> u64 {
    let mut hash = Xxh3::new();
    for (dir, names) in watched_folders(scope) {
        hash.update(dir.path().as_os_str().as_encoded_bytes());
        for name in dir.list().unwrap_or_default().iter().filter(|name| names.matches(name)) {
            let print = dir.print(name).ok().flatten().unwrap_or_default();
            hash.update(name.as_bytes());
            hash.update(&print.ino.to_le_bytes());
            hash.update(&print.size.to_le_bytes());
            hash.update(&print.mtime_ns.to_le_bytes());
        }
    }
    hash.digest()
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeMap;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

    use super::NameFilter;
    use crate::disk::Dir;

    /// Folders that the system watches.
    pub(super) struct Inotify {
        fd: OwnedFd,
        folders: BTreeMap<i32, NameFilter>,
    }

    /// What the system reported.
    #[derive(Default)]
    pub(super) struct Drained {
        /// A file that matters changed.
        pub(super) is_change: bool,
        /// A folder came or went, or reports were lost: watch anew.
        pub(super) folders_changed: bool,
    }

    impl Inotify {
        pub(super) fn begin(folders: Vec<(Dir, NameFilter)>) -> Option<Self> {
            let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let mut watch = Self { fd, folders: BTreeMap::new() };
            watch.watch(folders)?;
            Some(watch)
        }

        pub(super) fn fd(&self) -> BorrowedFd<'_> {
            self.fd.as_fd()
        }

        /// Watches these folders and no others; `None` if the system refuses one.
        pub(super) fn watch(&mut self, folders: Vec<(Dir, NameFilter)>) -> Option<()> {
            let flags = WatchFlags::CREATE
                | WatchFlags::MODIFY
                | WatchFlags::MOVED_TO
                | WatchFlags::MOVED_FROM
                | WatchFlags::DELETE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            let mut watched: BTreeMap<i32, NameFilter> = BTreeMap::new();
            for (dir, names) in folders {
                // By the handle: a link put in the folder's place is not followed.
                let path = format!("/proc/self/fd/{}", dir.fd.as_raw_fd());
                let wd = inotify::add_watch(&self.fd, path, flags).ok()?;
                // The same folder twice, such as the project's: one watch for both.
                match (watched.get_mut(&wd), names) {
                    (Some(NameFilter::Only(listed)), NameFilter::Only(more)) => listed.extend(more),
                    (Some(_), NameFilter::Only(_)) => {}
                    (_, names) => drop(watched.insert(wd, names)),
                }
            }
            for wd in self.folders.keys().filter(|wd| !watched.contains_key(wd)) {
                // Of a folder that is gone, the system ended the watch itself.
                let _ended = inotify::remove_watch(&self.fd, *wd).is_err();
            }
            self.folders = watched;
            Some(())
        }

        pub(super) fn drain(&self) -> Drained {
            let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
            let mut reader = Reader::new(&self.fd, &mut buffer);
            let mut drained = Drained::default();
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(rustix::io::Errno::AGAIN) => return drained,
                    Err(_) => return Drained { is_change: true, folders_changed: true },
                };
                let flags = event.events();
                if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                    drained.folders_changed = true;
                }
                // A watch that was given up may still report.
                let Some(names) = self.folders.get(&event.wd()) else { continue };
                let gone = ReadFlags::IGNORED
                    | ReadFlags::UNMOUNT
                    | ReadFlags::DELETE_SELF
                    | ReadFlags::MOVE_SELF;
                let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                let matters = name.as_deref().is_some_and(|name| names.matches(name));
                drained.is_change |= matters;
                drained.folders_changed |= flags.intersects(gone)
                    || (flags.contains(ReadFlags::ISDIR)
                        && (matters || is_machine_folder(name.as_deref())));
            }
        }
    }

    fn is_machine_folder(name: Option<&str>) -> bool {
        name.is_some_and(|name| name.starts_with(super::MACHINE_FOLDER))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use twining_testcases::each;

    use crate::disk::folder_watch::*;

    fn project() -> (tempfile::TempDir, WatchScope) {
        let project = tempfile::tempdir().expect("a temporary directory");
        for dir in [".git/logs", ".twining/decisions", ".twining/local", "settings"] {
            fs::create_dir_all(project.path().join(dir)).expect("makes a folder");
        }
        fs::write(project.path().join("feature-list.json"), "{}").expect("writes");
        let scope = WatchScope {
            project: project.path().to_owned(),
            git_dir: Some(project.path().join(".git")),
            local_files: vec!["claims.json"],
            machine_files: vec!["runs.jsonl"],
            project_files: vec!["feature-list.json".to_owned()],
            outside_files: ["settings/policy.yml", "settings/allowed"]
                .map(|name| project.path().join(name))
                .to_vec(),
        };
        (project, scope)
    }

    /// A watch of each kind, to be begun one after the other.
    const WATCHES: [fn(&WatchScope) -> FolderWatch; 2] = [
        |scope| FolderWatch::begin(scope.clone()),
        |scope| FolderWatch {
            method: WatchMethod::Compared(fingerprint(scope)),
            scope: scope.clone(),
        },
    ];

    fn write(project: &tempfile::TempDir, path: &str) {
        let path = project.path().join(path);
        fs::create_dir_all(path.parent().expect("has a folder")).expect("makes a folder");
        let old = fs::read(&path).unwrap_or_default();
        fs::write(path, [&old[..], b"line\n"].concat()).expect("writes");
    }

    #[test]
    fn a_change_of_the_memory_is_noticed_once() {
        each(
            [
                ".twining/blackboard.jsonl",
                ".twining/decisions/a.json",
                ".twining/graph/entities.json",
                ".twining/turns/F1/T1/1.md",
                ".twining/local/claims.json",
                ".twining/local/own-1/runs.jsonl",
                ".git/HEAD",
                ".git/logs/HEAD",
                "feature-list.json",
                "settings/policy.yml",
                "settings/allowed",
            ],
            |path| {
                let (project, scope) = project();
                for begin in WATCHES {
                    let mut watch = begin(&scope);
                    assert!(!watch.drain(), "nothing yet");
                    write(&project, path);
                    assert!(watch.drain(), "{path}");
                    assert!(!watch.drain(), "{path}, once");
                    write(&project, path);
                    assert!(watch.drain(), "{path}, again");
                }
            },
        );
    }

    #[test]
    fn what_a_reader_writes_itself_wakes_nobody() {
        each(
            [
                ".twining/local/index.db-wal",
                ".twining/local/packs/pack-1",
                ".twining/local/lock",
                ".twining/metrics.jsonl",
                ".git/index",
                "src/main.rs",
                "settings/other.yml",
                "notes.txt",
            ],
            |path| {
                let (project, scope) = project();
                for begin in WATCHES {
                    let mut watch = begin(&scope);
                    write(&project, path);
                    assert!(!watch.drain(), "{path}");
                }
            },
        );
    }

    #[test]
    fn a_memory_that_is_made_taken_away_and_made_again_is_followed() {
        let (project, scope) = project();
        for begin in WATCHES {
            let mut watch = begin(&scope);
            for _ in 0..2 {
                fs::remove_dir_all(project.path().join(".twining")).expect("removes");
                assert!(watch.drain());
                write(&project, ".twining/blackboard.jsonl");
                assert!(watch.drain());
                write(&project, ".twining/blackboard.jsonl");
                assert!(watch.drain());
                write(&project, ".twining/handoffs/a.json");
                assert!(watch.drain());
                write(&project, ".twining/handoffs/a.json");
                assert!(watch.drain());
            }
        }
    }

    #[test]
    fn a_link_in_place_of_a_folder_is_not_followed() {
        let (project, scope) = project();
        let elsewhere = tempfile::tempdir().expect("a temporary directory");
        std::os::unix::fs::symlink(elsewhere.path(), project.path().join(".twining/graph"))
            .expect("links");
        for begin in WATCHES {
            let mut watch = begin(&scope);
            fs::write(elsewhere.path().join("x"), "").expect("writes");
            assert!(!watch.drain());
        }
    }
}
