//! Search: by words, by meaning, and both fused into one order.
//!
//! A [`Question`] is what is asked for, ready to be compared: its words, and how
//! near every known text is to its meaning. [`rank`] finds the records of one
//! [`Shelf`] that answer it. Without vectors (no model, or none made yet) the
//! words answer alone, and the reply's mode says so.

mod embedding_index;
mod embedding_worker;
mod ranking;
#[cfg(test)]
mod tests;

pub(crate) use embedding_index::{LoadedIndex, Similarities};
pub(crate) use ranking::{
    DecisionSearch, EntrySearch, RankedRecord, Ranking, SearchQuery, by_meaning, by_words, rank,
    rank_found, round,
};

pub use embedding_index::{EmbeddingIndex, LoadModel, ModelState};
pub use embedding_worker::{EmbeddingProgress, EmbeddingThread, EmbeddingWorker};
pub use ranking::{ScoreParts, SearchMode};
