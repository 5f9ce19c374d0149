//! The feature loop: what to build, what to do now, and what counts as done.
//!
//! Its core is pure functions: [`next()`] derives the next step from the list, [`advance`] takes
//! one step, [`judge_evidence`] decides whether a feature was shown to work. No state beside the
//! list could disagree with it. Test runs are recorded for this working tree only; nothing here
//! runs anything.

mod api;
mod evidence;
mod feature;
mod feature_edit;
mod feature_list_merge;
mod json_spans;
mod list;
mod next;
mod report;
mod state_machine;
#[cfg(test)]
mod tests;

pub use api::FeatureProofs;
pub use evidence::run_log::file_states;
pub use evidence::{
    AttemptReport, EvidenceState, EvidenceVerdict, FeatureEvidence, FileState, FileStates, RunLog,
    RunReport, TestRun, TestSelection, VerifiedBy, WatchedFile, WatchedState, counts_in,
    judge_evidence,
};
pub use feature::{Feature, FeatureStatus};
pub use feature_edit::{FeatureCounts, FeaturesInput, FeaturesOutcome, ListedFeature};
pub(crate) use feature_list_merge::LIST;
pub use feature_list_merge::merge_features;
pub use list::FeatureList;
pub(crate) use list::read_list;
pub use next::{NextAction, NextBrief, NextInput, NextOutcome, NextStep, next};
pub use report::{EvidenceInput, ReportContext, ReportInput, ReportOutcome};
pub use state_machine::{FeatureEvent, FeatureState, advance, event_towards};
