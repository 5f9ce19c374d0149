//! Commands that are no verbs: they serve people and hosts, not agents.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use clap_complete::Shell;
use serde_json::json;

use crate::args::{option, path, switch, word};
use crate::cli::completions;
use crate::commands::{VERBS, audit};
use crate::guard_command::admin;
use crate::guard_command::list;
use crate::guard_command::verbs::{GuardBypassEndInput, GuardPromoteInput};
use crate::init::install::InstallOptions;
use crate::mcp::{self, ToolSelection};
use crate::merge_driver::DRIVERS;
use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
#[cfg(feature = "service")]
use crate::serve::run as serve_team;
#[cfg(feature = "tui")]
use crate::tui::top_command;
use crate::verbs::verb::VerbEntry;
use crate::{default_policy, doctor, dot_check, import, init, link, reindex, tour, web};

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolCommand {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    about: &'static str,
    /// Adds its flags, and an example.
    flags: fn(Command) -> Command,
    /// Runs it; none where it ends as a host or git expects, and not as commands do.
    pub run: Option<fn(ToolCall<'_>) -> Result<ExitStatus, CommandError>>,
}

/// What a person asked for.
#[derive(Debug)]
pub(crate) struct ToolCall<'a> {
    /// The words that name it, and what is below it: `serve token add`.
    pub called: &'a str,
    /// The flags.
    pub given: &'a ArgMatches,
    /// `--project`.
    pub project: Option<PathBuf>,
    /// `--agent`.
    pub agent: Option<String>,
    /// The output format.
    pub style: OutputFormat,
    /// Every command, for what is made of them.
    pub all: fn() -> Command,
}

