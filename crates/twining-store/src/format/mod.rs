//! File contents: arrays, the ends of line files, settings. Nothing here writes.

pub mod array;
pub mod config;
pub(crate) mod torn_lines;
