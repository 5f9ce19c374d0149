//! Whether hosts really call us: every hook that a project's settings name is run
//! as the host would run it, with calls that a guard must stop and calls that it
//! must not.
//!
//! What people had was twelve hooks installed and none that fired. Only a command
//! that is plainly `twining hook …`, and a `twining` that does not come with the
//! project, is ever started: settings may have been cloned.

mod host_hooks;
mod run;

pub(crate) use run::{HostTrial, NO_GATE, check};
