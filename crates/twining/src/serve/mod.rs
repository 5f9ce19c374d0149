//! `twining serve`: a team's memory over HTTP, and the commands of who runs it.
//!
//! The service itself is the crate `twining-service`; here are its command line and the verbs it
//! offers, those that need only the memory.

mod admin;
mod background_work;
mod command;
mod issuers;
mod relative_paths;
mod served_memory;
mod tool_catalog;

pub(crate) use command::{flags, run};
