//! A linked clone: this folder and a team's log exchange lines.
//!
//! Address and token are the user's own settings, bound to this folder by its identity; nothing
//! that is tracked in a repository names an address that is acted upon. This is the only module of
//! the program that opens connections; hooks open none, and only read how things stand.

mod command;
mod demoted_report;
mod git_tracking;
mod http_log;
mod join_log;
mod link_report;
mod lost_records;
mod project_label;
mod refused_changes;
#[cfg(feature = "service")]
mod root_certificates;
mod server_link;
mod settings;
mod sync_command;
mod sync_state;
mod sync_worker;
mod team_link;
mod transport;

pub(crate) use command::{link, link_flags, unlink, unlink_flags};
pub(crate) use server_link::ServerLink;
pub(crate) use sync_command::{sync, sync_flags};
pub(crate) use sync_state::{session_notice, sync_checks, sync_warnings, team_exchange};
pub(crate) use team_link::{SentState, TeamLink, needs_log, sent_state, with_synced};
