//! What git knows. Nothing but this folder starts the git program.
//!
//! A cloned repository is not trusted: no shell, no hooks, no pager, no monitor, no filters,
//! no fetching, and every path stands behind `--`. Nor is the environment: git tells its
//! hooks of a repository, and the question may be about another.

mod batch_read;
mod branch;
mod commit_range;
mod history;
mod repository;
#[cfg(test)]
mod tests;

pub use branch::{BranchChanges, Changes};
pub use commit_range::{CommitFiles, GitRange, RangeError, TreeChange, TreeEntry};
pub use history::{CommitDetails, History, Move};
pub use repository::GitFolders;
pub use repository::{Git, Shape};
