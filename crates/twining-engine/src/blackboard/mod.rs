//! The blackboard: messages between agents, one line each.
//!
//! A line is written once. A need, a question or a warning is open until an answer or a status
//! relates to it; nothing is ever deleted, so who closed what, when and why stays on record.

mod dismiss;
mod duplicates;
pub(super) mod post;
mod read;

pub use dismiss::{DismissInput, DismissOutcome, plan_dismiss};
pub use duplicates::{SAME_MEANING, denies, turns_differ};
pub(crate) use post::{
    PostDraft, VERIFIED, VERIFIED_TAG, is_report, note, plan_post, unknown_ids_note,
};
pub use post::{PostInput, PostOutcome, PreparedPost, ReadyPost};
pub(crate) use read::query;
pub use read::{
    EntryHit, QueryInput, QueryOutcome, ReadInput, ReadOutcome, RecentInput, RecentOutcome, read,
    recent,
};
