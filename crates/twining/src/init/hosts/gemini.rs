//! Gemini CLI: server and hooks in `.gemini/settings.json`, `GEMINI.md`. Its
//! timeouts are in milliseconds, and it has its own names for events and tools.

use serde_json::json;

use super::{Ground, Host, PATIENCE_SECONDS, group, in_words};
use crate::init::piece::{Part, Piece};

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
pub fn pieces(ground: &Ground) -> Vec<Piece> {
    let entry = json!({"command": "twining", "args": ground.server_words(Some("lite"))});
    let handler = |event: &str| json!({"name": "twining", "type": "command", "command": in_words(Host::Gemini, event), "timeout": PATIENCE_SECONDS * 1000});
    let hooks = EVENTS.map(|(event, matcher)| (event, group(matcher, &handler(event)))).to_vec();
    let mut pieces = vec![
        ground.piece(".gemini/settings.json", Part::Server { path: vec!["mcpServers".to_owned()], entry }),
        ground.piece(".gemini/settings.json", Part::Hooks(hooks)),
    ];
    pieces.extend(ground.told("GEMINI.md"));
    pieces
}
