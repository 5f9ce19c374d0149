//! What a hook answers, and how an answer leaves the process.

use std::io::Write;
use std::process::ExitCode;

use serde_json::Value;
use twining_engine::guards::Moment;

/// What a hook answers, whoever asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
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
    /// It could not be judged.
    Failed(String),
}

/// A host's answer: what is printed, what is said, and how the process ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
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

impl Answer {
    /// Nothing.
    pub fn silence() -> Self {
        Self::default()
    }

    /// An answer in JSON.
    pub fn json(out: Value) -> Self {
        Self { out: Some(out), ..Self::default() }
    }

    /// A refusal by the one code that all hosts know.
    pub fn refused(reason: &str) -> Self {
        Self { err: Some(cut(reason)), code: 2, ..Self::default() }
    }

    /// What went wrong. Before a tool it refuses; anywhere else it must not hold a
    /// session that nothing can mend from inside.
    pub fn failed(moment: Moment, why: &str) -> Self {
        let err = Some(format!("twining could not judge this: {}", twining_model::text::visible(why)));
        Self { err, code: if moment == Moment::PreToolUse { 2 } else { 1 }, ..Self::default() }
    }

    /// Writes it in one piece: half a JSON is taken for no answer.
    pub fn tell(self, moment: Moment) -> ExitCode {
        let printed = match &self.out {
            None => Ok(()),
            Some(json) => {
                let mut out = std::io::stdout().lock();
                out.write_all(format!("{json}\n").as_bytes()).and_then(|()| out.flush())
            }
        };
        let answer = match printed {
            Ok(()) => self,
            Err(error) => Self::failed(moment, &format!("the answer cannot be written: {error}")),
        };
        if let Some(said) = &answer.err {
            let _ = writeln!(std::io::stderr().lock(), "{said}");
        }
        ExitCode::from(answer.code)
    }
}
