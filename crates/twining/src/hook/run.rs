//! The hook entry point: a host's JSON on stdin, the host's answer on stdout.
//!
//! It runs before every tool call, so it opens the policy and nothing else until something needs
//! more: read, evaluate, answer. If Twining itself fails, the host goes on and gets the reason; our
//! errors block nobody.

use super::context::HookContext;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;
use twining_guard::hosts::{HOSTS, HookEvent, HookReply, HostAdapter, HostAnswer, parse_json};
use twining_guard::{EventKind, Verdict};

/// Longest event that is read: a file of this size is written by no tool.
pub(super) const MAX_EVENT_BYTES: u64 = 16 * 1024 * 1024;

/// Answers one event.
pub(crate) fn run(project: Option<PathBuf>, host: &HostAdapter, event: &str) -> ExitCode {
    // An event of a newer host is not ours to stop.
    let Some(kind) = host.event_kind(event) else { return ExitCode::SUCCESS };
    let reply = respond(project, host, event).unwrap_or_else(|why| failed(kind, why));
    // Answers carry the event's own name: what the host wrote, or ours for it.
    let name = if host.events.is_empty() { kind.as_str() } else { event };
    print(host.answer(&reply, kind, name))
}

/// What our own failure means: nothing, unless the person's policy holds what cannot be read.
pub(super) fn failed(kind: EventKind, why: String) -> HookReply {
    if kind != EventKind::PreToolUse {
        return HookReply::Failed(why);
    }
    match super::guard_cache::on_unreadable() {
        Verdict::Block => HookReply::Deny(format!(
            "Blocked: twining could not check this: {why}. Do instead: run `twining doctor`."
        )),
        Verdict::Ask => HookReply::Ask(format!("Twining could not check this: {why}")),
        Verdict::Off | Verdict::Warn => HookReply::Failed(why),
    }
}

pub(super) fn respond(
    project: Option<PathBuf>,
    host: &HostAdapter,
    event: &str,
) -> Result<HookReply, String> {
    let json = read_event()?;
    let hook_event = host.parse(event, &json, &current_dir()).ok_or("unknown event")?;
    let context = HookContext::open(project, hook_event)?;
    let reply = match context.event.event.kind {
        EventKind::PreToolUse => super::tool_call::before(&context),
        EventKind::PostToolUse | EventKind::ToolFailed => super::tool_call::after(&context),
        EventKind::Stop | EventKind::SubagentStop | EventKind::TaskCompleted => {
            super::stop::reply(&context)
        }
        EventKind::SessionStart => super::session::started(&context),
        EventKind::SubagentStart => super::session::subagent_started(&context),
        EventKind::UserPromptSubmit => super::session::prompted(&context),
        EventKind::PreCompact => super::compaction_snapshot::take(&context),
        // What was forgotten is restored when the host asks for the starting context.
        EventKind::PostCompact => HookReply::Silence,
        EventKind::SessionEnd => super::session::ended(&context),
    };
    Ok(super::questions::put(&context, host, reply))
}

/// Reads an event that names itself, so that one recorded can be replayed.
pub(crate) fn read_any_event() -> Result<HookEvent, String> {
    let json = read_event()?;
    let named = json.get("hook_event_name").and_then(Value::as_str).unwrap_or("PreToolUse");
    let parsed = HOSTS.into_iter().find_map(|host| host.parse(named, &json, &current_dir()));
    parsed.ok_or_else(|| {
        format!("`{}` is not an event of a known host", twining_model::text::excerpt(named, 40))
    })
}

pub(super) fn read_event() -> Result<Value, String> {
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_EVENT_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| format!("the event cannot be read: {error}"))?;
    if text.len() as u64 > MAX_EVENT_BYTES {
        return Err(format!("the event is larger than {MAX_EVENT_BYTES} bytes"));
    }
    parse_json(&text)
}

pub(super) fn current_dir() -> String {
    std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default()
}

/// Writes an answer in one piece: half a JSON is taken for no answer.
pub(super) fn print(answer: HostAnswer) -> ExitCode {
    let printed = match &answer.out {
        None => Ok(()),
        Some(json) => {
            let mut out = std::io::stdout().lock();
            out.write_all(format!("{json}\n").as_bytes()).and_then(|()| out.flush())
        }
    };
    let answer = match printed {
        Ok(()) => answer,
        Err(error) => HostAnswer::failed(&format!("the answer cannot be written: {error}")),
    };
    if let Some(text) = &answer.err {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
    ExitCode::from(answer.code)
}
