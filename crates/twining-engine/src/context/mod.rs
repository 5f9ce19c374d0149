//! Context: what an agent needs to know for one task, inside its budget.
//!
//! Gather what bears on the task and its scope, score it, fill the budget, and
//! say what was left out. Read-only; nothing here is stored.

mod assemble;
mod base_records;
mod budget;
mod changes;
mod code_signals;
mod explain;
mod gather;
mod score;
mod summarize;
#[cfg(test)]
mod tests;

pub(crate) use assemble::assemble;
pub use assemble::{
    AssembleDraft, AssembleInput, AssembledContext, ContextClaim, ContextEntity, ContextHandoff,
    ContextOverride, OmittedRecord,
};
pub use base_records::BaseRecords;
pub use budget::{ContextDecision, ContextEntry};
pub use changes::{
    ChangedDecision, EndedDecision, NewEntry, WhatChangedInput, WhatChangedOutcome,
    changed_from_base, what_changed,
};
pub use explain::{ExplainedOmission, OmissionReason, SectionCost};
pub use summarize::{ScopeSummary, SummarizeInput, summarize};
