//! Decisions: what was chosen, why, and what it displaced.
//!
//! A decision is recorded whole or not at all: its file, its links in the graph
//! and its announcement are one change. Later verbs only ever move its status
//! and say who moved it, when and why; what was decided is never edited.

mod amend;
mod commits;
mod decide;
mod draft;
mod impact;
mod notices;
mod overriding;
mod promote;
mod reconsider;
mod search;
#[cfg(test)]
mod tests;
mod trace;
mod why;

use twining_model::{Decision, Id};
use twining_store::View;

pub use commits::{
    CommitDecision, CommitsInput, CommitsOutcome, LinkCommitDraft, LinkCommitInput, LinkCommitOutcome, commits, plan_link_commit,
};
pub use decide::{Conflict, Decided, plan_decide};
pub use draft::{DecideInput, Draft};
pub use impact::{Dependent, Impact, ImpactInput, RelatedEntry, Risk, impact};
pub use overriding::{Overridden, OverrideDraft, OverrideInput, plan_override};
pub use promote::{PromoteDraft, PromoteInput, PromoteOutcome, PromotionRefused, plan_promote};
pub use reconsider::{ReconsiderDraft, ReconsiderInput, Reconsidered, plan_reconsider};
pub use search::{DecisionHit, SearchDecisionsInput, SearchDecisionsOutcome, search_decisions};
pub use trace::{TraceInput, TraceLink, TraceOutcome, trace};
pub(crate) use why::nearest;
pub use why::{WhyDecision, WhyInput, WhyOutcome, why};

use crate::failure::Failure;

/// The decision with this id.
pub(crate) fn find(view: &View<'_>, id: &Id) -> Result<Decision, Failure> {
    view.decisions().get(id)?.ok_or_else(|| Failure::no_decision(id))
}

/// Whether two words name one domain.
pub(crate) fn same_domain(left: &str, right: &str) -> bool {
    left.trim().to_lowercase() == right.trim().to_lowercase()
}
