//! The hook entry point: a host's JSON on stdin, the host's answer on stdout.
//!
//! It runs before every tool call, so it opens the policy and nothing else until something needs
//! more: read, evaluate, answer. If Twining itself fails, the host goes on and gets the reason; our
//! errors block nobody.

mod auto_loop;
mod checks;
mod compaction_snapshot;
mod context;
mod decision_labels;
pub(crate) mod git_hooks;
mod guard_cache;
mod questions;
mod run;
mod session;
mod session_state;
mod stop;
mod tool_call;
mod trace_log;
mod working_tree;

pub(crate) use context::HookContext;
pub(crate) use guard_cache::{guards, guards_as_written};
pub(crate) use run::{read_any_event, run};
pub(crate) use session_state::SessionState;
pub(crate) use trace_log::preview;
