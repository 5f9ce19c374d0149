//! The blackboard file: appended under the lock, careful about killed writers,
//! full disks, and git rewriting the work tree at the same time.
//!
//! `recent` and `recent.old` in `local/` keep the lines posted on this machine
//! lately. git's own `index.lock` does not suffice to keep out of its way: `git
//! stash` and a failing `git merge` take a snapshot and reset the tree later, in
//! separate steps, and what was appended between them would be gone.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use twining_model::{Id, Time};

use crate::disk::layout::{BOARD, Layout};
use crate::disk::{Dir, Fingerprint, Handle};
use crate::error::StoreError;
use crate::format::tail;
use crate::git::Git;
use crate::log::record::Record;

/// How long git may take to finish what it is doing before we look again later.
const GIT_WAIT: Duration = Duration::from_millis(250);
/// A line lost to a rewrite is put back if it was posted at most so long before it.
pub const RECENT_MS: i64 = 10_000;
const RING_BYTES: u64 = 1024 * 1024;
const RING: &str = "recent";
const RING_OLD: &str = "recent.old";
const CHUNK: usize = 1024 * 1024;

/// The blackboard of one project. Every method but the first expects the write lock.
pub struct Board {
    layout: Layout,
    project: PathBuf,
    git: Option<Dir>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    data: Option<Handle>,
    ring: Option<Handle>,
}

/// Whether the file is one whose end we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footing {
    /// One of us wrote it last; a torn tail is a killed writer's.
    Ours,
    /// Someone else wrote it and may still be writing; nothing may be cut off.
    Foreign,
}

impl Board {
    /// The board in this folder; nothing is opened yet.
    pub fn new(layout: &Layout, project: &Path, git: Option<Dir>) -> Self {
        Self { layout: layout.clone(), project: project.to_owned(), git, open: Mutex::new(Open::default()) }
    }

