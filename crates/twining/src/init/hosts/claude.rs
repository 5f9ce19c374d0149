//! Claude Code: `.mcp.json`, hooks in `.claude/settings.json`, `CLAUDE.md` and a
//! subagent. In stealth its local scopes take their place.

use serde_json::{Value, json};

use super::host::{
    HOOK_TIMEOUT_SECONDS, HostKind, InstallEnvironment, Visibility, group, instructions_file,
};
use crate::init::marked_block::MarkerStyle;
use crate::init::patch::{FilePatch, PatchKind};

/// Tools whose calls are judged: those that write, that may write, and that read
/// what should be asked for.
const TOOLS: &str = "Write|Edit|MultiEdit|NotebookEdit|Bash|Read|mcp__.*";
/// The same, and those that show what a command in the background printed.
const RESULTS: &str = "Write|Edit|MultiEdit|NotebookEdit|Bash|BashOutput|TaskOutput|Read|mcp__.*";

/// Events, and the tools they are for. No handler sets `onFailure: block`: these settings are
/// shared, and a user without `twining` could neither read nor write. If ours runs and cannot judge
/// a call, it refuses by itself.
const EVENTS: [(&str, Option<&str>); 12] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PreToolUse", Some(TOOLS)),
    ("PostToolUse", Some(RESULTS)),
    ("PostToolUseFailure", Some(TOOLS)),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("Stop", None),
    ("TaskCompleted", None),
    ("PreCompact", None),
    ("PostCompact", None),
    ("SessionEnd", None),
];

/// What Claude Code needs.
pub(super) fn patches(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let entry =
        json!({"type": "stdio", "command": "twining", "args": environment.server_words(None)});
    let worker =
        PatchKind::Whole { text: include_str!("../texts/worker.md"), mark: "<!-- twining:worker" };
    let instructions =
        PatchKind::Block(MarkerStyle::Markdown, super::host::INSTRUCTIONS.to_owned());
    let agent = environment.patch(".claude/agents/twining-worker.md", worker);
    match (environment.visibility, &environment.home) {
        (Visibility::Stealth, Some(home)) => {
            let path = [
                "projects".to_owned(),
                environment.checkout.display().to_string(),
                "mcpServers".to_owned(),
            ];
            vec![
                FilePatch {
                    file: home.join(".claude.json"),
                    within: home.clone(),
                    part: PatchKind::Server { path: path.to_vec(), entry },
                },
                environment.patch(environment.claude_settings(), hooks()),
                environment.patch("CLAUDE.local.md", instructions),
                agent,
            ]
        }
        (Visibility::Stealth, None) => {
            vec![
                environment.patch(environment.claude_settings(), hooks()),
                environment.patch("CLAUDE.local.md", instructions),
                agent,
            ]
        }
        (Visibility::Team, _) => vec![
            environment.patch(
                ".mcp.json",
                PatchKind::Server { path: vec!["mcpServers".to_owned()], entry },
            ),
            environment.patch(environment.claude_settings(), hooks()),
            environment.patch(&instructions_file(&environment.checkout, "CLAUDE.md"), instructions),
            agent,
        ],
    }
}

fn hooks() -> PatchKind {
    PatchKind::Hooks(
        EVENTS.map(|(event, matcher)| (event, group(matcher, &handler(event)))).to_vec(),
    )
}

/// Started without a shell: `args` makes it so.
fn handler(event: &str) -> Value {
    let args = ["hook", "--agent", HostKind::Claude.name(), event];
    json!({"type": "command", "command": "twining", "args": args, "timeout": HOOK_TIMEOUT_SECONDS})
}
