//! Claude Code: `.mcp.json`, hooks in `.claude/settings.json`, `CLAUDE.md` and a
//! subagent. In stealth its local scopes take their place.

use serde_json::{Value, json};

use super::{Ground, Host, PATIENCE_SECONDS, Reach, group, told_in};
use crate::init::block::Marks;
use crate::init::piece::{Part, Piece};

/// Tools whose calls are judged: those that write, that may write, and that read
/// what should be asked for.
const TOOLS: &str = "Write|Edit|MultiEdit|NotebookEdit|Bash|Read|mcp__.*";
/// The same, and those that show what a command in the background printed.
const RESULTS: &str = "Write|Edit|MultiEdit|NotebookEdit|Bash|BashOutput|TaskOutput|Read|mcp__.*";

/// Events, and the tools they are for. No handler says `onFailure: block`: these settings
/// are shared, and whoever has no `twining` could neither read nor write. Where ours
/// runs and cannot judge a call, it refuses by itself.
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
pub fn pieces(ground: &Ground) -> Vec<Piece> {
    let entry = json!({"type": "stdio", "command": "twining", "args": ground.server_words(None)});
    let worker = Part::Whole { text: include_str!("../texts/worker.md"), mark: "<!-- twining:worker" };
    let told = Part::Block(Marks::Markdown, super::INSTRUCTIONS.to_owned());
    let agent = ground.piece(".claude/agents/twining-worker.md", worker);
    match (ground.reach, &ground.home) {
        (Reach::Stealth, Some(home)) => {
            let path = ["projects".to_owned(), ground.checkout.display().to_string(), "mcpServers".to_owned()];
            vec![
                Piece { file: home.join(".claude.json"), within: home.clone(), part: Part::Server { path: path.to_vec(), entry } },
                ground.piece(ground.claude_settings(), hooks()),
                ground.piece("CLAUDE.local.md", told),
                agent,
            ]
        }
        (Reach::Stealth, None) => vec![ground.piece(ground.claude_settings(), hooks()), ground.piece("CLAUDE.local.md", told), agent],
        (Reach::Team, _) => vec![
            ground.piece(".mcp.json", Part::Server { path: vec!["mcpServers".to_owned()], entry }),
            ground.piece(ground.claude_settings(), hooks()),
            ground.piece(&told_in(&ground.checkout, "CLAUDE.md"), told),
            agent,
        ],
    }
}

fn hooks() -> Part {
    Part::Hooks(EVENTS.map(|(event, matcher)| (event, group(matcher, &handler(event)))).to_vec())
}

/// Started without a shell: `args` makes it so.
fn handler(event: &str) -> Value {
    let args = ["hook", "--agent", Host::Claude.name(), event];
    json!({"type": "command", "command": "twining", "args": args, "timeout": PATIENCE_SECONDS})
}
