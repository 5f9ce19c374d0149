//! The blackboard file: appended under the lock, careful about killed writers,
//! full disks, and git rewriting the work tree at the same time.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use twining_model::{Id, Time};

use crate::disk::layout::{BOARD, Layout, StoreLocation};
use crate::disk::{Dir, FileHandle, Fingerprint};
use crate::error::StoreError;
use crate::format::torn_lines;
use crate::git::Git;
use crate::log::lock::LockState;

/// How long git may take to finish what it is doing before we look again later.
const GIT_WAIT: Duration = Duration::from_millis(250);

/// The blackboard of one project. Writers hold the write lock.
pub(crate) struct Board {
    layout: Layout,
    /// The project it is of.
    pub project: PathBuf,
    git: Option<Dir>,
    /// Whether written lines are remembered, to be put back if somebody takes them away.
    remembers: bool,
}

/// The file as a writer found it.
pub(crate) struct BoardFile {
    handle: FileHandle,
    /// Whether Twining wrote it last; then a torn tail is a killed writer's. Any other writer may
    /// still be writing, and nothing may be truncated.
    is_ours: bool,
}

impl BoardFile {
    /// Returns the ids that it does not contain.
    pub(crate) fn missing<'i>(
        &self,
        ids: impl Iterator<Item = &'i str>,
    ) -> Result<HashSet<String>, StoreError> {
        let mut missing: HashSet<String> = ids.map(str::to_owned).collect();
        if !missing.is_empty() {
            torn_lines::remove_present_ids(&self.handle, &mut missing)?;
        }
        Ok(missing)
    }
}

impl Board {
    /// The board in this folder; nothing is opened yet.
    pub(crate) fn new(layout: &Layout, location: &StoreLocation, git: Option<Dir>) -> Self {
        let project = location.project.clone();
        Self { layout: layout.clone(), project, git, remembers: !location.is_cache }
    }

    /// Opens the file now at the path, and if it is not as the record says,
    /// brings back recent lines that it lacks.
    pub(crate) fn open_and_restore(
        &self,
        state: &mut LockState,
        now: Time,
    ) -> Result<BoardFile, StoreError> {
        let handle = self.open()?;
        let (print, known) = (handle.fingerprint()?, state.board);
        if print.ino == known.ino && print.size >= known.size {
            if print.size == known.size && print.mtime_ns != known.mtime_ns {
                // Same length, written since: somebody edited it in place.
                state.epoch = next_epoch(state.epoch, now);
            }
            return Ok(BoardFile { handle, is_ours: true });
        }
        if !wait_until(GIT_WAIT, || Ok(!self.git_is_busy()))? {
            return Ok(BoardFile { handle, is_ours: false });
        }
        let file = BoardFile { handle: self.open()?, is_ours: false };
        state.epoch = next_epoch(state.epoch, now);
        let rewritten = Time::from_ms(file.handle.fingerprint()?.mtime_ns / 1_000_000).min(now);
        let in_history = |ids: &HashSet<String>| self.in_history(ids, &BTreeSet::new());
        let lost = lost_lines(&self.layout.local, Some(&file.handle), rewritten, in_history)?;
        if !lost.is_empty() {
            self.write(&file, &lost, state)?;
        }
        state.board = file.handle.fingerprint()?;
        Ok(BoardFile { is_ours: true, ..file })
    }

    /// Appends whole lines in one write, and remembers them.
    pub(crate) fn append(
        &self,
        file: &BoardFile,
        lines: &[u8],
        state: &mut LockState,
        now: Time,
    ) -> Result<(), StoreError> {
        self.write(file, lines, state)?;
        if !self.remembers {
            return Ok(());
        }
        append_recent(&self.layout.local, lines, now).inspect_err(|_| {
            // Nobody will acknowledge these lines, so they must not stay.
            if file.is_ours && file.handle.set_len(state.board.size - lines.len() as u64).is_ok() {
                state.board = file.handle.fingerprint().unwrap_or_default();
            }
        })
    }

