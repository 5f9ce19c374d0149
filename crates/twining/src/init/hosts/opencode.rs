//! OpenCode: `opencode.json`, and a plugin in place of hooks, which it does not
//! have; `AGENTS.md`.

use serde_json::json;

use super::host::InstallEnvironment;
use crate::init::patch::{FilePatch, PatchKind};

/// What OpenCode needs.
pub(super) fn patches(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let file = if environment.checkout.join("opencode.jsonc").exists() {
        "opencode.jsonc"
    } else {
        "opencode.json"
    };
    let command: Vec<String> = std::iter::once("twining".to_owned())
        .chain(environment.server_words(Some("lite")))
        .collect();
    let plugin =
        PatchKind::Whole { text: include_str!("../texts/opencode.js"), mark: "// twining:plugin" };
    let mut patches = vec![
        environment.patch(
            file,
            PatchKind::Server {
                path: vec!["mcp".to_owned()],
                entry: json!({"type": "local", "command": command, "enabled": true}),
            },
        ),
        environment.patch(".opencode/plugin/twining.js", plugin),
    ];
    patches.extend(environment.instructions("AGENTS.md"));
    patches
}
