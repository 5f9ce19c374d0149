//! Decisions: what was chosen, why, and what it displaced.
//!
//! A decision is recorded whole or not at all: its file, its links in the graph
//! and its announcement are one change. Later verbs only ever move its status
//! and say who moved it, when and why; what was decided is never edited.

use twining_model::{CaseFolding, Decision, Id, Scope, text};
use twining_store::merge::HAS_CONFLICT_MARKERS;
use twining_store::{StoreError, Unreadable, View};

use crate::failure::Failure;
use crate::fields;

/// Where their files are, as the view names them.
pub(super) const FOLDER: &str = "decisions/";
/// Characters of what is wrong with a file.
pub(super) const WHY_SHOWN: usize = 200;

/// The decision with this id.
pub(crate) fn find(view: &View<'_>, id: &Id) -> Result<Decision, Failure> {
    match view.decisions().get(id)? {
        Some(decision) => Ok(decision),
        None => Err(match unreadable(view, id)? {
            Some(bad) => Failure::Unreadable {
                id: id.clone(),
                file: bad.file,
                why: text::excerpt(&bad.why, WHY_SHOWN),
            },
            None => Failure::no_decision(id),
        }),
    }
}

/// What is wrong with a decision's file, if it is there and cannot be read.
pub(crate) fn unreadable(view: &View<'_>, id: &Id) -> Result<Option<Unreadable>, StoreError> {
    let file = format!("{FOLDER}{id}.json");
    Ok(unreadable_files(view)?.into_iter().find(|bad| bad.file == file))
}

/// The decision files that cannot be read.
pub(crate) fn unreadable_files(view: &View<'_>) -> Result<Vec<Unreadable>, StoreError> {
    let mut files = view.unreadable()?;
    files.retain(|bad| bad.file.starts_with(FOLDER) && bad.why != HAS_CONFLICT_MARKERS);
    Ok(files)
}

/// Whether two decisions answer one question differently, wherever they stand.
pub(crate) fn disagree(left: &Decision, right: &Decision, folding: CaseFolding) -> bool {
    left.id != right.id
        && same_domain(&left.domain, &right.domain)
        && Scope::read(&left.scope).overlaps(&Scope::read(&right.scope), folding)
        && fields::fold(&left.summary) != fields::fold(&right.summary)
}

/// Where a decision that is out of force stands, and what stands in its place.
pub(crate) fn retired(decision: &Decision) -> String {
    match &decision.superseded_by {
        Some(by) => {
            format!("it is {}; {} replaces it", decision.status.as_str(), text::excerpt(by, 40))
        }
        None => format!("it is {}", decision.status.as_str()),
    }
}

/// Whether two words name one domain.
pub(crate) fn same_domain(left: &str, right: &str) -> bool {
    left.trim().to_lowercase() == right.trim().to_lowercase()
}
