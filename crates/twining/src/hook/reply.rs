//! Answers in each host's words.

use std::io::Write;
use std::process::ExitCode;

use serde_json::{Value, json};
use twining_engine::guards::Moment;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// Claude Code.
    Claude,
    /// Codex, which reads the same answers and knows no `ask`.
    Codex,
}

impl Host {
    /// Reads a name.
    pub fn read(name: Option<&str>) -> Option<Self> {
        match name {
            None | Some("claude" | "claude-code") => Some(Self::Claude),
            Some("codex") => Some(Self::Codex),
            Some(_) => None,
        }
    }
}

/// What a hook answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing to say.
    Silence,
    /// Something for the agent to read.
    Context(String),
    /// Something for the person to read.
    Notice(String),
    /// The person decides.
    Ask(String),
    /// The tool does not run.
    Deny(String),
    /// The agent goes on.
    Hold(String),
}

/// What Claude Code moves to a file if there is more, and Codex cuts.
const MOST_CHARS: usize = 9_000;

impl Reply {
    /// Writes the answer in one piece: half a JSON is taken for no answer.
    pub fn tell(&self, host: Host, moment: Moment) -> ExitCode {
        if let (Self::Hold(reason), Moment::TaskCompleted) = (self, moment) {
            // The one gate that knows no JSON: an exit of 2 refuses.
            let _ = writeln!(std::io::stderr().lock(), "{reason}");
            return ExitCode::from(2);
        }
        let Some(json) = self.to_json(host, moment) else { return ExitCode::SUCCESS };
        let mut out = std::io::stdout().lock();
        match out.write_all(format!("{json}\n").as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => Self::failed(moment, &format!("the answer cannot be written: {error}")),
        }
    }

    /// The answer, if there is one.
    pub fn to_json(&self, host: Host, moment: Moment) -> Option<Value> {
        let cut = |text: &str| text.chars().take(MOST_CHARS).collect::<String>();
        let event = moment.as_str();
        let decided = |decision: &str, reason: &str| json!({"hookSpecificOutput": {"hookEventName": event, "permissionDecision": decision, "permissionDecisionReason": cut(reason)}});
        Some(match self {
            Self::Silence => return None,
            Self::Context(text) => json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": cut(text)}}),
            Self::Notice(text) => json!({"systemMessage": cut(text)}),
            Self::Ask(reason) if host == Host::Claude => decided("ask", reason),
            Self::Ask(reason) => decided("deny", &format!("{reason}\nA person has to do this.")),
            Self::Deny(reason) => decided("deny", reason),
            Self::Hold(reason) => json!({"decision": "block", "reason": cut(reason)}),
        })
    }

    /// What went wrong. Before a tool it refuses; anywhere else it must not hold
    /// a session that nothing can mend from inside.
    pub fn failed(moment: Moment, why: &str) -> ExitCode {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(err, "twining could not judge this: {}", twining_model::text::visible(why));
        ExitCode::from(if moment == Moment::PreToolUse { 2 } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codex_is_told_no_where_claude_asks() {
        let ask = Reply::Ask("why".into());
        assert_eq!(ask.to_json(Host::Claude, Moment::PreToolUse).expect("answers")["hookSpecificOutput"]["permissionDecision"], "ask");
        assert_eq!(ask.to_json(Host::Codex, Moment::PreToolUse).expect("answers")["hookSpecificOutput"]["permissionDecision"], "deny");
        assert_eq!(Reply::Silence.to_json(Host::Claude, Moment::Stop), None);
    }
}
