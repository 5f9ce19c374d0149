//! Traces: what a rule stopped, what a person put right, what was allowed; one
//! line each, written once and never changed.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::{Origin, Trust};
use crate::words::words;

words! {
    /// What a trace is of.
    #[derive(Default)]
    TraceType {
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

/// A trace without what other versions added: several times faster to read.
#[derive(Deserialize)]
struct PartialTrace {
    id: String,
    #[serde(default)]
    timestamp: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    context: PartialContext,
    #[serde(default)]
    event: PartialEvent,
    #[serde(default)]
    source: String,
    #[serde(default)]
    guard: Option<String>,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    guessed: bool,
    #[serde(default)]
    call: Option<String>,
    #[serde(default)]
    origin: Option<Origin>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PartialContext {
    agent: String,
    feature: String,
    task: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PartialEvent {
    what_happened: String,
    what_was_correct: String,
    why: String,
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
    /// Reads a line to search or count it: fields of other versions are passed over.
    #[must_use]
    pub fn read_partial(line: &[u8]) -> Option<Self> {
        let seen: PartialTrace = serde_json::from_slice(line).ok()?;
        let (context, event) = (seen.context, seen.event);
        let PartialContext { agent, feature, task } = context;
        let PartialEvent { what_happened, what_was_correct, why } = event;
        Some(Self {
            id: seen.id,
            timestamp: seen.timestamp,
            kind: seen.kind,
            context: TraceContext { agent, feature, task, extra: Map::new() },
            event: TraceEvent { what_happened, what_was_correct, why, extra: Map::new() },
            source: seen.source,
            guard: seen.guard,
            action: seen.action,
            blocked: seen.blocked,
            guessed: seen.guessed,
            call: seen.call,
            origin: seen.origin,
            extra: Map::new(),
        })
    }

    /// The type, if it is one we know.
    #[must_use]
    pub fn kind(&self) -> Option<TraceType> {
        TraceType::read(&self.kind)
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

/// A trace as far as it is searched by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BorrowedTrace<'l> {
    #[serde(borrow)]
    timestamp: BorrowedText<'l>,
    #[serde(borrow, rename = "type")]
    kind: BorrowedText<'l>,
    #[serde(borrow)]
    context: BorrowedContext<'l>,
    #[serde(borrow)]
    event: BorrowedEvent<'l>,
    #[serde(borrow)]
    guard: Option<BorrowedText<'l>>,
    #[serde(borrow)]
    action: Option<BorrowedText<'l>>,
    blocked: bool,
}

/// A text, borrowed from the line wherever it is written plainly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct BorrowedText<'l>(#[serde(borrow)] Cow<'l, str>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct BorrowedContext<'l> {
    #[serde(borrow)]
    agent: BorrowedText<'l>,
    #[serde(borrow)]
    feature: BorrowedText<'l>,
    #[serde(borrow)]
    task: BorrowedText<'l>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct BorrowedEvent<'l> {
    #[serde(borrow)]
    what_happened: BorrowedText<'l>,
    #[serde(borrow)]
    what_was_correct: BorrowedText<'l>,
    #[serde(borrow)]
    why: BorrowedText<'l>,
}

impl<'l> BorrowedTrace<'l> {
    /// Reads a line; none where it is no trace.
    #[must_use]
    pub fn of(line: &'l [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// The same of a trace that was read.
    #[must_use]
    pub fn of_trace(trace: &'l Trace) -> Self {
        let text = |text: &'l str| BorrowedText(Cow::Borrowed(text));
        Self {
            timestamp: text(&trace.timestamp),
            kind: text(&trace.kind),
            context: BorrowedContext {
                agent: text(&trace.context.agent),
                feature: text(&trace.context.feature),
                task: text(&trace.context.task),
            },
            event: BorrowedEvent {
                what_happened: text(&trace.event.what_happened),
                what_was_correct: text(&trace.event.what_was_correct),
                why: text(&trace.event.why),
            },
            guard: trace.guard.as_deref().map(text),
            action: trace.action.as_deref().map(text),
            blocked: trace.blocked,
        }
    }

    /// When it happened, ISO 8601.
    #[must_use]
    pub fn timestamp(&self) -> &str {
        &self.timestamp.0
    }

    /// The type, if it is one we know.
    #[must_use]
    pub fn kind(&self) -> Option<TraceType> {
        TraceType::read(&self.kind.0)
    }

    /// Who was at it.
    #[must_use]
    pub fn agent(&self) -> &str {
        &self.context.agent.0
    }

    /// The guard that applied, or was lifted.
    #[must_use]
    pub fn guard(&self) -> Option<&str> {
        self.guard.as_ref().map(|guard| &*guard.0)
    }

    /// Whether it was blocked.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// All that it says in words, some of it perhaps empty.
    #[must_use]
    pub fn words(&self) -> [&str; 7] {
        [
            &self.event.what_happened.0,
            &self.event.what_was_correct.0,
            &self.event.why.0,
            self.action.as_ref().map_or("", |action| &*action.0),
            self.guard.as_ref().map_or("", |guard| &*guard.0),
            &self.context.feature.0,
            &self.context.task.0,
        ]
    }
}

#[cfg(test)]
mod borrowed_tests {
    use crate::trace::*;

    #[test]
    fn a_borrowed_trace_matches_the_parsed_one() {
        let line = r#"{"id":"x","timestamp":"2026-01-01T00:00:00.000Z","type":"violation","context":{"agent":"coder","feature":"F1","new":1},"event":{"what_happened":"a \"b\"","why":"\u00e9"},"source":"enforcement_hook","guard":"g","blocked":true,"origin":{"via":"hook","trust":"agent"},"later":[1]}"#;
        let trace: Trace = serde_json::from_str(line).expect("reads");
        let borrowed = BorrowedTrace::of(line.as_bytes()).expect("reads");
        assert_eq!(borrowed, BorrowedTrace::of_trace(&trace));
        assert_eq!(borrowed.words(), ["a \"b\"", "", "é", "", "g", "F1", ""]);
        assert_eq!(
            (borrowed.kind(), borrowed.agent(), borrowed.guard(), borrowed.is_blocked()),
            (Some(TraceType::Violation), "coder", Some("g"), true)
        );
        assert_eq!(BorrowedTrace::of(b"torn"), None);
    }
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
        let mut known = trace.clone();
        (known.extra, known.context.extra, known.event.extra) = Default::default();
        assert_eq!(
            Trace::read_partial(line.as_bytes()),
            Some(known),
            "and a glance sees all that we know"
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
