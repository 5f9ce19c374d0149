//! Verbs.

pub(crate) mod command_line;
pub(crate) mod flags;
pub(crate) mod schema;
pub(crate) mod serde_messages;
pub(crate) mod tool_names;
pub(crate) mod verb;
