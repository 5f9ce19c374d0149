//! The feature loop: what is to be built, what to do now, and what counts as
//! done.
//!
//! A pure function at its heart: [`next()`] tells from the list what to do,
//! [`advance`] takes one step, [`judge_evidence`] says whether a feature was shown
//! to work. There is no state beside the list that could disagree with it. Runs
//! are remembered for this working tree only; nothing here runs anything.

mod edit;
mod evidence;
mod failing;
mod failures;
mod feature;
mod hollow;
mod list;
mod machine;
mod merge;
mod next;
mod order;
mod outline;
mod output;
mod prompt;
mod report;
mod run;
mod single;
mod spans;
mod suite;
#[cfg(test)]
mod tests;

pub use edit::{FeatureCounts, FeaturesInput, FeaturesOutcome};
pub(crate) use edit::{FeaturesDraft, plan_features, read_features};
pub use evidence::{Verdict, judge_evidence, paths_at_stake};
pub use failing::failing_in;
pub use feature::{Feature, Status};
pub use hollow::{Says, says};
pub use list::FeatureList;
pub use machine::{Effect, Event, OutOfStep, Standing, advance, event_towards};
pub(crate) use merge::LIST;
pub use merge::merge_features;
pub use next::{Action, Next, next};
pub(crate) use outline::{Held, Outline};
pub use output::counts_in;
pub use prompt::{NextBrief, NextInput, NextOutcome};
pub(crate) use prompt::{Worker, task_text};
pub use report::{EvidenceInput, ReportInput, ReportOutcome};
pub(crate) use report::{ReportDraft, accept, plan_report};
pub(crate) use run::moved_line;
pub use run::{AttemptReport, FileSeen, FileState, FileStates, OutputSeen, Remembered, Run, RunSource};
pub(crate) use single::{Single, is_nowhere_else, look_up};
pub use suite::{PACKAGE_SCRIPT, Suite};

use twining_store::{FeatureFile, FeatureShelf};

use crate::failure::Failure;

/// The list on a shelf; none where none is.
pub(crate) fn list_on(shelf: &FeatureShelf) -> Result<Option<FeatureList>, Failure> {
    let unreadable = |why: String| Failure::UnreadableList { path: shelf.path.clone(), why };
    match &shelf.file {
        FeatureFile::Missing => Ok(None),
        FeatureFile::Text(text) if text.trim().is_empty() => Ok(None),
        FeatureFile::Unusable(why) => Err(unreadable(format!("cannot be read: {why}"))),
        FeatureFile::Text(text) => {
            // Without our driver git leaves both sides of a merge in the file; the next edit puts it right.
            let mut list = match FeatureList::parse(text) {
                Ok(list) => list,
                Err(why) => FeatureList::parse(&merge::one_list(text).ok_or_else(|| unreadable(why))?).map_err(unreadable)?,
            };
            if let Some(unused) = &shelf.unused {
                list.problems.push(format!("`{unused}` is there too and is not used; `{}` is", shelf.path));
            }
            Ok(Some(list))
        }
    }
}
