//! Entries: one line each on the blackboard, written once and never changed.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::string_enums::words;

words! {
    /// What an entry is.
    pub enum EntryType {
        /// Something is missing before the author can go on.
        Need = "need",
        /// Something the author can provide.
        Offer = "offer",
        /// Something the author found out.
        Finding = "finding",
        /// The announcement of a decision; made by `decide`, never posted.
        Decision = "decision",
        /// Something that limits the options.
        Constraint = "constraint",
        /// Something the author wants to know.
        Question = "question",
        /// The reply to a question; closes what it relates to.
        Answer = "answer",
        /// Status of a task; closes what it relates to.
        Status = "status",
        /// Something that was produced.
        Artifact = "artifact",
        /// Something to beware of.
        Warning = "warning",
    }
}

impl EntryType {
    /// Whether such an entry stays open until someone answers or dismisses it.
    #[must_use]
    pub fn asks(self) -> bool {
        matches!(self, Self::Need | Self::Question | Self::Warning)
    }

    /// Whether such an entry closes the open entries it relates to.
    #[must_use]
    pub fn closes(self) -> bool {
        matches!(self, Self::Answer | Self::Status)
    }
}

words! {
    /// How a record reached us.
    pub enum Channel {
        /// A tool call.
        Mcp = "mcp",
        /// The command line.
        Cli = "cli",
        /// A host's hook, directly or through the pending queue.
        Hook = "hook",
        /// The page of `twining ui`.
        Web = "web",
        /// A tool call over HTTP, to a team service.
        Http = "http",
        /// An import.
        Import = "import",
        /// From the repository; the author is unknown.
        Repository = "repository",
        /// In a way that a newer version knows.
        #[serde(other)]
        Unknown = "unknown",
    }
}

words! {
    /// How far a record is to be believed.
    pub enum Trust {
        /// Came from elsewhere.
        Imported = "imported",
        /// Written by a program.
        Tool = "tool",
        /// Written by an agent.
        Agent = "agent",
        /// Typed by a person at a terminal.
        Human = "human",
    }
}

/// Who wrote a record, as seen by the server; unlike `agent_id`, which is what
/// the author calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The client program, by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Whose token a team service accepted it with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The commit that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The branch that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// How it arrived.
    pub via: Channel,
    /// How far to trust it; a value that only a newer version knows is trusted least.
    #[serde(deserialize_with = "known_trust")]
    pub trust: Trust,
}

fn known_trust<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Trust, D::Error> {
    let word = String::deserialize(deserializer)?;
    Ok(Trust::read(&word).unwrap_or(Trust::Imported))
}

impl Origin {
    /// Of a record that says nothing of its origin: it came with the repository.
    #[must_use]
    pub fn elsewhere() -> Self {
        Self::new(Channel::Repository, Trust::Imported)
    }

    /// Of a record that arrived this way, from nobody known by name.
    #[must_use]
    pub fn new(via: Channel, trust: Trust) -> Self {
        Self { client: None, session: None, principal: None, head: None, branch: None, via, trust }
    }
}

/// One line of the blackboard.
///
/// Types are loose where a file may contain unknown values: a newer entry
/// type, an id that is not a ULID, extra fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// ULID; hooks of the TypeScript server wrote other ids.
    pub id: String,
    /// ISO 8601.
    #[serde(default)]
    pub timestamp: String,
    /// What the author calls itself.
    #[serde(default)]
    pub agent_id: String,
    /// One of the entry types.
    #[serde(default)]
    pub entry_type: String,
    /// Domain tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Ids of related entries or decisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relates_to: Vec<String>,
    /// File, directory, module or `project`.
    #[serde(default)]
    pub scope: String,
    /// One line.
    #[serde(default)]
    pub summary: String,
    /// Full context.
    #[serde(default)]
    pub detail: String,
    /// Who wrote it, as seen by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl Entry {
    /// The type, if it is one we know.
    #[must_use]
    pub fn kind(&self) -> Option<EntryType> {
        EntryType::read(&self.entry_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_typescript_server_reads_and_keeps_what_we_do_not_know() {
        let line = r#"{"entry_type":"need","summary":"Need rate limiter","detail":"","tags":[],"scope":"project","agent_id":"main","id":"hook-17","timestamp":"2026-11-15T00:53:27.070Z","mood":{"x":[1]}}"#;
        let entry: Entry = serde_json::from_str(line).expect("reads");
        assert_eq!(entry.kind(), Some(EntryType::Need));
        let back: Value = serde_json::to_value(&entry).expect("writes");
        assert_eq!(back["mood"]["x"][0], 1);
        assert_eq!(back, serde_json::from_str::<Value>(line).expect("is JSON"));
    }

    #[test]
    fn an_origin_of_a_newer_version_hides_no_record() {
        let line = r#"{"id":"x","entry_type":"need","origin":{"via":"carrier_pigeon","trust":"signed","session":"s"}}"#;
        let entry: Entry = serde_json::from_str(line).expect("reads");
        assert_eq!(
            entry.origin.map(|origin| (origin.via, origin.trust)),
            Some((Channel::Unknown, Trust::Imported))
        );
    }

    #[test]
    fn an_unknown_type_is_refused_as_input_and_kept_in_files() {
        assert!(
            EntryType::parse("entry_type", "rumour")
                .expect_err("unknown")
                .to_string()
                .contains("need, offer")
        );
        let entry: Entry =
            serde_json::from_str(r#"{"id":"x","entry_type":"rumour"}"#).expect("reads");
        assert_eq!(entry.kind(), None);
        assert_eq!(entry.entry_type, "rumour");
    }
}
