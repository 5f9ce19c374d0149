//! Hosts: one file each for what it calls things, and nothing else.
//!
//! An adapter turns the host's JSON into what it [`Told`] us, and a [`Reply`] into
//! the host's own answer. What happens in between is the same for all of them.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
#[cfg(test)]
mod tests;

use serde_json::Value;
use twining_engine::guards::{Moment, Told};

use super::reply::{Answer, Reply};

/// Who asks.
pub struct Host {
    /// What `--agent` calls it.
    pub name: &'static str,
    /// Its own names of events that are not called as ours are.
    pub events: &'static [(&'static str, Moment)],
    /// Reads an event, given the host's name of it.
    pub tell: fn(&str, Moment, &Value) -> Told,
    /// Answers an event.
    pub say: fn(&Reply, Moment, &str) -> Answer,
    /// What it would send before this tool runs with this input in this folder.
    pub ask: fn(&str, &Value, &str) -> Value,
    /// Its own names of tools, beside Claude Code's.
    pub tools: &'static [(&'static str, &'static str)],
}

/// Every host there is an adapter for.
pub static HOSTS: [&Host; 5] = [&claude::HOST, &codex::HOST, &gemini::HOST, &cursor::HOST, &copilot::HOST];

impl Host {
    /// The host of a name; Claude Code where none is given.
    pub fn named(name: Option<&str>) -> Option<&'static Self> {
        match name {
            None | Some("claude-code") => Some(&claude::HOST),
            Some(name) => HOSTS.into_iter().find(|host| host.name == name),
        }
    }

    /// What an event of this host is to us, by its name or by ours.
    pub fn moment(&self, event: &str) -> Option<Moment> {
        let own = self.events.iter().find(|(name, _)| name.eq_ignore_ascii_case(event)).map(|(_, moment)| *moment);
        own.or_else(|| Moment::read(event))
    }

    /// What this host calls a tool.
    pub fn tool<'t>(&self, tool: &'t str) -> &'t str {
        self.tools.iter().find(|(ours, _)| *ours == tool).map_or(tool, |(_, own)| own)
    }
}

/// The text of one of these members, the first that has one.
fn text(json: &Value, keys: &[&str]) -> String {
    let found = keys.iter().find_map(|key| json.get(*key)?.as_str().filter(|text| !text.is_empty()));
    found.unwrap_or_default().to_owned()
}

fn some_text(json: &Value, keys: &[&str]) -> Option<String> {
    Some(text(json, keys)).filter(|text| !text.is_empty())
}

/// A member that some versions send as JSON in a string.
fn unpacked(json: &Value, key: &str) -> Value {
    match json.get(key) {
        Some(Value::String(packed)) => serde_json::from_str(packed).unwrap_or_else(|_| Value::String(packed.clone())),
        Some(value) => value.clone(),
        None => Value::Null,
    }
}
