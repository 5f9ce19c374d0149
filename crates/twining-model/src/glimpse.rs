//! What a trace says, without a copy of it: a search goes over a hundred thousand
//! lines to show twenty.

use std::borrow::Cow;

use serde::Deserialize;

use crate::trace::{Trace, TraceType};

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

    /// The guard that spoke, or was lifted.
    #[must_use]
    pub fn guard(&self) -> Option<&str> {
        self.guard.as_ref().map(|guard| &*guard.0)
    }

    /// Whether it was kept from happening.
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
mod tests {
    use super::*;

    #[test]
    fn a_glimpse_of_a_line_says_what_the_trace_says() {
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
