//! Learning: what rules stopped and people put right, the patterns in it, and
//! guards proposed from them.
//!
//! Traces are kept as they come; patterns are computed each time and never
//! stored. A pattern can propose a guard, a proposed guard can warn, and only a
//! person can make it block. What came from elsewhere, or was guessed, is shown
//! and counts for nothing.

mod api;
mod correction;
mod guards;
mod patterns;
mod recorded_call;
mod tally;
#[cfg(test)]
mod tests;
mod trace_search;
mod traces;

pub use correction::is_correction;
pub use guards::{
    Backtest, CreateGuardInput, CreateGuardOutcome, DiscardGuardOutcome, GuardBacktest,
    GuardBypass, GuardState, GuardSummary, GuardsInput, GuardsOutcome, PromoteGuardOutcome,
};
pub use patterns::{Pattern, PatternsInput, PatternsOutcome, Proposal, ProposalKind};
pub use recorded_call::{RecordedCall, action_summary};
pub use trace_search::{QueryTracesInput, QueryTracesOutcome, TraceHit};
pub use traces::{ObservedTrace, StoreTraceInput, StoreTraceOutcome, masked};

pub(crate) use guards::{listed, plan_create, plan_discard, plan_promote};
pub(crate) use patterns::{PatternBuilder, PatternsDraft};
pub(crate) use tally::{GuardTally, discard_text, lift_text, promotion_text};
pub(crate) use trace_search::{QueryTracesDraft, TraceSearch, trace_text};
pub(crate) use traces::plan_trace;
