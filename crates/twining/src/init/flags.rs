//! The flags of `init` and `uninstall`, and what they ask for.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};

use super::protect::{self, ProtectionLevel};
use super::{HostKind, InstallOptions, Visibility};
use crate::args::{option, switch};
use crate::out::OutputFormat;
use crate::problem::CommandError;

/// Those of `init`.
pub fn install(command: Command) -> Command {
    let stealth = "Write nothing that git would track: your own settings only, and git is told to overlook the memory";
    let protect = "Have the host keep agents' tools and shells out of .twining/local and git's hooks; strict: out of every record. Names code owners too";
    let protect = option("protect", "LEVEL", protect);
    command
        .args([dry_run(), yes()])
        .arg(protect.num_args(0..=1).require_equals(true).default_missing_value("local").value_parser(["local", "strict"]))
        .arg(switch("codeowners", "Add policy and decisions to CODEOWNERS"))
        .arg(option("owner", "@TEAM", "Who owns them; without it, lines to fill in"))
        .arg(switch("stealth", stealth))
        .after_help(
            "--agent names the hosts to wire up, separated by commas: claude, codex, gemini, cursor, opencode, or none;\ndefault: those that are found here\n\nExample:\n  twining init --agent claude,codex --dry-run",
        )
}

/// Those of `uninstall`.
pub fn uninstall(command: Command) -> Command {
    command
        .args([dry_run(), yes()])
        .arg(switch("purge", "Also remove .twining/ with everything recorded in it"))
        .after_help("Example:\n  twining uninstall --dry-run")
}

fn dry_run() -> Arg {
    switch("dry-run", "Show every change as a diff and write nothing")
}

fn yes() -> Arg {
    switch("yes", "Ask nothing, also on a terminal").short('y')
}

/// What `init` and `uninstall` are asked for.
pub fn options(
    given: &ArgMatches,
    project: Option<PathBuf>,
    agent: Option<String>,
    style: OutputFormat,
) -> Result<InstallOptions, CommandError> {
    let flag = |name: &str| given.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or_default();
    let hosts = agent.map(|words| HostKind::list(&words)).transpose().map_err(CommandError::misuse)?;
    let visibility = if flag("stealth") { Visibility::Stealth } else { Visibility::Team };
    let word = |name: &str| given.try_get_one::<String>(name).ok().flatten().map(String::as_str);
    let protect = word("protect").map(ProtectionLevel::named);
    let owners = word("owner").map(protect::owners).transpose()?;
    let codeowners = (protect.is_some() && visibility == Visibility::Team) || flag("codeowners") || owners.is_some();
    Ok(InstallOptions {
        project,
        hosts,
        visibility,
        protect,
        codeowners,
        owners,
        dry_run: flag("dry-run"),
        yes: flag("yes"),
        purge: flag("purge"),
        style,
    })
}
