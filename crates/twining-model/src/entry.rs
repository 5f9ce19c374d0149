//! Entries: one line each on the blackboard, written once and never changed.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::limits::Refused;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryType {
    /// Something is missing before the author can go on.
    Need,
    /// Something the author can provide.
    Offer,
    /// Something the author found out.
    Finding,
    /// The announcement of a decision; made by `decide`, never posted.
    Decision,
    /// Something that limits the options.
    Constraint,
    /// Something the author wants to know.
    Question,
    /// The reply to a question; closes what it relates to.
    Answer,
    /// Where a task stands; closes what it relates to.
    Status,
    /// Something that was produced.
    Artifact,
    /// Something to beware of.
    Warning,
}

impl EntryType {
    /// Every type, in the order the seed lists them.
    pub const ALL: [Self; 10] = [
        Self::Need,
        Self::Offer,
        Self::Finding,
        Self::Decision,
        Self::Constraint,
        Self::Question,
        Self::Answer,
        Self::Status,
        Self::Artifact,
        Self::Warning,
    ];

    /// The word for it in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Need => "need",
            Self::Offer => "offer",
            Self::Finding => "finding",
            Self::Decision => "decision",
            Self::Constraint => "constraint",
            Self::Question => "question",
            Self::Answer => "answer",
            Self::Status => "status",
            Self::Artifact => "artifact",
            Self::Warning => "warning",
        }
    }

    /// Reads the word an agent gave.
    pub fn parse(field: &'static str, word: &str) -> Result<Self, Refused> {
        Self::read(word).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Refused::new(field, format!("must be one of {known}")).because(format!("`{}` is none of them", crate::text::excerpt(word, 40)))
        })
    }

    /// Reads the word in a file, which a newer version may have added.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

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

/// How a record reached us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A tool call.
    Mcp,
    /// The command line.
    Cli,
    /// A host's hook, directly or through the pending queue.
    Hook,
    /// An import.
    Import,
    /// With the repository: nobody told us who wrote it.
    Repository,
    /// In a way that a newer version knows.
    #[serde(other)]
    Unknown,
}

impl Channel {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Cli => "cli",
            Self::Hook => "hook",
            Self::Import => "import",
            Self::Repository => "repository",
            Self::Unknown => "unknown",
        }
    }
}

/// How far a record is to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Came from elsewhere.
    Imported,
    /// Said by a program.
    Tool,
    /// Said by an agent.
    Agent,
    /// Typed by a person at a terminal.
    Human,
}

impl Trust {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Human => "human",
        }
    }
}

/// Who wrote a record, as the server knows it; beside `agent_id`, which is what
/// the author calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// The program at the other end, by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How it came.
    pub via: Channel,
    /// How far to believe it; a word that only a newer version knows is believed least.
    #[serde(deserialize_with = "known_trust")]
    pub trust: Trust,
}

fn known_trust<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Trust, D::Error> {
    let word = String::deserialize(deserializer)?;
    Ok([Trust::Tool, Trust::Agent, Trust::Human].into_iter().find(|trust| trust.as_str() == word).unwrap_or(Trust::Imported))
}

impl Origin {
    /// Of a record that says nothing of its origin: it came with the repository.
    #[must_use]
    pub fn elsewhere() -> Self {
        Self { client: None, session: None, via: Channel::Repository, trust: Trust::Imported }
    }
}

/// One line of the blackboard.
///
/// Types are loose where a file may hold what we do not know: a newer entry
/// type, an id that is no ULID, extra fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// ULID; hooks of the TypeScript server wrote others.
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
    /// Who wrote it, as the server knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields of other versions, kept as they are.
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
        let line = r#"{"id":"x","entry_type":"need","origin":{"via":"web","trust":"signed","session":"s"}}"#;
        let entry: Entry = serde_json::from_str(line).expect("reads");
        assert_eq!(entry.origin.map(|origin| (origin.via, origin.trust)), Some((Channel::Unknown, Trust::Imported)));
    }

    #[test]
    fn an_unknown_type_is_refused_as_input_and_kept_in_files() {
        assert!(EntryType::parse("entry_type", "rumour").expect_err("unknown").to_string().contains("need, offer"));
        let entry: Entry = serde_json::from_str(r#"{"id":"x","entry_type":"rumour"}"#).expect("reads");
        assert_eq!(entry.kind(), None);
        assert_eq!(entry.entry_type, "rumour");
    }
}
