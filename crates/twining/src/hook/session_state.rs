//! What hooks remember of a session: what it was shown, what held it, and what its agents did. Lost
//! notes make checks milder, never wrong.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use twining_guard::effects::shell;
use twining_guard::{GuardEvent, ToolAction};
use twining_model::Time;

/// Agents of a session that are followed.
const MAX_AGENTS: usize = 256;
/// Files of a session that are remembered.
const MAX_FILES: usize = 2_000;

/// Agents that are sent to change files.
const CODERS: [&str; 7] = [
    "coding-agent",
    "coder",
    "coding",
    "implementer",
    "implementation-agent",
    "player",
    "twining-worker",
];

/// Programs that look and change nothing.
const READ_ONLY_PROGRAMS: [&str; 24] = [
    "cat", "head", "tail", "less", "nl", "ls", "pwd", "grep", "egrep", "rg", "wc", "stat", "diff",
    "cmp", "cut", "tr", "echo", "printf", "true", "cd", "jq", "find", "which", "sleep",
];
/// Git commands that change nothing.
const READ_ONLY_GIT: [&str; 8] =
    ["status", "diff", "log", "show", "blame", "ls-files", "rev-parse", "branch"];

/// What hooks remember of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionState {
    /// When it was first seen.
    pub began: Option<Time>,
    /// When the person last wrote.
    pub turn_began: Option<Time>,
    /// How often each reason held it.
    pub held: BTreeMap<String, u32>,
    /// What it was shown.
    pub shown: BTreeSet<String>,
    /// Steps of the feature loop it was sent on to.
    pub steps: u32,
    /// Its agents; the main agent is the empty name.
    pub agents: BTreeMap<String, AgentActivity>,
    /// What each agent is still to be asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub questions: BTreeMap<String, Vec<String>>,
    /// Files that it read or wrote, from the project's root.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub files: BTreeSet<String>,
}

/// What an agent did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AgentActivity {
    /// Calls that changed something, or may have.
    pub changes: u64,
    /// When it last made one.
    pub last_change: Option<Time>,
}

impl SessionState {
    /// Remembers that a subagent began.
    pub(crate) fn subagent_started(&mut self, event: &GuardEvent) {
        if let Some(agent) = event.agent_id.clone().filter(|_| self.agents.len() < MAX_AGENTS) {
            self.agents.entry(agent).or_default();
        }
    }

    /// Remembers what a tool did.
    pub(crate) fn tool_ran(&mut self, event: &GuardEvent, now: Time) {
        let agent = event.agent_id.clone().unwrap_or_default();
        if self.agents.len() >= MAX_AGENTS && !self.agents.contains_key(&agent) {
            return;
        }
        let notes = self.agents.entry(agent).or_default();
        if may_change_something(event) {
            notes.changes += 1;
            notes.last_change = Some(now);
        }
    }

    /// Remembers files that it read or wrote.
    pub(crate) fn saw(&mut self, files: Vec<String>) {
        let room = MAX_FILES.saturating_sub(self.files.len());
        self.files.extend(files.into_iter().take(room));
    }

    /// Whether any agent of the session changed something in this turn, or may have.
    pub(crate) fn acted_this_turn(&self) -> bool {
        let began = self.turn_start();
        self.agents
            .values()
            .any(|agent| agent.last_change.is_some_and(|at| began.is_none_or(|began| at >= began)))
    }

    /// When the turn began.
    pub(crate) fn turn_start(&self) -> Option<Time> {
        self.turn_began.or(self.began)
    }

    /// All calls that changed something.
    pub(crate) fn changes(&self) -> u64 {
        self.agents.values().map(|agent| agent.changes).sum()
    }

    /// Whether a coding agent returns that is known and changed nothing at all.
    pub(crate) fn returns_empty(&self, event: &GuardEvent) -> bool {
        let kind = event.agent_type.as_deref().unwrap_or_default().to_lowercase();
        let is_coder = CODERS.iter().any(|name| kind.rsplit(':').next() == Some(name));
        let known = event.agent_id.as_ref().and_then(|agent| self.agents.get(agent));
        is_coder && known.is_some_and(|agent| agent.changes == 0)
    }
}

/// Whether a call is work: anything but looking. A push, a migration, a file that git
/// ignores or that lies in another repository is work like any other.
fn may_change_something(event: &GuardEvent) -> bool {
    match &event.action {
        ToolAction::Read(_) | ToolAction::ReadPart(_) | ToolAction::ReadMany(_) => false,
        ToolAction::Nothing => ["twining_post", "twining_decide", "twining_report"]
            .iter()
            .any(|verb| event.tool.ends_with(verb)),
        ToolAction::Shell(line) => match shell::read(line) {
            Ok(read) => {
                !read.writes.is_empty()
                    || read.commands.iter().any(|command| !is_read_only(&command.words))
            }
            Err(_) => true,
        },
        _ => true,
    }
}

fn is_read_only(words: &[String]) -> bool {
    let Some((program, rest)) = words.split_first() else { return true };
    match program.rsplit('/').next().unwrap_or(program) {
        "git" => rest
            .iter()
            .find(|word| !word.starts_with('-'))
            .is_some_and(|verb| READ_ONLY_GIT.contains(&verb.as_str())),
        name => READ_ONLY_PROGRAMS.contains(&name),
    }
}

/// Whether an agent's last words say plainly that nothing was to be done.
pub(super) fn says_nothing_to_do(message: &str) -> bool {
    const PHRASES: &str = "nothing to do|nothing was to be done|nothing to change|nothing needed|nothing had to|no change|no code change|\
        no file change|already implemented|already done|already exists|already in place|already fixed|not needed";
    let message = message.to_lowercase();
    PHRASES.split('|').any(|phrase| message.contains(phrase))
}

#[cfg(test)]
mod tests {
    use twining_guard::action;
    use twining_testcases::each;

    use super::*;

    fn call(tool: &str, input: &serde_json::Value) -> GuardEvent {
        let mut event = GuardEvent::of_tool(tool, action(tool, input), "/p");
        (event.agent_id, event.agent_type) = (Some("a1".to_owned()), Some("coder".to_owned()));
        event
    }

    #[test]
    fn a_coder_that_only_looked_returns_empty_and_one_that_pushed_does_not() {
        let shell = |line: &str| call("Bash", &serde_json::json!({ "command": line }));
        each(
            [
                (shell("git log --oneline | head -5; rg foo src"), true),
                (call("Read", &serde_json::json!({"file_path": "a"})), true),
                (shell("git push"), false),
                (shell("python manage.py migrate"), false),
                (shell("cd ../other && sed -i s/a/b/ x"), false),
                (
                    call("Write", &serde_json::json!({"file_path": ".env.local", "content": "x"})),
                    false,
                ),
            ],
            |(event, is_empty)| {
                let mut notes = SessionState::default();
                notes.subagent_started(&event);
                notes.tool_ran(&event, Time::from_ms(1));
                assert_eq!(notes.returns_empty(&event), is_empty, "{event:?}");
            },
        );
    }

    #[test]
    fn a_coder_may_say_that_there_was_nothing_to_do() {
        assert!(says_nothing_to_do(
            "The retry is already implemented in src/net.rs, so no changes were needed."
        ));
        assert!(!says_nothing_to_do("I will now look at the code."));
    }
}
