//! What a trace says, without a copy of it: a search goes over a hundred thousand
//! lines to show twenty.

use std::borrow::Cow;

use serde::Deserialize;

use crate::trace::{Trace, TraceType};

/// A trace as far as it is searched by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Glimpse<'l> {
    #[serde(borrow)]
    timestamp: Text<'l>,
    #[serde(borrow, rename = "type")]
    kind: Text<'l>,
    #[serde(borrow)]
    context: Context<'l>,
    #[serde(borrow)]
    event: Event<'l>,
    #[serde(borrow)]
    guard: Option<Text<'l>>,
    #[serde(borrow)]
    action: Option<Text<'l>>,
    blocked: bool,
}

/// A text, borrowed from the line wherever it is written plainly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
struct Text<'l>(#[serde(borrow)] Cow<'l, str>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Context<'l> {
    #[serde(borrow)]
    agent: Text<'l>,
    #[serde(borrow)]
    feature: Text<'l>,
    #[serde(borrow)]
    task: Text<'l>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Event<'l> {
    #[serde(borrow)]
    what_happened: Text<'l>,
    #[serde(borrow)]
    what_was_correct: Text<'l>,
    #[serde(borrow)]
    why: Text<'l>,
}

impl<'l> Glimpse<'l> {
    /// Reads a line; none where it is no trace.
    #[must_use]
    pub fn of(line: &'l [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// The same of a trace that was read.
    #[must_use]
    pub fn of_trace(trace: &'l Trace) -> Self {
        let text = |text: &'l str| Text(Cow::Borrowed(text));
        Self {
            timestamp: text(&trace.timestamp),
            kind: text(&trace.kind),
            context: Context { agent: text(&trace.context.agent), feature: text(&trace.context.feature), task: text(&trace.context.task) },
            event: Event {
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
        let glimpse = Glimpse::of(line.as_bytes()).expect("reads");
        assert_eq!(glimpse, Glimpse::of_trace(&trace));
        assert_eq!(glimpse.words(), ["a \"b\"", "", "é", "", "g", "F1", ""]);
        assert_eq!(
            (glimpse.kind(), glimpse.agent(), glimpse.guard(), glimpse.is_blocked()),
            (Some(TraceType::Violation), "coder", Some("g"), true)
        );
        assert_eq!(Glimpse::of(b"torn"), None);
    }
}
