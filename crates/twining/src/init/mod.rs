//! `init` and `uninstall`: how a project comes to use Twining, and how it stops.
//!
//! What would be written is worked out on a [`Sheet`] first; it is shown with
//! `--dry-run`, or carried out whole. A receipt remembers what each file was, so
//! that `uninstall` restores it.

mod apply;
mod git;
mod git_hooks;
mod hosts;
pub mod install;
mod installed_state;
mod marked_block;
mod patch;
mod plan;
mod protect;
mod receipt;
mod report;
mod uninstall;

pub use self::git::projects;
pub use self::hosts::{HostKind, InstallEnvironment, Visibility};
pub use self::uninstall::uninstall;
pub use crate::init::installed_state::{HostState, ServerEntry, git_state, repair, wired};
pub use install::{environment, home, install};
