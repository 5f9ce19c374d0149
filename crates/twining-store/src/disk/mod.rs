//! The bottom layer: every byte that reaches the disk goes through here.

mod dir;
pub(crate) mod folder_watch;
pub(crate) mod layout;
mod socket;
pub(crate) mod watch;

pub use dir::{
    Dir, DiskOp, Fault, FileHandle, FileKind, Fingerprint, PathState, Probe, boot_id, canonical,
    hash_of, hash_of_key, is_inside, read_inside, state_inside,
};
pub use folder_watch::FolderWatch;
