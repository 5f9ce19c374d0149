//! Decisions: what was chosen, why, and what it displaced.
//!
//! A decision is recorded whole or not at all: its file, its links in the graph
//! and its announcement are one change. Later verbs only ever move its status
//! and say who moved it, when and why; what was decided is never edited.

pub(crate) mod announcements;
mod clauses;
mod commits;
mod confirmation;
mod decide;
mod dependencies;
mod list;
mod search;
mod status_change;
#[cfg(test)]
mod tests;
mod why;

pub(crate) use clauses::{clause_of_decision, clause_of_edge, items_of, open_claimed_overrides};
pub use commits::{
    CommitDecision, CommitDetails, CommitsInput, CommitsOutcome, LinkCommitInput,
    LinkCommitOutcome, LinkSource,
};
pub(crate) use confirmation::PERSONS_TOKEN;
pub use decide::{Conflict, DecideInput, DecideOutcome};
pub(crate) use dependencies::rests_on_it;
pub use dependencies::{
    Dependent, ImpactInput, ImpactOutcome, RelatedEntry, Risk, TraceInput, TraceLink, TraceOutcome,
};
pub use list::{DecisionsInput, DecisionsOutcome, ListedDecision};
pub use search::{DecisionHit, SearchDecisionsInput, SearchDecisionsOutcome};
pub(crate) use search::{disagree, same_domain};
pub(crate) use status_change::binding_dependents;
pub use status_change::{
    DecisionRivals, OverrideInput, OverrideOutcome, PromoteInput, PromoteOutcome, PromotionRefusal,
    ReconsiderInput, ReconsiderOutcome,
};
pub use why::{MergeClash, Move, RenameHistory, WhyDecision, WhyInput, WhyOutcome, WhyWarning};
pub(crate) use why::{clashes_of, contesting};
