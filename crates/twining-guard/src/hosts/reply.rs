//! What a hook answers, whichever host asked.

use serde_json::Value;

/// What a hook answers, whoever asked.
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

/// A host's answer: what is printed, what is said, and how the process ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAnswer {
    /// For the host.
    pub out: Option<Value>,
    /// For whoever reads along.
    pub err: Option<String>,
    /// How it ends.
    pub code: u8,
}

/// What Claude Code moves to a file if there is more, and others cut.
const MOST_CHARS: usize = 9_000;

/// As much of a text as every host takes.
pub fn cut(text: &str) -> String {
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

    /// What went wrong with us. Nobody is held for it: the host goes on, and whoever
    /// reads along sees why nothing was judged.
    #[must_use]
    pub fn failed(why: &str) -> Self {
        let err = Some(format!("twining could not judge this, so it was let through: {}", twining_model::text::visible(why)));
        Self { err, code: 1, ..Self::default() }
    }
}
