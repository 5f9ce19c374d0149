//! A log that others write too: what it has accepted counts, and the folder follows it.
//!
//! Without one, which is how Twining mostly runs, the folder's own journal is all there is.

use serde::{Deserialize, Serialize};
use twining_model::{Change, Id};

use crate::error::LogError;

/// A line that is to be added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewLine {
    /// Names the line: under one key it is added once, however often it is sent.
    pub key: Id,
    /// What it does.
    pub change: Change,
}

/// A line of the log. Numbers have no gaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// Its number, from one.
    pub seq: u64,
    /// Its key.
    pub key: Id,
    /// What it does.
    pub change: Change,
}

/// What new lines were planned on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogBase {
    /// Nothing: they are true whatever others wrote.
    Any,
    /// A view that holds every line up to this one.
    At(u64),
}

/// A log that others write too.
pub trait Log: Send + Sync {
    /// Adds lines under their keys, all or none, and tells their numbers.
    fn append(&self, base: LogBase, lines: &[NewLine]) -> Result<Vec<u64>, LogError>;

    /// Lines after a number, in order, at most so many.
    fn since(&self, after: u64, limit: usize) -> Result<Vec<LogLine>, LogError>;
}
