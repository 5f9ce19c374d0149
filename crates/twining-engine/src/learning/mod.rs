//! Learning: what rules stopped and people put right, the patterns in it, and
//! guards proposed from them.
//!
//! Traces are kept as they come; patterns are computed each time and never
//! stored. A pattern can propose a guard, a proposed guard can warn, and only a
//! person can make it block. What came from elsewhere, or was guessed, is shown
//! and counts for nothing.

mod api;
mod backtest;
mod call;
mod correction;
mod create;
mod draft;
mod listing;
mod masked;
mod patterns;
mod query;
#[cfg(test)]
mod tests;

pub use backtest::Backtest;
pub use call::{RecordedCall, action_summary};
pub use correction::is_correction;
pub use create::{CreateGuardInput, CreateGuardOutcome, PromoteGuardOutcome};
pub use draft::{ObservedTrace, StoreTraceInput, StoreTraceOutcome};
pub use listing::{GuardSummary, GuardsInput, GuardsOutcome};
pub use masked::masked;
pub use patterns::{Pattern, PatternsInput, PatternsOutcome, Proposal, ProposalKind};
pub use query::{QueryTracesInput, QueryTracesOutcome, TraceHit};

pub(crate) use create::{check_guard_holds, plan_create, plan_promote};
pub(crate) use draft::TraceDraft;
pub(crate) use listing::listed;
pub(crate) use patterns::{PatternBuilder, PatternsDraft};
pub(crate) use query::{QueryTracesDraft, TraceSearch, outcome, trace_text};
