//! Traces: what a rule stopped, what a person put right, what was allowed; one
//! line each, written once and never changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::{Origin, Trust};
use crate::string_enums::words;

words! {
    /// What a trace is of.
    #[derive(Default)]
    pub enum TraceType {
        /// A person put something right.
        Correction = "correction",
        /// A rule was broken, or would have been: then it is `blocked`.
        #[default]
        Violation = "violation",
        /// Something was chosen.
        Decision = "decision",
        /// A person let something pass.
        Approval = "approval",
    }
}

/// Who was doing what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TraceContext {
    /// The agent, by its own name.
    pub agent: String,
    /// The feature it worked on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feature: String,
    /// The task.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// What happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TraceEvent {
    /// What was done, or tried.
    pub what_happened: String,
    /// What would have been right.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub what_was_correct: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// One line of `traces.jsonl`.
///
/// Types are loose where a file may contain unknown values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// ULID; first, so that it is found without parsing the whole line.
    pub id: String,
    /// ISO 8601.
    #[serde(default)]
    pub timestamp: String,
    /// One of the trace types.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// Who was doing what.
    #[serde(default)]
    pub context: TraceContext,
    /// What happened.
    #[serde(default)]
    pub event: TraceEvent,
    /// Where it comes from: `enforcement_hook`, `user_correction`, `auto_detected`, `person`, `reported`.
    #[serde(default)]
    pub source: String,
    /// The guard that applied, or was lifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// What was tried, in a few words: the tool, and a command or a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Whether it was blocked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub blocked: bool,
    /// Whether it was inferred and nobody stated it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub guessed: bool,
    /// The trace of a guard that this one judges: an approval says that the guard was right,
    /// a correction that it was wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The recorded tool call it is about, on the machine that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Who wrote it, as seen by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl Trace {
    /// Reads a line; none where it is no trace.
    #[must_use]
    pub fn read(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// The type, if it is one we know.
    #[must_use]
    pub fn kind(&self) -> Option<TraceType> {
        TraceType::read(&self.kind)
    }

    /// All that it says in words, some of it perhaps empty.
    #[must_use]
    pub fn words(&self) -> [&str; 7] {
        [
            &self.event.what_happened,
            &self.event.what_was_correct,
            &self.event.why,
            self.action.as_deref().unwrap_or_default(),
            self.guard.as_deref().unwrap_or_default(),
            &self.context.feature,
            &self.context.task,
        ]
    }

    /// How far to believe it. What this machine did not write came from
    /// elsewhere, whatever it says of itself; a guess is no more than a program's.
    #[must_use]
    pub fn trust(&self, written_here: bool) -> Trust {
        let claimed = self.origin.as_ref().map_or(Trust::Imported, |origin| origin.trust);
        match (written_here, self.guessed) {
            (false, _) => Trust::Imported,
            (true, true) => claimed.min(Trust::Tool),
            (true, false) => claimed,
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_newer_version_keeps_what_we_do_not_know() {
        let line = r#"{"id":"T1","timestamp":"2026-11-15T09:00:00.000Z","type":"violation","context":{"agent":"coder","mood":1},"event":{"what_happened":"x","cost":[2]},"source":"enforcement_hook","embedding":[0.5]}"#;
        let trace: Trace = serde_json::from_str(line).expect("reads");
        assert_eq!(trace.kind(), Some(TraceType::Violation));
        assert_eq!(
            serde_json::to_value(&trace).expect("writes"),
            serde_json::from_str::<Value>(line).expect("is JSON")
        );
        assert_eq!(
            serde_json::from_str::<Trace>(r#"{"id":"x","type":"rumour"}"#).expect("reads").kind(),
            None
        );
    }

    #[test]
    fn what_came_from_elsewhere_or_was_guessed_is_believed_less_than_it_claims() {
        let claims = r#"{"id":"x","origin":{"via":"cli","trust":"human"}}"#;
        let trace: Trace = serde_json::from_str(claims).expect("reads");
        assert_eq!((trace.trust(true), trace.trust(false)), (Trust::Human, Trust::Imported));
        assert_eq!(Trace { guessed: true, ..trace }.trust(true), Trust::Tool);
        assert_eq!(Trace::default().trust(true), Trust::Imported, "nobody says who wrote it");
    }
}