/// All of them, in the order of the help.
pub(crate) const TOOL_COMMANDS: [ToolCommand; 23] = [
    ToolCommand {
        name: "mcp",
        about: "Serve the tools to an MCP client over stdio",
        flags: mcp_flags,
        run: Some(serve),
    },
    ToolCommand {
        name: "hook",
        about: "Answer a host's hook: JSON on stdin, the host's answer on stdout",
        flags: hook_flags,
        run: None,
    },
    ToolCommand {
        name: "guard",
        about: "Show, test, explain, lift, promote and discard guards",
        flags: list::flags,
        run: Some(guards),
    },
    ToolCommand {
        name: "trust",
        about: "Allow the exact command that a guard uses to verify",
        flags: |command| {
            let guard = word(
                "guard",
                "GUARD",
                "The guard whose command to allow; without it, list every command and whether it is allowed",
            );
            command
                .args([guard, switch("revoke", "Revoke the permission")])
                .after_help("Example:\n  twining trust lint-before-commit")
        },
        run: Some(|call| {
            admin::trust(
                call.project,
                text(call.given, "guard"),
                call.given.get_flag("revoke"),
                call.style,
            )
        }),
    },
    ToolCommand {
        name: "ui",
        about: "Show the memory in a browser, with what waits for you",
        flags: web::flags,
        run: Some(|call| web::run(call.given, call.project, call.style)),
    },
    ToolCommand {
        name: "top",
        about: "Watch what needs you, who is at work and the stream, in the terminal",
        flags: top_flags,
        run: Some(top),
    },
    ToolCommand {
        name: "serve",
        about: "Serve a team's memory over HTTP, from PostgreSQL",
        flags: serve_flags,
        run: Some(|call| serve_team(call.called, call.given, call.style)),
    },
    ToolCommand {
        name: "doctor",
        about: "Check that memory, git and agents work together",
        flags: |command| {
            let fix =
                switch("fix", "Fix what can be fixed without asking, and list what was fixed");
            command.arg(fix).after_help("Example:\n  twining doctor --fix")
        },
        run: Some(|call| {
            let aim = if call.given.get_flag("fix") {
                doctor::DoctorMode::Fix
            } else {
                doctor::DoctorMode::Look
            };
            Project::open(call.project).map(|project| doctor::examine(&project, aim, call.style))
        }),
    },
    ToolCommand {
        name: "audit",
        about: "Check what CLAUDE.md, AGENTS.md and the like say against the code; needs no init",
        flags: audit::flags,
        run: Some(|call| audit::run(call.project, call.given, call.style)),
    },
    ToolCommand {
        name: "link",
        about: "Share this memory with a team: follow its log, and work offline too",
        flags: link::link_flags,
        run: Some(|call| link::link(&Project::open(call.project)?, call.given, call.style)),
    },
    ToolCommand {
        name: "unlink",
        about: "Stop sharing this memory with the team; the files stay, complete",
        flags: link::unlink_flags,
        run: Some(|call| link::unlink(&Project::open(call.project)?, call.given, call.style)),
    },
    ToolCommand {
        name: "sync",
        about: "Send what waits for the team's log, and receive what others wrote",
        flags: link::sync_flags,
        run: Some(|call| {
            link::sync(call.called, &Project::open(call.project)?, call.given, call.style)
        }),
    },
    ToolCommand {
        name: "reindex",
        about: "Rebuild the index from the files",
        flags: |command| {
            let vectors = switch(
                "vectors",
                "Also compute the vectors for search by meaning, showing progress",
            );
            command.arg(vectors).after_help("Example:\n  twining reindex --vectors")
        },
        run: Some(|call| {
            reindex::rebuild(
                &Project::open(call.project)?,
                call.given.get_flag("vectors"),
                call.style,
            )
        }),
    },
    ToolCommand {
        name: "dot",
        about: "Check DOT files: `dot check FILE…`",
        flags: dot_check::flags,
        run: Some(|call| Ok(dot_check::run(call.given, call.style))),
    },
    ToolCommand {
        name: "merge-driver",
        about: "Merge Twining's files for git",
        flags: driver_flags,
        run: None,
    },
    ToolCommand {
        name: "seed",
        about: "Write the default policy to .twining/policy.yml, to be edited",
        flags: |command| {
            command.after_help("Example:\n  twining seed && $EDITOR .twining/policy.yml")
        },
        run: Some(|call| default_policy::write(&Project::open(call.project)?, call.style)),
    },
    ToolCommand {
        name: "import",
        about: "Import records from another tool",
        flags: import::flags,
        run: Some(|call| import::run(&Project::open(call.project)?, call.given, call.style)),
    },
    ToolCommand {
        name: "tour",
        about: "Watch two agents share a memory, in a throwaway repository",
        flags: |command| {
            command
                .arg(switch("keep", "Leave the repository there to look around in"))
                .after_help("Example:\n  twining tour --keep")
        },
        run: Some(|call| {
            let keep = call.given.get_flag("keep");
            let after = if keep { tour::AfterTour::Keep } else { tour::AfterTour::Remove };
            tour::play(after, |project| {
                let given = web::flags(Command::new("ui")).get_matches_from(["ui"]);
                web::run(&given, Some(project.to_owned()), OutputFormat::Words)
            })
        }),
    },
    ToolCommand {
        name: "init",
        about: "Set Twining up in this project: memory, git, and the agents that work here",
        flags: init::install::install_flags,
        run: Some(|call| init::install(&install_options(call)?)),
    },
    ToolCommand {
        name: "uninstall",
        about: "Remove what init wrote; the memory stays unless you add --purge",
        flags: init::install::uninstall_flags,
        run: Some(|call| init::uninstall(&install_options(call)?)),
    },
    ToolCommand {
        name: "completions",
        about: "Print completions for a shell",
        flags: |command| {
            let shell = Arg::new("shell")
                .required(true)
                .value_name("SHELL")
                .value_parser(value_parser!(Shell));
            command.arg(shell).after_help("Example:\n  twining completions bash > ~/.local/share/bash-completion/completions/twining")
        },
        run: Some(|call| {
            completions::shell(
                (call.all)(),
                call.given.get_one::<Shell>("shell").copied().unwrap_or(Shell::Bash),
            )
        }),
    },
    ToolCommand {
        name: "man",
        about: "Print the manual page, or write all of them into a folder",
        flags: |command| {
            let dir = path(
                option("dir", "DIR", "Write a page for each command into this folder"),
                ValueHint::DirPath,
            );
            command.arg(dir).after_help("Example:\n  twining man | man -l -")
        },
        run: Some(|call| {
            completions::manual(
                (call.all)(),
                call.given.get_one::<PathBuf>("dir").map(PathBuf::as_path),
            )
        }),
    },
    ToolCommand {
        name: "schema",
        about: "Print every verb as JSON: its command, effect, input and output",
        flags: |command| command.hide(true),
        run: Some(|_| {
            let verbs: Vec<_> = VERBS.iter().map(VerbEntry::to_json).collect();
            Ok(output::answer(
                OutputFormat::Json,
                || json!({ "verbs": verbs }),
                |_| (),
                ExitStatus::Done,
            ))
        }),
    },
];

impl ToolCommand {
    /// It for the parser.
    pub(crate) fn command(&self) -> Command {
        (self.flags)(Command::new(self.name).about(self.about))
    }

