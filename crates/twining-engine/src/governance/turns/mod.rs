//! Turns: what the next one should know of those before it.
//!
//! A turn is written when the coach has judged it, under a name that anyone can
//! compute; the same turn again is an update that keeps what it does not mention.

mod draft;
mod list;
mod record;
#[cfg(test)]
mod tests;

pub use draft::{RecordTurnInput, feature_of};
pub(crate) use draft::{TurnDraft, key};
pub use list::{TurnsInput, TurnsOutcome, UnreadableTurn};
pub(crate) use list::{before, escalated, turns, why_unreadable};
pub use record::RecordTurnOutcome;
pub(crate) use record::plan_record;
