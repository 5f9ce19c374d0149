//! Access to git. Only this folder starts the git program.
//!
//! A cloned repository is not trusted: no shell, no hooks, no pager, no monitor, no filters, no
//! fetching, and every path follows `--`. Nor is the environment: git points its hooks to a
//! repository, and the query may concern another.

mod batch_read;
mod blob_reader;
mod branch;
mod branch_commit;
mod code_history;
mod commit_range;
mod history;
mod path_history;
mod repository;
#[cfg(test)]
mod tests;

pub use blob_reader::BlobReader;
pub use branch::{BranchChanges, Changes};
pub use branch_commit::{BranchCommit, BranchCommitError};
pub use code_history::FileCommit;
pub use commit_range::{CommitFiles, GitRange, RangeError, TreeChange, TreeEntry};
pub use history::{CommitDetails, History, Move};
pub use path_history::{Removal, TrackedFile, WordPlace};
pub use repository::{Git, GitFolders, HeadPosition, Shape};
