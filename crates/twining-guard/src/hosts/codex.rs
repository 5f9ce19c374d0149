//! Codex: the JSON of Claude Code, without `ask`, without an event for failures,
//! and without a first message of our own.

use super::adapter::HostAdapter;
use super::adapter::{HookReply, HostAnswer};
use super::claude;
use super::payload::common;
use crate::event::EventKind;

pub static HOST: HostAdapter = HostAdapter {
    name: "codex",
    events: &[],
    read: |_, kind, json| common(kind, json),
    answer,
    sample: claude::sample,
    tools: &[],
};

fn answer(reply: &HookReply, kind: EventKind, event: &str) -> HostAnswer {
    match reply {
        HookReply::Start { context, go } => {
            claude::answer(&HookReply::Context(format!("{go}\n\n{context}")), kind, event)
        }
        reply => claude::answer(reply, kind, event),
    }
}
