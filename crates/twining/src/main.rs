//! Twining: shared memory for coding agents.
//!
//! The verbs are defined once, in [`commands`], and reached through two doors:
//! the command line ([`cli`]) and MCP ([`mcp`]).

mod allowed;
mod args;
mod cli;
mod commands;
mod completions;
mod dashes;
mod desk;
mod doctor;
mod dot;
mod drivers;
mod flags;
mod guard;
mod help;
mod hook;
mod import;
mod init;
mod installed;
mod json;
mod lift;
mod locate;
mod mcp;
mod merge_driver;
mod misread;
mod misuse;
mod model;
mod moved;
mod out;
mod page;
mod parent_processes;
mod person;
mod problem;
mod progress;
mod reindex;
mod running;
mod schema;
mod seed;
mod settings;
mod shape;
mod show;
mod tool_commands;
mod tour;
mod user_policy;
mod verbs;
mod verify_ci;
mod wiring;
mod world;

fn main() -> std::process::ExitCode {
    #[cfg(feature = "conformance")]
    if let Some(ending) = mcp::conformance::asked() {
        return ending;
    }
    cli::main()
}
