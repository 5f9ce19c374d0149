//! Codex: the JSON of Claude Code, without `ask` and without an event for failures.

use super::adapter::HostAdapter;
use super::claude;
use super::payload::common;

pub(super) static HOST: HostAdapter = HostAdapter {
    name: "codex",
    events: &[],
    read: |_, kind, json| common(kind, json),
    answer: claude::answer,
    tools: &[],
};
