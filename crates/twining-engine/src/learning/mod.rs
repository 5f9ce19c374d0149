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
pub use call::{Call, gist};
pub use correction::negates;
pub use create::{CreateGuardInput, GuardCreated, GuardPromoted};
pub use draft::{Seen, StoreTraceInput, TraceStored};
pub use listing::{GuardShown, GuardsInput, GuardsOutcome};
pub use masked::masked;
pub use patterns::{Pattern, PatternsInput, PatternsOutcome, Proposal, ProposalKind};
pub use query::{QueryTracesInput, QueryTracesOutcome, TraceHit};

pub(crate) use create::{alive, plan_create, plan_promote};
pub(crate) use draft::TraceDraft;
pub(crate) use listing::listed;
pub(crate) use patterns::{Gathering, PatternsDraft};
pub(crate) use query::{QueryTracesDraft, Search, outcome, told};
