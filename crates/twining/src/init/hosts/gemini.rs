//! Gemini CLI: server and hooks in `.gemini/settings.json`, `GEMINI.md`. Its
//! timeouts are in milliseconds, and it has its own names for events and tools.

use serde_json::json;

use super::host::{HOOK_TIMEOUT_SECONDS, HostKind, InstallEnvironment, group, in_words};
use crate::init::patch::{FilePatch, PatchKind};

const TOOLS: &str = "write_file|replace|run_shell_command|read_file|mcp_.*";

const EVENTS: [(&str, Option<&str>); 7] = [
    ("SessionStart", None),
    ("BeforeAgent", None),
    ("BeforeTool", Some(TOOLS)),
    ("AfterTool", Some(TOOLS)),
    ("AfterAgent", None),
    ("PreCompress", None),
    ("SessionEnd", None),
];

/// What Gemini CLI needs.
pub(super) fn patches(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let entry = json!({"command": "twining", "args": environment.server_words(Some("lite"))});
    let handler = |event: &str| json!({"name": "twining", "type": "command", "command": in_words(HostKind::Gemini, event), "timeout": HOOK_TIMEOUT_SECONDS * 1000});
    let hooks = EVENTS.map(|(event, matcher)| (event, group(matcher, &handler(event)))).to_vec();
    let mut patches = vec![
        environment.patch(
            ".gemini/settings.json",
            PatchKind::Server { path: vec!["mcpServers".to_owned()], entry },
        ),
        environment.patch(".gemini/settings.json", PatchKind::Hooks(hooks)),
    ];
    patches.extend(environment.instructions("GEMINI.md"));
    patches
}
