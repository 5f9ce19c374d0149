//! Codex: the JSON of Claude Code, without `ask`, without an event for failures,
//! and without a first message of our own.

use serde_json::Value;

use super::payload::{HostPayload, common};
use super::reply::{Answer, Reply};
use super::{Host, claude};
use crate::event::EventKind;

pub static HOST: Host = Host { name: "codex", events: &[], read, answer, sample: claude::sample, tools: &[] };

fn read(_: &str, kind: EventKind, json: &Value) -> HostPayload {
    common(kind, json)
}

fn answer(reply: &Reply, kind: EventKind, event: &str) -> Answer {
    match reply {
        Reply::Start { context, go } => claude::answer(&Reply::Context(format!("{go}\n\n{context}")), kind, event),
        reply => claude::answer(reply, kind, event),
    }
}
