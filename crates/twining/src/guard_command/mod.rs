//! Guard command.

pub(crate) mod admin;
pub(crate) mod list;
