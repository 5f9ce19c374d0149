//! What a hook answers, whichever host asked.

use serde_json::{Value, json};

use super::payload::{HookEvent, HostPayload};
use crate::event::EventKind;

/// A hook's reply, for any host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookReply {
    /// Nothing to say.
    Silence,
    /// Something for the agent to read.
    Context(String),
    /// The same, and something to begin with at once.
    Start {
        /// What to read.
        context: String,
        /// What to do.
        go: String,
    },
    /// Something for the person to read.
    Notice(String),
    /// The person decides.
    Ask(String),
    /// The tool does not run.
    Deny(String),
    /// The agent goes on.
    Hold(String),
    /// Twining itself failed.
    Failed(String),
}

/// The answer to a host: stdout, stderr and exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAnswer {
    /// For the host.
    pub out: Option<Value>,
    /// For the user (stderr).
    pub err: Option<String>,
    /// How it ends.
    pub code: u8,
}

/// What Claude Code moves to a file if there is more, and others cut.
const MOST_CHARS: usize = 9_000;

/// As much of a text as every host takes.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

impl HostAnswer {
    /// An answer in JSON.
    pub fn json(out: Value) -> Self {
        Self { out: Some(out), ..Self::default() }
    }

    /// A refusal by the one code that all hosts know.
    pub fn refused(reason: &str) -> Self {
        Self { err: Some(cut(reason)), code: 2, ..Self::default() }
    }

    /// An internal failure. It blocks nothing: the host continues, and the message says why nothing
    /// was checked.
    #[must_use]
    pub fn failed(why: &str) -> Self {
        let err = Some(format!(
            "twining could not check this, so it was allowed: {}",
            twining_model::text::visible(why)
        ));
        Self { err, code: 1, ..Self::default() }
    }
}

/// Who asks.
pub struct HostAdapter {
    /// What `--agent` calls it.
    pub name: &'static str,
    /// Its own names of events that are not called as ours are, whatever their case.
    pub events: &'static [(&'static str, EventKind)],
    /// Reads an event, given the host's name of it.
    pub read: fn(&str, EventKind, &Value) -> HostPayload,
    /// Puts a reply that says something into its own form.
    pub(super) answer: fn(&HookReply, EventKind, &str) -> HostAnswer,
    /// The events whose reply an agent reads while it goes on, or before it begins.
    pub(super) shows_context: &'static [EventKind],
    /// Its own names of tools, beside Claude Code's.
    pub tools: &'static [(&'static str, &'static str)],
}

/// Every host there is an adapter for.
pub static HOSTS: [&HostAdapter; 5] = [
    &super::claude::HOST,
    &super::claude::CODEX,
    &super::gemini::HOST,
    &super::cursor::HOST,
    &super::copilot::HOST,
];

/// Parses a host's JSON. Hosts that cut a text short may leave a lone surrogate in
/// it, which no JSON parser takes; it is read as U+FFFD.
pub fn parse_json(text: &str) -> Result<Value, String> {
    let repaired = |error| {
        super::payload::replaced(text).map_or(Err(error), |text| serde_json::from_str(&text))
    };
    let json: Value = serde_json::from_str(text)
        .or_else(repaired)
        .map_err(|error| format!("the event is not JSON: {error}"))?;
    if json.is_object() { Ok(json) } else { Err("the event is not a JSON object".to_owned()) }
}

impl HostAdapter {
    /// The event that a host sent under this name; none if the name is not known.
    #[must_use]
    pub fn parse(&self, event: &str, json: &Value, current_dir: &str) -> Option<HookEvent> {
        let kind = self.event_kind(event)?;
        Some((self.read)(event, kind, json).into_event(kind, current_dir))
    }

    /// Answers an event, given the host's name of it.
    #[must_use]
    pub fn answer(&self, reply: &HookReply, kind: EventKind, event: &str) -> HostAnswer {
        match reply {
            HookReply::Silence => HostAnswer::default(),
            HookReply::Failed(why) => HostAnswer::failed(why),
            // Only Claude Code takes a first message of ours.
            HookReply::Start { context, go } if self.name != "claude" => {
                (self.answer)(&HookReply::Context(format!("{go}\n\n{context}")), kind, event)
            }
            reply => (self.answer)(reply, kind, event),
        }
    }

    /// Whether an agent reads what a reply to this event adds, and goes on.
    #[must_use]
    pub fn shows_context(&self, kind: EventKind) -> bool {
        self.shows_context.contains(&kind)
    }

    /// What it would send before this tool runs with this input in this folder.
    #[must_use]
    pub fn sample(&self, tool: &str, input: &Value, at: &str) -> Value {
        let session = "twining-guard-test";
        if self.name == "copilot" {
            return json!({"sessionId": session, "cwd": at, "timestamp": 0, "toolName": tool, "toolArgs": input.to_string()});
        }
        let event = if self.name == "gemini" { "BeforeTool" } else { "PreToolUse" };
        json!({"session_id": session, "conversation_id": session, "workspace_roots": [at], "cwd": at, "hook_event_name": event, "tool_name": tool, "tool_input": input})
    }

    /// The host of a name; Claude Code where none is given.
    #[must_use]
    pub fn named(name: Option<&str>) -> Option<&'static Self> {
        match name {
            None | Some("claude-code") => Some(&super::claude::HOST),
            Some(name) => HOSTS.into_iter().find(|host| host.name == name),
        }
    }

    /// What an event of this host is to us, by its name or by ours.
    #[must_use]
    pub fn event_kind(&self, event: &str) -> Option<EventKind> {
        let own = self
            .events
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(event))
            .map(|(_, kind)| *kind);
        own.or_else(|| EventKind::read(event))
    }

    /// What this host calls a tool.
    #[must_use]
    pub fn tool<'t>(&self, tool: &'t str) -> &'t str {
        self.tools.iter().find(|(ours, _)| *ours == tool).map_or(tool, |(_, own)| own)
    }
}
