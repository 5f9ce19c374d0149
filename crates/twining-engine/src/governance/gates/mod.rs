//! Gates: the bar a task of some type and complexity must clear, and whether it
//! did. Three answers, because "no failure was seen" is not "it passed".

mod check;
mod profile;
#[cfg(test)]
mod tests;

pub use check::{
    CheckGatesInput, CheckGatesOutcome, GateEvidence, GateResult, GateResultsInput, GateStatus,
    Percent, TestCounts,
};
pub(crate) use check::{GateMeasurements, arch_score, check, claimed_tests, coverage};
pub use profile::{GateProfile, GatesInput, GatesOutcome};
pub(crate) use profile::{Task, gates, profile, task};
