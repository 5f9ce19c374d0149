//! Noticing that decision files changed without looking at each of them.
//!
//! Ten thousand files take ten milliseconds to look at, and every call must
//! notice a hand edit. Linux tells us the names that changed; elsewhere, or when
//! it cannot, every file is looked at. So it is in a process that will soon be
//! gone: to end a watch takes longer than to look.

use twining_model::Id;

#[cfg(not(target_os = "linux"))]
use crate::disk::Dir;

/// Which decision files changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionsChanged {
    /// None.
    Nothing,
    /// These, and no others.
    These(Vec<Id>),
    /// Nobody knows: look at them all.
    Unknown,
}

#[cfg(target_os = "linux")]
pub use linux::Watch;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Watch;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use twining_model::Id;

    use super::DecisionsChanged;
    use crate::disk::Dir;

    /// A watch on the decisions directory, begun when first asked by a process that stays.
    pub struct Watch {
        state: Mutex<State>,
        stays: Arc<AtomicBool>,
    }

    enum State {
        Unasked,
        Watching(OwnedFd),
        Impossible,
    }

    impl Watch {
        pub fn new(stays: Arc<AtomicBool>) -> Self {
            Self { state: Mutex::new(State::Unasked), stays }
        }

        /// What changed since the last time; the first time nobody knows.
        pub fn decisions_changed(&self, decisions: &Dir) -> DecisionsChanged {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match &*state {
                State::Unasked if !self.stays.load(Ordering::Acquire) => DecisionsChanged::Unknown,
                State::Unasked => {
                    *state = begin(decisions).map_or(State::Impossible, State::Watching);
                    DecisionsChanged::Unknown
                }
                State::Impossible => DecisionsChanged::Unknown,
                State::Watching(fd) => {
                    let changed = read(fd);
                    if changed.is_none() {
                        // The queue overflowed or the directory is gone: begin again, on what is there now.
                        *state = State::Unasked;
                    }
                    changed.unwrap_or(DecisionsChanged::Unknown)
                }
            }
        }
    }

    fn begin(decisions: &Dir) -> Option<OwnedFd> {
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
        inotify::add_watch(&fd, format!("/proc/self/fd/{}", decisions.raw_fd().as_raw_fd()), flags).ok()?;
        Some(fd)
    }

    fn read(fd: &OwnedFd) -> Option<DecisionsChanged> {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(fd, &mut buffer);
        let mut names = BTreeSet::new();
        loop {
            match reader.next() {
                Ok(event) => {
                    let lost =
                        ReadFlags::QUEUE_OVERFLOW | ReadFlags::IGNORED | ReadFlags::UNMOUNT | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF;
                    if event.events().intersects(lost) {
                        return None;
                    }
                    let name = event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                    let Some(stem) = name.strip_suffix(".json") else { continue };
                    match Id::read(stem).filter(|id| id.as_str() == stem) {
                        Some(id) => {
                            names.insert(id);
                        }
                        None if stem == "index" => {}
                        // An odd name came or went; only a look at the directory tells.
                        None => return Some(DecisionsChanged::Unknown),
                    }
                }
                Err(rustix::io::Errno::AGAIN) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        Some(if names.is_empty() { DecisionsChanged::Nothing } else { DecisionsChanged::These(names.into_iter().collect()) })
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::{DecisionsChanged, Dir};

    /// No watch: every question is answered by looking.
    pub struct Watch;

    impl Watch {
        pub fn new(_stays: Arc<AtomicBool>) -> Self {
            Self
        }

        pub fn decisions_changed(&self, _decisions: &Dir) -> DecisionsChanged {
            DecisionsChanged::Unknown
        }
    }
}
