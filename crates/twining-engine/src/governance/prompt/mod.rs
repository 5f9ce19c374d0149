//! Prompts: what an agent in a role should have in front of it, as Markdown and
//! as fields, inside a budget that grows with the task.
//!
//! Built in two steps, because what the memory may fill is what policy and turns
//! leave: [`begin`] writes those, [`Sheet::room`] says how much is left, and
//! [`Sheet::finish`] takes decisions, warnings and rules from outside. Whatever
//! is missing is left out without a word; stored text is put on one line and made
//! visible, so none of it can pass for a heading of ours.

mod builder;
mod markdown;
mod records;
#[cfg(test)]
mod tests;

pub(crate) use builder::{COUNTED, PromptBudget, RECENT_TURNS, begin};
pub use builder::{Prompt, PromptInput, PromptRecord, PromptRole};
