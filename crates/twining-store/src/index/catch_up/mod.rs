//! Bringing the database up to the files, and no further.
//!
//! What comes out depends on the files alone, not on the way there: an index
//! kept through a hundred edits equals one built from the last of them.

mod decisions;
pub(super) mod entries;
mod graph;
pub(super) mod index_update;

pub(super) use decisions::{domain_key, file_state, match_listing};
pub(super) use graph::name_key;
pub(super) use index_update::{BoardPlan, plan as plan_board};
pub(crate) use index_update::{CommitPace, clip, run, sum_of};
