//! Bringing the database up to the files, and no further.
//!
//! What comes out depends on the files alone, not on the way there: an index
//! kept through a hundred edits equals one built from the last of them.

mod anchors;
pub(super) mod board_sync;
mod decisions;
pub(super) mod entry_rows;
mod graph;

pub(super) use board_sync::{BoardPlan, plan as plan_board};
pub(crate) use board_sync::{CommitPace, clip, run, sum_of};
pub(super) use decisions::{domain_key, file_state, match_listing};
pub(super) use graph::name_key;
