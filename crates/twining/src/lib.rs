//! Twining: shared memory for coding agents.
//!
//! The verbs are defined once, in [`commands`], and reached through three entry points: the command
//! line ([`cli`]), MCP ([`mcp`]) and the browser ([`web`]).

mod allowances;
mod args;
mod cli;
mod commands;
mod default_policy;
mod doctor;
mod dot_check;
mod embedding_model;
mod guard_command;
mod hook;
mod hook_trial;
mod import;
mod init;
mod knowledge_show;
mod link;
mod locate_project;
mod mcp;
mod merge_driver;
mod output;
mod overview;
mod person_check;
mod process;
mod program_path;
mod project;
mod reindex;
mod render;
#[cfg(feature = "service")]
mod serve;
mod settings;
mod system_world;
mod tour;
#[cfg(feature = "tui")]
mod tui;
mod user_policy;
mod verbs;
mod verify_ci;
mod web;

pub use cli::run::main;
pub use mcp::mcp_server;
#[cfg(feature = "tui")]
pub use tui::headless::HeadlessTop;
