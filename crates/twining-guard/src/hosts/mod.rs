//! Hosts: one file each for what it calls things, and nothing else.
//!
//! An adapter turns the host's JSON into a [`HostPayload`], and a [`Reply`] into the
//! host's own answer. What happens in between is the same for all of them.

mod adapter;
mod claude;
mod copilot;
mod cursor;
mod gemini;
mod payload;
#[cfg(test)]
mod tests;

pub use adapter::{HOSTS, HookReply, HostAdapter, HostAnswer, parse_json};
pub use payload::{HookEvent, HostPayload, ToolResult};
