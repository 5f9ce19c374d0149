//! Cursor: `.cursor/mcp.json`, `.cursor/hooks.json` (version 1, entries not
//! nested), `AGENTS.md`.

use serde_json::{Value, json};

use super::{Ground, Host, PATIENCE_SECONDS, in_words};
use crate::init::piece::{Part, Piece};

/// Events, and whether a hook that fails must stop what it was asked about.
const EVENTS: [(&str, bool); 10] = [
    ("sessionStart", false),
    ("beforeSubmitPrompt", false),
    ("preToolUse", true),
    ("postToolUse", false),
    ("postToolUseFailure", false),
    ("subagentStart", false),
    ("subagentStop", false),
    ("stop", false),
    ("preCompact", false),
    ("sessionEnd", false),
];

/// What Cursor needs.
pub fn pieces(ground: &Ground) -> Vec<Piece> {
    let entry = json!({"command": "twining", "args": ground.server_words(Some("lite"))});
    let hooks = EVENTS.map(|(event, gate)| (event, handler(event, gate))).to_vec();
    let mut pieces = vec![
        ground.piece(".cursor/mcp.json", Part::Server { path: vec!["mcpServers".to_owned()], entry }),
        ground.piece(".cursor/hooks.json", Part::Setting("version", json!(1))),
        ground.piece(".cursor/hooks.json", Part::Hooks(hooks)),
    ];
    pieces.extend(ground.told("AGENTS.md"));
    pieces
}

fn handler(event: &str, gate: bool) -> Value {
    let mut handler = json!({"command": in_words(Host::Cursor, event), "timeout": PATIENCE_SECONDS});
    if gate {
        handler["failClosed"] = json!(true);
    }
    handler
}