    /// Its name and what it does, where help lists it.
    pub(crate) fn listed(&self) -> Option<(&'static str, &'static str)> {
        (!self.command().is_hide_set()).then_some((self.name, self.about))
    }
}

fn install_options(call: ToolCall<'_>) -> Result<InstallOptions, CommandError> {
    init::install::options(call.given, call.project, call.agent, call.style)
}

fn mcp_flags(command: Command) -> Command {
    let tools = option(
        "tools",
        "LIST",
        "lite, full, or groups separated by commas; default: what config.yml says, else full",
    );
    command
        .arg(tools.value_parser(ToolSelection::parse))
        .after_help("Example:\n  claude mcp add twining -- twining mcp")
}

fn serve(call: ToolCall<'_>) -> Result<ExitStatus, CommandError> {
    let tools = call.given.get_one::<ToolSelection>("tools").cloned();
    let served = mcp::serve(mcp::ServerOptions {
        project: call.project,
        agent: call.agent,
        tools,
        names_only: true,
    });
    // Whatever goes wrong, stdout belongs to the protocol.
    Ok(served.map_or_else(
        |problem| output::problem(OutputFormat::Words, &problem),
        |()| ExitStatus::Done,
    ))
}

#[cfg(feature = "tui")]
fn top_flags(command: Command) -> Command {
    top_command::flags(command)
}

#[cfg(feature = "tui")]
fn top(call: ToolCall<'_>) -> Result<ExitStatus, CommandError> {
    top_command::run(call.project, call.given, call.style)
}

#[cfg(not(feature = "tui"))]
fn top_flags(command: Command) -> Command {
    command.after_help("Example:\n  twining top")
}

#[cfg(not(feature = "tui"))]
fn top(_call: ToolCall<'_>) -> Result<ExitStatus, CommandError> {
    Err(CommandError::unavailable("NOT_BUILT", "this program was built without `twining top`")
        .with_hint("build it with the feature `tui`"))
}

#[cfg(feature = "service")]
fn serve_flags(command: Command) -> Command {
    crate::serve::flags(command)
}

#[cfg(not(feature = "service"))]
fn serve_flags(command: Command) -> Command {
    command.after_help("Example:\n  twining serve --data /var/lib/twining")
}

#[cfg(not(feature = "service"))]
fn serve_team(
    called: &str,
    _given: &ArgMatches,
    _style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let message = format!("this program was built without `twining {called}`");
    Err(CommandError::unavailable("NOT_BUILT", message)
        .with_hint("build it with the feature `service`"))
}

fn hook_flags(command: Command) -> Command {
    let about = "PreToolUse, PostToolUse, Stop, SubagentStop, SessionStart …, or the host's own name for it; for git: pre-commit, post-commit";
    command.arg(word("event", "EVENT", about).required(true)).after_help(
        "--agent names the host: claude (default), codex, gemini, cursor, copilot or git\n\nExample:\n  twining hook --agent codex PreToolUse < event.json",
    )
}

fn guards(call: ToolCall<'_>) -> Result<ExitStatus, CommandError> {
    let ToolCall { given, project, style, .. } = call;
    let (what, named) =
        (text(given, "what").unwrap_or("list"), text(given, "guard").unwrap_or_default());
    match what {
        "bypass" if given.get_flag("end") => {
            admin::as_person(project, &GuardBypassEndInput { guard: named.to_owned() }, style)
        }
        "bypass" => admin::bypass(project, named, text(given, "for"), text(given, "why"), style),
        "promote" => {
            admin::as_person(project, &GuardPromoteInput { guard: named.to_owned() }, style)
        }
        "discard" => admin::discard(project, named, text(given, "why"), style),
        "allow" => admin::allow(project, named, text(given, "why"), style),
        _ => list::run(project, what, named, style),
    }
}

fn text<'a>(given: &'a ArgMatches, name: &str) -> Option<&'a str> {
    given.get_one::<String>(name).map(String::as_str)
}

fn driver_flags(command: Command) -> Command {
    let version = |(name, required): (&'static str, bool)| {
        Arg::new(name)
            .value_name(name.to_uppercase())
            .required(required)
            .value_parser(value_parser!(PathBuf))
    };
    let versions = [("base", true), ("ours", true), ("theirs", true), ("path", false)];
    let kinds = DRIVERS
        .iter()
        .map(|driver| Command::new(driver.kind).about(driver.about).args(versions.map(version)));
    command
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(kinds)
        .after_help("`twining init` tells git to start it: a driver for each kind in .git/config, and the files in\n.git/info/attributes")
}
