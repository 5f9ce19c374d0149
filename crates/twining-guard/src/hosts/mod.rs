//! Hosts: one file each for what it calls things, and nothing else.
//!
//! An adapter turns the host's JSON into a [`HostPayload`], and a [`Reply`] into the
//! host's own answer. What happens in between is the same for all of them.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod payload;
mod reply;
mod surrogates;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use payload::{HookEvent, HostPayload, ToolResult};
pub use reply::{HookReply, HostAnswer};

use crate::event::EventKind;

/// Who asks.
pub struct HostAdapter {
    /// What `--agent` calls it.
    pub name: &'static str,
    /// Its own names of events that are not called as ours are, whatever their case.
    pub events: &'static [(&'static str, EventKind)],
    /// Reads an event, given the host's name of it.
    pub read: fn(&str, EventKind, &Value) -> HostPayload,
    /// Answers an event.
    pub answer: fn(&HookReply, EventKind, &str) -> HostAnswer,
    /// What it would send before this tool runs with this input in this folder.
    pub sample: fn(&str, &Value, &str) -> Value,
    /// Its own names of tools, beside Claude Code's.
    pub tools: &'static [(&'static str, &'static str)],
}

/// Every host there is an adapter for.
pub static HOSTS: [&HostAdapter; 5] = [&claude::HOST, &codex::HOST, &gemini::HOST, &cursor::HOST, &copilot::HOST];

/// Parses a host's JSON. Hosts that cut a text short may leave a lone surrogate in
/// it, which no JSON parser takes; it is read as U+FFFD.
pub fn parse_json(text: &str) -> Result<Value, String> {
    let repaired = |error| surrogates::replaced(text).map_or(Err(error), |text| serde_json::from_str(&text));
    let json: Value = serde_json::from_str(text).or_else(repaired).map_err(|error| format!("the event is no JSON: {error}"))?;
    if json.is_object() { Ok(json) } else { Err("the event is no object".to_owned()) }
}

impl HostAdapter {
    /// The event that a host sent under this name; none if the name is not known.
    #[must_use]
    pub fn parse(&self, event: &str, json: &Value, current_dir: &str) -> Option<HookEvent> {
        let kind = self.event_kind(event)?;
        Some((self.read)(event, kind, json).into_event(kind, current_dir))
    }

    /// The host of a name; Claude Code where none is given.
    #[must_use]
    pub fn named(name: Option<&str>) -> Option<&'static Self> {
        match name {
            None | Some("claude-code") => Some(&claude::HOST),
            Some(name) => HOSTS.into_iter().find(|host| host.name == name),
        }
    }

    /// What an event of this host is to us, by its name or by ours.
    #[must_use]
    pub fn event_kind(&self, event: &str) -> Option<EventKind> {
        let own = self.events.iter().find(|(name, _)| name.eq_ignore_ascii_case(event)).map(|(_, kind)| *kind);
        own.or_else(|| EventKind::read(event))
    }

    /// What this host calls a tool.
    #[must_use]
    pub fn tool<'t>(&self, tool: &'t str) -> &'t str {
        self.tools.iter().find(|(ours, _)| *ours == tool).map_or(tool, |(_, own)| own)
    }
}
