//! Cli.

pub(crate) mod completions;
pub(crate) mod help;
pub(crate) mod hyphen_values;
mod past_project;
pub(crate) mod run;
pub(crate) mod tool_commands;
pub(crate) mod usage_errors;
