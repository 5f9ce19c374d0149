//! Codex: the JSON of Claude Code, without `ask`, without an event for failures,
//! and without a first message of our own.

use super::payload::common;
use super::reply::{Answer, Reply};
use super::{Host, claude};
use crate::event::EventKind;

pub static HOST: Host =
    Host { name: "codex", events: &[], read: |_, kind, json| common(kind, json), answer, sample: claude::sample, tools: &[] };

fn answer(reply: &Reply, kind: EventKind, event: &str) -> Answer {
    match reply {
        Reply::Start { context, go } => claude::answer(&Reply::Context(format!("{go}\n\n{context}")), kind, event),
        reply => claude::answer(reply, kind, event),
    }
}
