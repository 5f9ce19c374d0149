//! Status: what is there, what needs attention, and what to do about it.

mod report;
#[cfg(test)]
mod tests;

pub use report::{StatusInput, StatusReport, StatusWarning, TeamExchange, UnreadableFile};
