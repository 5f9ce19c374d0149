//! Verbs.

pub(crate) mod flags;
pub(crate) mod schema;
pub(crate) mod serde_messages;
pub(crate) mod verb;
