//! OpenCode: `opencode.json`, and a plugin in place of hooks, which it does not
//! have; `AGENTS.md`.

use serde_json::json;

use super::Ground;
use crate::init::piece::{Part, Piece};

/// What OpenCode needs.
pub fn pieces(ground: &Ground) -> Vec<Piece> {
    let file = if ground.checkout.join("opencode.jsonc").exists() { "opencode.jsonc" } else { "opencode.json" };
    let command: Vec<String> = std::iter::once("twining".to_owned()).chain(ground.server_words(Some("lite"))).collect();
    let plugin = Part::Whole { text: include_str!("../texts/opencode.js"), mark: "// twining:plugin" };
    let mut pieces = vec![
        ground.piece(
            file,
            Part::Server { path: vec!["mcp".to_owned()], entry: json!({"type": "local", "command": command, "enabled": true}) },
        ),
        ground.piece(".opencode/plugin/twining.js", plugin),
    ];
    pieces.extend(ground.told("AGENTS.md"));
    pieces
}
