//! Context: what an agent needs to know for one task, inside its budget.
//!
//! Gather what bears on the task and its scope, score it, fill the budget, and
//! say what was left out. Read-only; nothing here is stored.

mod api;
mod assemble;
mod budget;
mod changes;
mod drowned;
mod gather;
mod others;
mod score;
mod summarize;
#[cfg(test)]
mod tests;
mod told;

pub(crate) use assemble::assemble;
pub use assemble::{AssembleDraft, AssembleInput, AssembledContext, ContextEntity, OmittedRecord};
pub use changes::{ChangedDecision, EndedDecision, NewEntry, WhatChangedDraft, WhatChangedInput, WhatChangedOutcome, what_changed};
pub(crate) use others::OtherAgents;
pub use others::{ContextClaim, ContextHandoff};
pub use summarize::{ScopeSummary, SummarizeInput, summarize};
pub use told::{ContextDecision, ContextEntry};
