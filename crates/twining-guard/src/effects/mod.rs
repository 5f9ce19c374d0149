//! What a tool call would change, worked out in memory.

pub mod shell;
