//! Codex: `.codex/config.toml` for the server, `.codex/hooks.json`, `AGENTS.md`.
//! It shows every tool's schema to the model, so it is offered few.

use serde_json::json;

use super::{Ground, Host, PATIENCE_SECONDS, group, in_words};
use crate::init::piece::{Part, Piece};

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
pub fn pieces(ground: &Ground) -> Vec<Piece> {
    let handler = |event: &str| json!({"type": "command", "command": in_words(Host::Codex, event), "timeout": PATIENCE_SECONDS});
    let hooks = EVENTS.map(|(event, matcher)| (event, group(matcher, &handler(event)))).to_vec();
    let mut pieces = vec![
        ground.piece(".codex/config.toml", Part::Toml(ground.server_words(Some("lite")))),
        ground.piece(".codex/hooks.json", Part::Hooks(hooks)),
    ];
    pieces.extend(ground.told("AGENTS.md"));
    pieces
}
