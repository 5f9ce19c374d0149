//! Coordination of agents: who is present, who can do what, who has claimed which part of the
//! project, and handoffs.
//!
//! What a team shares (capabilities, handoffs) is in tracked files; short-lived state of one
//! machine (last calls, claims) is in `local/`. Agents choose their names, which prove nothing.

mod claims;
mod delegation;
mod handoff;
mod registry;
#[cfg(test)]
mod tests;

pub(crate) use claims::{
    ClaimDraft, check_released, current_claims, is_mine, overlapping, plan_claim,
};
pub use claims::{ClaimInput, ClaimOutcome};
pub(crate) use delegation::{DelegateDraft, delegate};
pub use delegation::{DelegateInput, DelegateOutcome, OfferMatch};
pub use handoff::{AcknowledgeInput, HandoffInput, HandoffOutcome, HandoffSummary};
pub(crate) use handoff::{HandoffDraft, open_handoffs, plan_acknowledge, plan_handoff};
pub use registry::{
    AgentLiveness, AgentMatch, AgentSummary, AgentsInput, AgentsOutcome, DiscoverInput,
    DiscoverOutcome, RegisterInput, RegisterOutcome,
};
pub(crate) use registry::{Presence, discover, everyone, last_call};
