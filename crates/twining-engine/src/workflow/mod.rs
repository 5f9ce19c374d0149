//! The feature loop: what is to be built, what to do now, and what counts as
//! done.
//!
//! A pure function at its heart: [`next()`] tells from the list what to do,
//! [`advance`] takes one step, [`judge_evidence`] says whether a feature was shown
//! to work. There is no state beside the list that could disagree with it. Test runs
//! are remembered for this working tree only; nothing here runs anything.

mod api;
mod edit;
mod evidence;
mod feature;
mod files;
mod list;
mod machine;
mod merge;
mod next;
mod order;
mod prompt;
mod report;
mod spans;
#[cfg(test)]
mod tests;

pub use api::FeatureProofs;
pub use edit::{FeatureCounts, FeaturesInput, FeaturesOutcome};
pub use evidence::{
    AttemptReport, EvidenceVerdict, FileState, FileStates, RunLog, TestRun, TestSelection, VerifiedBy, counts_in, judge_evidence,
};
pub use feature::{Feature, FeatureStatus};
pub use files::file_states;
pub use list::FeatureList;
pub use machine::{FeatureEvent, FeatureState, advance, event_towards};
pub(crate) use merge::LIST;
pub use merge::merge_features;
pub use next::{NextAction, NextStep, next};
pub use prompt::{NextBrief, NextInput, NextOutcome};
pub use report::{EvidenceInput, ReportContext, ReportInput, ReportOutcome};

use twining_store::{FeatureShelf, TextFile};

use crate::failure::Failure;

/// The list on a shelf; none where none is.
pub(crate) fn read_list(feature_file: &FeatureShelf) -> Result<Option<FeatureList>, Failure> {
    let unreadable = |why: String| Failure::UnreadableList { path: feature_file.path.clone(), why };
    match &feature_file.file {
        TextFile::Missing => Ok(None),
        TextFile::Text(text) if text.trim().is_empty() => Ok(None),
        TextFile::Unusable(why) => Err(unreadable(format!("cannot be read: {why}"))),
        TextFile::Text(text) => {
            // Without our driver git leaves both sides of a merge in the file; the next edit puts it right.
            let mut list = match FeatureList::parse(text) {
                Ok(list) => list,
                Err(why) => FeatureList::parse(&merge::one_list(text).ok_or_else(|| unreadable(why))?).map_err(unreadable)?,
            };
            if let Some(unused) = &feature_file.unused {
                list.problems.push(format!("`{unused}` is there too and is not used; `{}` is", feature_file.path));
            }
            Ok(Some(list))
        }
    }
}
