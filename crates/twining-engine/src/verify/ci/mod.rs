//! Verifying a pull request where the agent cannot write: in CI, or on a server.
//!
//! Stateless, and nothing of the tree is run. What changed is what lies between the
//! merge base and the head; the rules are those of the base, so that no pull request
//! brings its own. Each rule is one function from a [`PullRequest`] to findings.

mod anchored_code;
mod banned_uses;
mod features;
mod human_authorship;
mod policy;
mod pull_request;
mod records;
mod report;
mod secrets;
#[cfg(test)]
mod tests;

pub use pull_request::{ChangedFile, PullRequest, RecordCommit};
pub use report::{
    CiEvidence, CiFinding, CiOptions, CiReport, CiSummary, Severity, sarif, verify_pull_request,
};
