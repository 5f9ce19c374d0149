//! Search: by words, by meaning, and both fused into one order.
//!
//! A [`Question`] is what is asked for, ready to be compared: its words, and how
//! near every known text is to its meaning. [`rank`] finds the records of one
//! [`Shelf`] that answer it. Without vectors (no model, or none made yet) the
//! words answer alone, and the reply's mode says so.

mod backlog;
mod embedding;
mod fusion;
mod meanings;
mod model;
mod question;
mod shelves;
#[cfg(test)]
mod tests;

pub(crate) use fusion::{RankedRecord, Ranking, by_meaning, by_words, rank, rank_found};
pub(crate) use meanings::{LoadedIndex, Similarities};
pub(crate) use question::SearchQuery;
pub(crate) use shelves::{DecisionSearch, EntrySearch};

pub use embedding::{EmbeddingProgress, EmbeddingThread, EmbeddingWorker};
pub use fusion::{ScoreParts, SearchMode};
pub use meanings::EmbeddingIndex;
pub use model::{LoadModel, ModelState};
