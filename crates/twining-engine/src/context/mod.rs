//! Context: what an agent needs to know for one task, inside its budget.
//!
//! Gather what bears on the task and its scope, score it, fill the budget, and
//! say what was left out. Read-only; nothing here is stored.

mod assemble;
mod budget;
mod gather;
mod score;
#[cfg(test)]
mod tests;
mod told;

pub(crate) use assemble::assemble;
pub use assemble::{AssembleDraft, AssembleInput, AssembledContext, ContextEntity, Omitted};
pub use told::{ContextDecision, ContextEntry};
