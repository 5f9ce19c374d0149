//! What each host needs of us, in the format it reads today.

use serde_json::{Value, json};

use super::hosts::{
    HOOK_TIMEOUT_SECONDS, HostKind, INSTRUCTIONS, InstallEnvironment, Visibility, group, in_words,
    instructions_file,
};
use super::marked_block::MarkerStyle;
use super::patch::{FilePatch, PatchKind};

/// Tools whose calls are judged: those that write, that may write, and that read
/// what should be asked for.
const CLAUDE_TOOLS: &str = "Write|Edit|MultiEdit|NotebookEdit|Bash|Read|mcp__.*";
/// The same, and those that show what a command in the background printed.
const CLAUDE_RESULTS: &str =
    "Write|Edit|MultiEdit|NotebookEdit|Bash|BashOutput|TaskOutput|Read|mcp__.*";

/// Events, and the tools they are for. No handler says `onFailure: block`: these settings
/// are shared, and whoever has no `twining` could neither read nor write. Where ours
/// runs and cannot judge a call, it refuses by itself.
const CLAUDE_EVENTS: [(&str, Option<&str>); 12] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PreToolUse", Some(CLAUDE_TOOLS)),
    ("PostToolUse", Some(CLAUDE_RESULTS)),
    ("PostToolUseFailure", Some(CLAUDE_TOOLS)),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("Stop", None),
    ("TaskCompleted", None),
    ("PreCompact", None),
    ("PostCompact", None),
    ("SessionEnd", None),
];

/// Claude Code: `.mcp.json`, hooks in `.claude/settings.json`, `CLAUDE.md` and a
/// subagent. In stealth its local scopes take their place.
pub(super) fn claude(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let entry =
        json!({"type": "stdio", "command": "twining", "args": environment.server_words(None)});
    let worker =
        PatchKind::Whole { text: include_str!("texts/worker.md"), mark: "<!-- twining:worker" };
    let instructions = PatchKind::Block(MarkerStyle::Markdown, INSTRUCTIONS.to_owned());
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
                environment.patch(environment.claude_settings(), claude_hooks()),
                environment.patch("CLAUDE.local.md", instructions),
                agent,
            ]
        }
        (Visibility::Stealth, None) => {
            vec![
                environment.patch(environment.claude_settings(), claude_hooks()),
                environment.patch("CLAUDE.local.md", instructions),
                agent,
            ]
        }
        (Visibility::Team, _) => vec![
            environment.patch(
                ".mcp.json",
                PatchKind::Server { path: vec!["mcpServers".to_owned()], entry },
            ),
            environment.patch(environment.claude_settings(), claude_hooks()),
            environment.patch(&instructions_file(&environment.checkout, "CLAUDE.md"), instructions),
            agent,
        ],
    }
}

fn claude_hooks() -> PatchKind {
    PatchKind::Hooks(
        CLAUDE_EVENTS
            .map(|(event, matcher)| (event, group(matcher, &claude_handler(event))))
            .to_vec(),
    )
}

/// Started without a shell: `args` makes it so.
fn claude_handler(event: &str) -> Value {
    let args = ["hook", "--agent", HostKind::Claude.name(), event];
    json!({"type": "command", "command": "twining", "args": args, "timeout": HOOK_TIMEOUT_SECONDS})
}

const CODEX_EVENTS: [(&str, Option<&str>); 9] = [
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

/// Codex: `.codex/config.toml` for the server, `.codex/hooks.json`, `AGENTS.md`.
/// It shows every tool's schema to the model, so it is offered few.
pub(super) fn codex(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let handler = |event: &str| json!({"type": "command", "command": in_words(HostKind::Codex, event), "timeout": HOOK_TIMEOUT_SECONDS});
    let hooks =
        CODEX_EVENTS.map(|(event, matcher)| (event, group(matcher, &handler(event)))).to_vec();
    let mut patches = vec![
        environment
            .patch(".codex/config.toml", PatchKind::Toml(environment.server_words(Some("lite")))),
        environment.patch(".codex/hooks.json", PatchKind::Hooks(hooks)),
    ];
    patches.extend(environment.instructions("AGENTS.md"));
    patches
}

const GEMINI_TOOLS: &str = "write_file|replace|run_shell_command|read_file|mcp_.*";

const GEMINI_EVENTS: [(&str, Option<&str>); 7] = [
    ("SessionStart", None),
    ("BeforeAgent", None),
    ("BeforeTool", Some(GEMINI_TOOLS)),
    ("AfterTool", Some(GEMINI_TOOLS)),
    ("AfterAgent", None),
    ("PreCompress", None),
    ("SessionEnd", None),
];

/// Gemini CLI: server and hooks in `.gemini/settings.json`, `GEMINI.md`. Its
/// timeouts are in milliseconds, and it has its own names for events and tools.
pub(super) fn gemini(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let entry = json!({"command": "twining", "args": environment.server_words(Some("lite"))});
    let handler = |event: &str| json!({"name": "twining", "type": "command", "command": in_words(HostKind::Gemini, event), "timeout": HOOK_TIMEOUT_SECONDS * 1000});
    let hooks =
        GEMINI_EVENTS.map(|(event, matcher)| (event, group(matcher, &handler(event)))).to_vec();
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

/// Events. None is `failClosed`, as in Claude Code.
const CURSOR_EVENTS: [&str; 10] = [
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

/// Cursor: `.cursor/mcp.json`, `.cursor/hooks.json` (version 1, entries not
/// nested), `AGENTS.md`.
pub(super) fn cursor(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let entry = json!({"command": "twining", "args": environment.server_words(Some("lite"))});
    let hooks = CURSOR_EVENTS.map(|event| (event, cursor_handler(event))).to_vec();
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

fn cursor_handler(event: &str) -> Value {
    json!({"command": in_words(HostKind::Cursor, event), "timeout": HOOK_TIMEOUT_SECONDS})
}

/// OpenCode: `opencode.json`, and a plugin in place of hooks, which it does not
/// have; `AGENTS.md`.
pub(super) fn opencode(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let file = if environment.checkout.join("opencode.jsonc").exists() {
        "opencode.jsonc"
    } else {
        "opencode.json"
    };
    let command: Vec<String> = std::iter::once("twining".to_owned())
        .chain(environment.server_words(Some("lite")))
        .collect();
    let plugin =
        PatchKind::Whole { text: include_str!("texts/opencode.js"), mark: "// twining:plugin" };
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
