//! Agents together: who is there, who can do what, who holds which part of the
//! project, and what one hands over to another.
//!
//! What a team shares (capabilities, handoffs) stands in tracked files; what is
//! true for minutes on one machine (who called when, who holds what) in `local/`.
//! Names are what agents call themselves and prove nothing.

mod claims;
mod delegation;
mod handoff;
mod registry;
#[cfg(test)]
mod tests;

pub(crate) use claims::{ClaimDraft, current_claims, is_mine, overlapping, plan_claim};
pub use claims::{ClaimInput, ClaimOutcome};
pub(crate) use delegation::{DelegateDraft, delegate};
pub use delegation::{DelegateInput, DelegateOutcome, OfferMatch};
pub use handoff::{AcknowledgeInput, HandoffInput, HandoffOutcome, HandoffSummary};
pub(crate) use handoff::{HandoffDraft, open_handoffs, plan_acknowledge, plan_handoff};
pub use registry::{
    AgentLiveness, AgentMatch, AgentSummary, AgentsInput, AgentsOutcome, DiscoverInput,
    DiscoverOutcome, RegisterInput, RegisterOutcome,
};
pub(crate) use registry::{Presence, discover, everyone};
