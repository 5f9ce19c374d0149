//! The bottom layer: every byte that reaches the disk goes through here.

mod dir;
pub(crate) mod layout;
pub(crate) mod watch;

pub use dir::{
    Dir, Fault, Fingerprint, Handle, Kind, Op, PathState, Probe, boot, canonical, hash_of, hash_of_key, is_inside, read_inside,
    state_inside,
};
