//! `doctor`: does everything work, and if not, what to do.
//!
//! What can be tried is tried: a merge in a throwaway repository, each hook with a
//! call it must stop, the server in both eras of its protocol. `--fix` mends what
//! can be mended without asking anybody.

mod git;
mod hosts;
mod memory;
mod program;
mod verb;

pub(crate) use program::{DoctorMode, examine};
pub(crate) use verb::DoctorInput;
