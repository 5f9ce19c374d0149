//! Codex: `.codex/config.toml` for the server, `.codex/hooks.json`, `AGENTS.md`.
//! It shows every tool's schema to the model, so it is offered few.

use serde_json::json;

use super::host::{HOOK_TIMEOUT_SECONDS, HostKind, InstallEnvironment, group, in_words};
use crate::init::patch::{FilePatch, PatchKind};

const EVENTS: [(&str, Option<&str>); 9] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PreToolUse", Some(".*")),
    ("PostToolUse", Some(".*")),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("Stop", None),
    ("PreCompact", None),
    ("PostCompact", None),
];

/// What Codex needs.
pub(super) fn patches(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let handler = |event: &str| json!({"type": "command", "command": in_words(HostKind::Codex, event), "timeout": HOOK_TIMEOUT_SECONDS});
    let hooks = EVENTS.map(|(event, matcher)| (event, group(matcher, &handler(event)))).to_vec();
    let mut patches = vec![
        environment
            .patch(".codex/config.toml", PatchKind::Toml(environment.server_words(Some("lite")))),
        environment.patch(".codex/hooks.json", PatchKind::Hooks(hooks)),
    ];
    patches.extend(environment.instructions("AGENTS.md"));
    patches
}
