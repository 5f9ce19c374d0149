//! Detects changed decision files without checking each of them.
//!
//! Ten thousand files take ten milliseconds to check, and every call must notice a hand edit. Linux
//! reports the names that changed; elsewhere, or when it cannot, every file is checked. A
//! short-lived process checks them all too: ending a watch takes longer than the check.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use twining_model::Id;

use crate::disk::Dir;

/// Which decision files changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionsChanged {
    /// None.
    Nothing,
    /// These, and no others.
    Listed(Vec<Id>),
    /// Nobody knows: look at them all.
    Unknown,
}

/// A watch on the decisions directory, begun when first asked by a process that stays.
pub(crate) struct DecisionWatcher {
    watched: Mutex<Option<OwnedFd>>,
    is_long_lived: Arc<AtomicBool>,
}

impl DecisionWatcher {
    pub(crate) fn new(is_long_lived: Arc<AtomicBool>) -> Self {
        Self { watched: Mutex::new(None), is_long_lived }
    }

    /// What changed since the last time; the first time nobody knows.
    pub(crate) fn decisions_changed(&self, decisions: &Dir) -> DecisionsChanged {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = watched.as_ref().and_then(system::read);
        if changed.is_none() && self.is_long_lived.load(Ordering::Acquire) {
            // Also after the queue overflowed, or the directory went: begin again, on what is there now.
            *watched = system::begin(decisions);
        }
        changed.unwrap_or(DecisionsChanged::Unknown)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::BTreeSet;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsRawFd, OwnedFd};

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use twining_model::Id;

    use super::DecisionsChanged;
    use crate::disk::Dir;

    pub(super) fn begin(decisions: &Dir) -> Option<OwnedFd> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let flags = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        // By the handle, not the path: a directory swapped in at the path is not the one we read.
        inotify::add_watch(&fd, format!("/proc/self/fd/{}", decisions.fd.as_raw_fd()), flags)
            .ok()?;
        Some(fd)
    }

    pub(super) fn read(fd: &OwnedFd) -> Option<DecisionsChanged> {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(fd, &mut buffer);
        let mut names = BTreeSet::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let lost = ReadFlags::QUEUE_OVERFLOW
                        | ReadFlags::IGNORED
                        | ReadFlags::UNMOUNT
                        | ReadFlags::DELETE_SELF
                        | ReadFlags::MOVE_SELF;
                    if event.events().intersects(lost) {
                        return None;
                    }
                    let name = event
                        .file_name()
                        .map(|name| name.to_string_lossy().into_owned())
                        .unwrap_or_default();
                    let Some(stem) = name.strip_suffix(".json") else { continue };
                    match Id::read(stem).filter(|id| id.as_str() == stem) {
                        Some(id) => {
                            names.insert(id);
                        }
                        None if stem == "index" => {}
                        // An unknown name appeared or vanished; only reading the directory shows
                        // what changed.
                        None => return Some(DecisionsChanged::Unknown),
                    }
                }
                Err(rustix::io::Errno::AGAIN) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        Some(if names.is_empty() {
            DecisionsChanged::Nothing
        } else {
            DecisionsChanged::Listed(names.into_iter().collect())
        })
    }
}

/// No watch: every question is answered by looking.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::{DecisionsChanged, Dir, OwnedFd};

    pub fn begin(_decisions: &Dir) -> Option<OwnedFd> {
        None
    }

    pub fn read(_watched: &OwnedFd) -> Option<DecisionsChanged> {
        None
    }
}
