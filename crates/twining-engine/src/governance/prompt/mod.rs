//! Prompts: what an agent in a role needs to know, as Markdown and as fields, within a budget that
//! grows with the task.
//!
//! Built in two steps, because the memory may use only what policy and turns leave: [`begin`]
//! writes those, [`PromptBuilder::budget`] returns how much is left, and [`PromptBuilder::finish`] adds decisions,
//! warnings and rules. Missing parts are silently omitted; stored text is put on one line and made
//! visible, so that it cannot imitate one of our headings.

mod builder;
mod markdown;
mod records;
#[cfg(test)]
mod tests;

pub(crate) use builder::{COUNTED, PromptBudget, RECENT_TURNS, begin};
pub use builder::{Prompt, PromptInput, PromptRecord, PromptRole};
