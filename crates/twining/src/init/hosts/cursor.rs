//! Cursor: `.cursor/mcp.json`, `.cursor/hooks.json` (version 1, entries not
//! nested), `AGENTS.md`.

use serde_json::{Value, json};

use super::{Ground, Host, PATIENCE_SECONDS, in_words};
use crate::init::piece::{Part, Piece};

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
pub fn pieces(ground: &Ground) -> Vec<Piece> {
    let entry = json!({"command": "twining", "args": ground.server_words(Some("lite"))});
    let hooks = EVENTS.map(|event| (event, handler(event))).to_vec();
    let mut pieces = vec![
        ground.piece(".cursor/mcp.json", Part::Server { path: vec!["mcpServers".to_owned()], entry }),
        ground.piece(".cursor/hooks.json", Part::Setting("version", json!(1))),
        ground.piece(".cursor/hooks.json", Part::Hooks(hooks)),
    ];
    pieces.extend(ground.told("AGENTS.md"));
    pieces
}

fn handler(event: &str) -> Value {
    json!({"command": in_words(Host::Cursor, event), "timeout": PATIENCE_SECONDS})
}
