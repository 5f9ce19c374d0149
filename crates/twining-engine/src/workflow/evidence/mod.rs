//! Evidence that a feature works: the known test runs, how much each is worth, and which one
//! decides.
//!
//! A run is reported by an agent, observed by the host's hook, or verified by CI. The runner's own
//! counts determine the result, whatever the command line around it; the newest run that covers a
//! feature's tests decides. Nothing here runs a command.

mod command_analysis;
mod explain;
mod judge;
mod output_counts;
pub(super) mod run_log;
mod sources;

pub(crate) use command_analysis::TestCommand;
pub use explain::{EvidenceState, FeatureEvidence, RunReport, WatchedFile, WatchedState};
pub(crate) use judge::{EvidenceCase, judge};
pub use judge::{EvidenceVerdict, judge_evidence};
pub use output_counts::counts_in;
pub use run_log::{
    AttemptReport, FileState, FileStates, RunLog, TestRun, TestSelection, VerifiedBy,
};
