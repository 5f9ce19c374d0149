//! Waiting: what needs a person, why, and what each answer would do.
//!
//! One list for the page, the terminal, the prompt and briefs. Read-only: an item is
//! computed from the records, never stored, so it is gone when its cause is. It is asked
//! for often: the index answers, items are made for one page only, and what git or
//! recorded calls must be asked is kept until its cause changes.

mod agents;
mod answers;
mod contested;
mod entries;
mod guards;
mod inbox;
mod item;
mod records;
mod settled;
#[cfg(test)]
mod tests;
mod work;

pub(crate) use answers::{edit_command, shell_word};
pub use inbox::WaitingSources;
pub use item::{
    AnswerNeed, Gravity, Settled, WaitingAnswer, WaitingCount, WaitingInput, WaitingItem,
    WaitingKind, WaitingOutcome, WaitingSubject,
};
