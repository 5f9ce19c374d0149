//! Search: by words, by meaning, and both fused into one order.
//!
//! A [`SearchQuery`] is a query prepared for comparison: its words, and the similarity of every known
//! text to its meaning. [`rank`] finds the matching records of one [`Searchable`]. Without vectors (no
//! model, or none computed yet) only words are matched, and the reply's mode says so.

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
pub use embedding_worker::{EmbeddingProgress, EmbeddingThread, EmbeddingWorker, GoOn};
pub use ranking::{ScoreParts, SearchMode};