    /// Flushes what was appended to the device.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.layout.top.open(BOARD)?.map_or(Ok(()), |handle| handle.sync())
    }

    /// Replaces the file by one without these ids, as far as it is remembered.
    pub(crate) fn replace(
        &self,
        bytes: &[u8],
        removed_ids: &HashSet<String>,
        state: &mut LockState,
    ) -> Result<BoardFile, StoreError> {
        self.layout.replace(&self.layout.top, BOARD, bytes, true)?;
        let handle = self.open()?;
        state.board = handle.fingerprint()?;
        state.epoch = state.epoch.saturating_add(1);
        remove(&self.layout, removed_ids)?;
        Ok(BoardFile { handle, is_ours: true })
    }

    /// Which of these texts, of these decisions among others, are safe in a
    /// commit or a stash, and so not lost.
    pub(crate) fn in_history(
        &self,
        texts: &HashSet<String>,
        decisions: &BTreeSet<Id>,
    ) -> HashSet<String> {
        if self.git.is_some() {
            Git::at(&self.project).texts_in_history(texts, decisions)
        } else {
            HashSet::new()
        }
    }

    /// Whether git is in the middle of something.
    pub(crate) fn git_is_busy(&self) -> bool {
        self.git.as_ref().is_some_and(|git| matches!(git.stat("index.lock"), Ok(Some(_))))
    }

    /// When git last wrote its index; every switch, merge, stash and reset does.
    pub(crate) fn git_index(&self) -> Option<Fingerprint> {
        self.git.as_ref()?.stat("index").ok()?.map(|(_, print)| print)
    }

    /// The file now at the path. A second name for it would let our appends write into
    /// something else; a copy under our name ends that.
    fn open(&self) -> Result<FileHandle, StoreError> {
        let handle = self.open_or_wait_for_git()?;
        if handle.links()? <= 1 {
            return Ok(handle);
        }
        self.layout.replace(&self.layout.top, BOARD, &handle.read_all(usize::MAX - 1)?, true)?;
        self.layout.top.create_append(BOARD)
    }

    /// A missing file is made only if it stays missing: git unlinks before it
    /// writes, and fails ("File exists") if the name comes back in between.
    fn open_or_wait_for_git(&self) -> Result<FileHandle, StoreError> {
        let started = Instant::now();
        loop {
            if let Some(handle) = self.layout.top.open_append(BOARD)? {
                return Ok(handle);
            }
            let timeout = if self.git_is_busy() { GIT_WAIT * 8 } else { Duration::from_millis(20) };
            if started.elapsed() > timeout {
                return self.layout.top.create_append(BOARD);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn write(
        &self,
        file: &BoardFile,
        lines: &[u8],
        state: &mut LockState,
    ) -> Result<(), StoreError> {
        let BoardFile { handle, is_ours } = file;
        let mut size = handle.fingerprint()?.size;
        let mut bytes = Cow::Borrowed(lines);
        if torn_lines::last_byte(handle, size)? != b'\n' {
            if *is_ours {
                size = torn_lines::repair_tail(&self.layout, handle, size)?;
            } else if !wait_until(GIT_WAIT, || {
                Ok(torn_lines::last_byte(handle, handle.fingerprint()?.size)? == b'\n')
            })? {
                bytes.to_mut().insert(0, b'\n');
            }
        }
        let written = handle.write(&bytes).and_then(|()| handle.fingerprint());
        if *is_ours {
            // The disk may be full: the part that was written must not stay.
            state.board = written.inspect_err(|_| drop(handle.set_len(size)))?;
            return Ok(());
        }
        written.map(drop)
    }
}

/// Epochs come from the clock so that one lost with the lock file is not given twice.
fn next_epoch(last: u64, now: Time) -> u64 {
    (last + 1).max(u64::try_from(now.as_ms()).unwrap_or(0))
}

/// Waits until something is so, or so long; whether it is.
fn wait_until(
    timeout: Duration,
    mut is_so: impl FnMut() -> Result<bool, StoreError>,
) -> Result<bool, StoreError> {
    let started = Instant::now();
    while !is_so()? {
        if started.elapsed() > timeout {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(true)
}

/// A line lost to a rewrite is put back if it was written at most so long before it.
pub(crate) const RECENT_MS: i64 = 10_000;
/// Each line with the time in front.
const RECENT: RotatingFile =
    RotatingFile { name: "recent", previous: "recent.old", max_bytes: 1024 * 1024 };

/// Remembers lines that were written.
pub(crate) fn append_recent(dir: &Dir, lines: &[u8], now: Time) -> Result<(), StoreError> {
    let mut bytes = Vec::with_capacity(lines.len() + 64);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        bytes.extend(format!("{} ", now.as_ms()).into_bytes());
        bytes.extend_from_slice(line);
    }
    RECENT.append(dir, &bytes)
}

/// Lines written shortly before `rewritten` or later that are neither in the file nor in a
/// commit or a stash.
pub(crate) fn lost_lines(
    dir: &Dir,
    file: Option<&FileHandle>,
    rewritten: Time,
    in_history: impl FnOnce(&HashSet<String>) -> HashSet<String>,
) -> Result<Vec<u8>, StoreError> {
    let stored = RECENT.read(dir)?;
    let recent = stored
        .split_inclusive(|&byte| byte == b'\n')
        .filter_map(split)
        .filter(|(at, _)| *at >= rewritten.as_ms() - RECENT_MS);
    let recent: Vec<(String, &[u8])> =
        recent.filter_map(|(_, line)| Some((torn_lines::id_of(line)?, line))).collect();
    let mut missing: HashSet<String> = recent.iter().map(|(id, _)| id.clone()).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(file) = file {
        torn_lines::remove_present_ids(file, &mut missing)?;
    }
    for committed in in_history(&missing) {
        missing.remove(&committed);
    }
    Ok(recent
        .into_iter()
        .filter(|(id, _)| missing.remove(id))
        .flat_map(|(_, line)| line.iter().copied())
        .collect())
}

/// Forgets lines with these ids, and what is none of ours.
pub(crate) fn remove(layout: &Layout, dropped: &HashSet<String>) -> Result<(), StoreError> {
    for name in [RECENT.previous, RECENT.name] {
        let Some(stored) = layout.local.read(name, usize::MAX - 1)? else { continue };
        let is_retained = |line: &&[u8]| {
            split(line)
                .and_then(|(_, line)| torn_lines::id_of(line))
                .is_some_and(|id| !dropped.contains(&id))
        };
        let remaining_lines: Vec<u8> = stored
            .split_inclusive(|&byte| byte == b'\n')
            .filter(is_retained)
            .flatten()
            .copied()
            .collect();
        if remaining_lines.len() < stored.len() {
            layout.replace(&layout.local, name, &remaining_lines, false)?;
        }
    }
    Ok(())
}

fn split(remembered: &[u8]) -> Option<(i64, &[u8])> {
    let space = memchr::memchr(b' ', remembered)?;
    let at = std::str::from_utf8(&remembered[..space]).ok()?.parse().ok()?;
    remembered.ends_with(b"\n").then_some((at, &remembered[space + 1..]))
}

/// A file and the one before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RotatingFile {
    /// The file's name.
    pub name: &'static str,
    /// The name of the one before it.
    pub previous: &'static str,
    /// From how many bytes on it is full.
    pub max_bytes: u64,
}

impl RotatingFile {
    /// The file to append to.
    pub(crate) fn open(&self, dir: &Dir) -> Result<FileHandle, StoreError> {
        if dir.print(self.name)?.is_some_and(|print| print.size > self.max_bytes) {
            dir.rename(self.name, dir, self.previous)?;
        }
        dir.create_append(self.name)
    }

    /// Adds lines.
    pub(crate) fn append(&self, dir: &Dir, lines: &[u8]) -> Result<(), StoreError> {
        torn_lines::append_after_torn_line(&self.open(dir)?, lines)
    }

    /// What is kept, oldest first. A file that somebody blew up counts as empty.
    pub(crate) fn read(&self, dir: &Dir) -> Result<Vec<u8>, StoreError> {
        let mut bytes = Vec::new();
        for name in [self.previous, self.name] {
            let max_bytes = usize::try_from(self.max_bytes).unwrap_or(usize::MAX).saturating_mul(8);
            bytes.extend(
                dir.open(name)?
                    .and_then(|handle| handle.read_all(max_bytes).ok())
                    .unwrap_or_default(),
            );
        }
        Ok(bytes)
    }
}
