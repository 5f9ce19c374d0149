//! Evidence that a feature works: the test runs that are known, how much each is
//! worth, and which of them decides.
//!
//! A run is told by an agent, seen by the host's hook, or found good by CI. The
//! runner's own counts say how it went, whatever the command line around it; the
//! newest run that covers a feature's tests decides. Nothing here runs a command.

mod command_analysis;
mod judge;
mod output_counts;
pub(super) mod run_log;
mod sources;

pub(crate) use command_analysis::TestCommand;
pub(crate) use judge::{EvidenceCase, judge};
pub use judge::{EvidenceVerdict, judge_evidence};
pub use output_counts::counts_in;
pub use run_log::{
    AttemptReport, FileState, FileStates, RunLog, TestRun, TestSelection, VerifiedBy,
};
