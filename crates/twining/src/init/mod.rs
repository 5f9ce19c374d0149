//! `init` and `uninstall`: how a project comes to use Twining, and how it stops.
//!
//! What would be written is worked out on a [`InstallPlan`] first; it is shown with
//! `--dry-run`, or carried out whole. A receipt remembers what each file was, so
//! that `uninstall` restores it.

mod apply;
mod git;
mod git_hooks;
mod hosts;
pub(crate) mod install;
mod installed_state;
mod marked_block;
mod patch;
mod plan;
mod protect;
mod receipt;
mod report;
mod uninstall;

pub(crate) use self::git::projects;
pub(crate) use self::hosts::{HostKind, InstallEnvironment, Visibility};
pub(crate) use self::uninstall::uninstall;
pub(crate) use crate::init::installed_state::{HostState, ServerEntry, git_state, repair, wired};
pub(crate) use install::{environment, home, install};