    /// Opens the file now at the path, and if it is not as the record says,
    /// brings back recent lines that it lacks.
    pub fn settle(&self, record: &mut Record, now: Time) -> Result<Footing, StoreError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let print = self.reopen(&mut open)?;
        let known = record.board;
        if print.ino == known.ino && print.size >= known.size {
            if print.size == known.size && print.mtime_ns != known.mtime_ns {
                // Same length, written since: somebody edited it in place.
                record.epoch = next_epoch(record.epoch, now);
            }
            return Ok(Footing::Ours);
        }
        self.wait_for_git(GIT_WAIT);
        if self.git_is_busy() {
            return Ok(Footing::Foreign);
        }
        let print = self.reopen(&mut open)?;
        record.epoch = next_epoch(record.epoch, now);
        let rewritten = Time::from_ms(print.mtime_ns / 1_000_000).min(now);
        let lost = self.lines_it_lacks(&open, rewritten)?;
        if !lost.is_empty() {
            self.append_to(&open, &lost, Footing::Foreign, record)?;
        }
        record.board = data(&open).fingerprint()?;
        Ok(Footing::Ours)
    }

    /// Appends whole lines in one write, and remembers them.
    pub fn append(&self, lines: &[u8], footing: Footing, record: &mut Record, now: Time) -> Result<(), StoreError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.data.is_none() {
            self.reopen(&mut open)?;
        }
        self.append_to(&open, lines, footing, record)?;
        self.remember(&mut open, lines, now).inspect_err(|_| {
            // Nobody will acknowledge these lines, so they must not stay.
            let start = record.board.size - lines.len() as u64;
            if footing == Footing::Ours && data(&open).set_len(start).is_ok() {
                record.board = data(&open).fingerprint().unwrap_or_default();
            }
        })
    }

    /// Flushes what was appended to the device.
    pub fn sync(&self) -> Result<(), StoreError> {
        // A second handle, so that nobody who wants to append waits for the device.
        let handle = match &self.open.lock().unwrap_or_else(PoisonError::into_inner).data {
            Some(handle) => handle.again()?,
            None => return Ok(()),
        };
        handle.sync()
    }

    /// Forgets what is open, because the file was replaced by us.
    pub fn replaced(&self, record: &mut Record, dropped: &HashSet<String>) -> Result<(), StoreError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        record.board = self.reopen(&mut open)?;
        self.forget(&mut open, dropped)
    }

    /// Which of these ids stand nowhere on the board.
    pub fn missing(&self, ids: &[&str]) -> Result<HashSet<String>, StoreError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.reopen(&mut open)?;
        let mut missing: HashSet<String> = ids.iter().map(|&id| id.to_owned()).collect();
        tail::strike_out_present(data(&open), &mut missing)?;
        Ok(missing)
    }

    /// Which of these texts, of these decisions among others, are safe in a
    /// commit or a stash, and so not lost.
    pub fn in_history(&self, texts: &HashSet<String>, decisions: &BTreeSet<Id>) -> HashSet<String> {
        if self.git.is_some() { Git::at(&self.project).holding(texts, decisions) } else { HashSet::new() }
    }

    /// The project it is of.
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    /// Whether git is in the middle of something.
    pub fn git_is_busy(&self) -> bool {
        self.git.as_ref().is_some_and(|git| matches!(git.stat("index.lock"), Ok(Some(_))))
    }

    /// When git last wrote its index; every switch, merge, stash and reset does.
    pub fn git_index(&self) -> Option<Fingerprint> {
        self.git.as_ref()?.stat("index").ok()?.map(|(_, print)| print)
    }

    fn wait_for_git(&self, patience: Duration) {
        let started = Instant::now();
        while self.git_is_busy() && started.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn reopen(&self, open: &mut Open) -> Result<Fingerprint, StoreError> {
        if let Some(handle) = &open.data {
            let print = handle.fingerprint()?;
            if self.layout.top.stat(BOARD)?.is_some_and(|(_, now)| now.ino == print.ino) {
                return Ok(print);
            }
        }
        let handle = self.open_patiently()?;
        let handle = if handle.links()? > 1 { self.unlink_by_copy(&handle)? } else { handle };
        let print = handle.fingerprint()?;
        open.data = Some(handle);
        Ok(print)
    }

    /// A missing file is made only if it stays missing: git unlinks before it
    /// writes, and fails ("File exists") if the name comes back in between.
    fn open_patiently(&self) -> Result<Handle, StoreError> {
        let started = Instant::now();
        loop {
            if let Some(handle) = self.layout.top.open_append(BOARD)? {
                return Ok(handle);
            }
            let patience = if self.git_is_busy() { GIT_WAIT * 8 } else { Duration::from_millis(20) };
            if started.elapsed() > patience {
                return self.layout.top.make_append(BOARD);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A second name for the file would let our appends write into something
    /// else; a copy under our name ends that.
    fn unlink_by_copy(&self, linked: &Handle) -> Result<Handle, StoreError> {
        let size = usize::try_from(linked.fingerprint()?.size).unwrap_or(usize::MAX);
        self.layout.replace(&self.layout.top, BOARD, &linked.read_all(size)?, true)?;
        self.layout.top.make_append(BOARD)
    }

    fn append_to(&self, open: &Open, lines: &[u8], footing: Footing, record: &mut Record) -> Result<(), StoreError> {
        let handle = data(open);
        let mut size = handle.fingerprint()?.size;
        let mut bytes = std::borrow::Cow::Borrowed(lines);
        if tail::last_byte(handle, size)? != b'\n' {
            match footing {
                Footing::Ours => size = tail::mend(&self.layout, handle, size)?,
                Footing::Foreign => {
                    size = wait_for_newline(handle)?;
                    if tail::last_byte(handle, size)? != b'\n' {
                        bytes.to_mut().insert(0, b'\n');
                    }
                }
            }
        }
        let written = handle.write(&bytes).and_then(|()| handle.fingerprint());
        match written {
            Ok(print) if footing == Footing::Ours => record.board = print,
            Ok(_) => {}
            Err(error) => {
                if footing == Footing::Ours {
                    // The disk may be full: the part that was written must not stay.
                    drop(handle.set_len(size));
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn lines_it_lacks(&self, open: &Open, rewritten: Time) -> Result<Vec<u8>, StoreError> {
        let since = rewritten.as_ms() - RECENT_MS;
        let mut ring = self.read_ring(RING_OLD)?;
        ring.extend(self.read_ring(RING)?);
        let mut lost: Vec<(&[u8], String)> = Vec::new();
        for remembered in ring.split_inclusive(|&byte| byte == b'\n') {
            if let Some((at, line)) = split_remembered(remembered)
                && at >= since
                && let Some(id) = tail::id_of(line)
                && !lost.iter().any(|(_, known)| *known == id)
            {
                lost.push((line, id));
            }
        }
        let mut missing: HashSet<String> = lost.iter().map(|(_, id)| id.clone()).collect();
        if !missing.is_empty() {
            tail::strike_out_present(data(open), &mut missing)?;
            for safe in self.in_history(&missing, &BTreeSet::new()) {
                missing.remove(&safe);
            }
        }
        Ok(lost.iter().filter(|(_, id)| missing.contains(id)).flat_map(|(line, _)| line.iter().copied()).collect())
    }

    fn read_ring(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let most = usize::try_from(RING_BYTES).unwrap_or(CHUNK) * 8;
        match self.layout.local.open(name)? {
            Some(handle) => Ok(handle.read_all(most).unwrap_or_default()),
            None => Ok(Vec::new()),
        }
    }

    fn remember(&self, open: &mut Open, lines: &[u8], now: Time) -> Result<(), StoreError> {
        let current = match &open.ring {
            Some(ring) => self.layout.local.stat(RING)?.is_some_and(|(_, print)| ring.fingerprint().is_ok_and(|own| own.ino == print.ino)),
            None => false,
        };
        if !current {
            open.ring = Some(self.layout.local.make_append(RING)?);
        }
        let ring = open.ring.as_ref().expect("opened above");
        let mut bytes = Vec::with_capacity(lines.len() + 32);
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            bytes.extend_from_slice(now.as_ms().to_string().as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(line);
        }
        ring.write(&bytes)?;
        if ring.fingerprint()?.size > RING_BYTES {
            self.layout.local.rename(RING, &self.layout.local, RING_OLD)?;
            open.ring = None;
        }
        Ok(())
    }

    fn forget(&self, open: &mut Open, dropped: &HashSet<String>) -> Result<(), StoreError> {
        for name in [RING_OLD, RING] {
            let ring = self.read_ring(name)?;
            let kept: Vec<u8> = ring
                .split_inclusive(|&byte| byte == b'\n')
                .filter(|remembered| {
                    split_remembered(remembered).and_then(|(_, line)| tail::id_of(line)).is_some_and(|id| !dropped.contains(&id))
                })
                .flatten()
                .copied()
                .collect();
            if kept.len() < ring.len() {
                self.layout.replace(&self.layout.local, name, &kept, false)?;
            }
        }
        open.ring = None;
        Ok(())
    }
}

fn data(open: &Open) -> &Handle {
    open.data.as_ref().expect("every path here reopens first")
}

/// Epochs come from the clock so that one lost with the lock file is not given twice.
fn next_epoch(last: u64, now: Time) -> u64 {
    (last + 1).max(u64::try_from(now.as_ms()).unwrap_or(0))
}

fn wait_for_newline(handle: &Handle) -> Result<u64, StoreError> {
    let started = Instant::now();
    loop {
        let size = handle.fingerprint()?.size;
        if tail::last_byte(handle, size)? == b'\n' || started.elapsed() > GIT_WAIT {
            return Ok(size);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn split_remembered(remembered: &[u8]) -> Option<(i64, &[u8])> {
    let space = memchr::memchr(b' ', remembered)?;
    let at = std::str::from_utf8(&remembered[..space]).ok()?.parse().ok()?;
    remembered.ends_with(b"\n").then_some((at, &remembered[space + 1..]))
}
