//! Status: what is there, what needs attention, and what to do about it.

mod api;
mod report;
#[cfg(test)]
mod tests;
mod unread;

pub use report::{StatusInput, StatusReport, StatusWarning, UnreadableFile, status};
