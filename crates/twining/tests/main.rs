//! Every integration test of this crate, in one program: it is linked once.

mod acknowledged;
mod agents;
mod anchors;
mod audit;
mod branches;
mod clauses;
mod cli;
mod code_changes;
mod code_labels;
mod code_questions;
mod commits;
mod common;
mod conflict_markers;
mod degraded;
mod doctor;
mod drift_questions;
mod evidence;
mod feature_lists;
mod governance;
mod guards;
mod honest_calls;
mod honest_git;
mod honest_runs;
mod hook_attacks;
mod hook_managers;
mod hooks;
mod hostile;
mod import_export;
mod init;
mod knowledge;
mod lazy_tricks;
mod learning;
mod linked;
mod linked_git;
mod linked_network;
mod linked_rivals;
mod mcp;
mod merging;
mod moved_code;
mod output_escaping;
#[cfg(feature = "service")]
mod packaging;
mod person;
mod protect;
mod redaction;
mod refusal_alternatives;
#[cfg(feature = "service")]
mod serve_access;
#[cfg(feature = "service")]
mod serve_attacks;
#[cfg(feature = "service")]
mod serve_confirmation;
#[cfg(feature = "service")]
mod serve_nodes;
#[cfg(feature = "service")]
mod serve_oauth;
#[cfg(feature = "service")]
mod serve_operation;
#[cfg(feature = "service")]
mod serve_storm;
#[cfg(feature = "service")]
mod serve_tls;
mod servers;
mod top;
mod tour;
mod uninstall;
mod verify_ci;
mod waiting;
mod web_access;
mod web_calls;
mod web_events;
mod web_instances;
mod workflow;
