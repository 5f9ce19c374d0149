//! Cursor: `.cursor/mcp.json`, `.cursor/hooks.json` (version 1, entries not
//! nested), `AGENTS.md`.

use serde_json::{Value, json};

use super::host::{HOOK_TIMEOUT_SECONDS, HostKind, InstallEnvironment, in_words};
use crate::init::patch::{FilePatch, PatchKind};

/// Events. None is `failClosed`, as in Claude Code.
const EVENTS: [&str; 10] = [
    "sessionStart",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "subagentStart",
    "subagentStop",
    "stop",
    "preCompact",
    "sessionEnd",
];

/// What Cursor needs.
pub(super) fn patches(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let entry = json!({"command": "twining", "args": environment.server_words(Some("lite"))});
    let hooks = EVENTS.map(|event| (event, handler(event))).to_vec();
    let mut patches = vec![
        environment.patch(
            ".cursor/mcp.json",
            PatchKind::Server { path: vec!["mcpServers".to_owned()], entry },
        ),
        environment.patch(".cursor/hooks.json", PatchKind::Setting("version", json!(1))),
        environment.patch(".cursor/hooks.json", PatchKind::Hooks(hooks)),
    ];
    patches.extend(environment.instructions("AGENTS.md"));
    patches
}

fn handler(event: &str) -> Value {
    json!({"command": in_words(HostKind::Cursor, event), "timeout": HOOK_TIMEOUT_SECONDS})
}
