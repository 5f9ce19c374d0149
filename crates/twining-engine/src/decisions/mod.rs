//! Decisions: what was chosen, why, and what it displaced.
//!
//! A decision is recorded whole or not at all: its file, its links in the graph
//! and its announcement are one change. Later verbs only ever move its status
//! and say who moved it, when and why; what was decided is never edited.

mod announcements;
mod clauses;
mod commits;
mod decide;
mod dependencies;
mod lookup;
mod search;
mod status_change;
#[cfg(test)]
mod tests;
mod why;

pub(crate) use clauses::{clause_of_decision, clause_of_edge};
pub(crate) use commits::decisions_of_commit;
pub(crate) use commits::linked;
pub(crate) use commits::may_concern_decisions;
pub use commits::{
    CommitDecision, CommitsInput, CommitsOutcome, LinkCommitDraft, LinkCommitInput,
    LinkCommitOutcome, commits, plan_link_commit,
};
pub use commits::{CommitDetails, LinkSource, carried_out};
pub use decide::{Conflict, DecideOutcome, plan_decide};
pub use decide::{DecideInput, DecisionDraft};
pub use dependencies::{Dependent, ImpactInput, ImpactOutcome, RelatedEntry, Risk, impact};
pub use dependencies::{TraceInput, TraceLink, TraceOutcome, trace};
pub(crate) use lookup::same_domain;
pub(crate) use search::search_decisions;
pub use search::{DecisionHit, SearchDecisionsDraft, SearchDecisionsInput, SearchDecisionsOutcome};
pub use status_change::{
    ContestedDecision, PromoteDraft, PromoteInput, PromoteOutcome, PromotionRefusal, plan_promote,
};
pub use status_change::{
    OverrideDraft, OverrideInput, OverrideOutcome, in_question, plan_override,
};
pub use status_change::{ReconsiderDraft, ReconsiderInput, ReconsiderOutcome, plan_reconsider};
pub(crate) use why::contesting;
pub(crate) use why::why_commit;
pub use why::{MergeClash, WhyDecision, WhyInput, WhyOutcome, why};
pub use why::{Move, RenameHistory};
