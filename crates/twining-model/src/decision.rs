//! Decisions: what was chosen, why, and what it displaced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::Origin;
use crate::id::Id;
use crate::string_enums::words;
use crate::time::Time;

words! {
    /// How sure the author is, from least to most.
    #[derive(Default)]
    pub enum Confidence {
        /// A best guess that needs validation.
        Low = "low",
        /// A reasonable choice with some doubt.
        #[default]
        Medium = "medium",
        /// Well researched and tested.
        High = "high",
    }
}

words! {
    /// Status of a decision, ordered so that merging two takes the larger: never silently back to
    /// active.
    #[derive(Default)]
    pub enum DecisionStatus {
        /// In force.
        #[default]
        Active = "active",
        /// In force until someone looks: contested or reconsidered.
        Provisional = "provisional",
        /// Replaced by a later decision.
        Superseded = "superseded",
        /// Rejected by a person.
        Overridden = "overridden",
    }
}

impl DecisionStatus {
    /// Whether agents are to follow such a decision.
    #[must_use]
    pub fn binds(self) -> bool {
        matches!(self, Self::Active | Self::Provisional)
    }
}

words! {
    /// Certainty that a person approved an override, from least to most.
    pub enum Authority {
        /// Claimed by an agent.
        Claimed = "claimed",
        /// A person typed it at a terminal, or the client asked one.
        Confirmed = "confirmed",
    }
}

/// The domain of a decision that was given none. Nothing is known of what it is about, so it
/// contradicts no other.
pub const GENERAL_DOMAIN: &str = "general";

/// An option that was not taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// What it was.
    pub option: String,
    /// Arguments for it.
    #[serde(default)]
    pub pros: Vec<String>,
    /// Arguments against it.
    #[serde(default)]
    pub cons: Vec<String>,
    /// Why it was not taken.
    #[serde(default)]
    pub reason_rejected: String,
}

/// A commit that carries a decision out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitLink {
    /// The commit's hash, as given.
    pub hash: String,
    /// What the commit did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was linked.
    pub linked_at: Time,
    /// What the link is based on: `trailer` or `files`; if absent, the caller's claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// One change of a decision's status: who, when, why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusChange {
    /// When.
    pub at: Time,
    /// The status from then on.
    pub status: DecisionStatus,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// A decision, as stored in its file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// ULID, also the file's name.
    pub id: Id,
    /// When it was made.
    #[serde(default)]
    pub timestamp: String,
    /// What the author calls itself.
    #[serde(default)]
    pub agent_id: String,
    /// The kind of question: architecture, testing, api, …
    #[serde(default)]
    pub domain: String,
    /// The part of the project it governs.
    #[serde(default)]
    pub scope: String,
    /// The choice, in one line.
    #[serde(default)]
    pub summary: String,
    /// What prompted it.
    #[serde(default)]
    pub context: String,
    /// Why this choice.
    #[serde(default)]
    pub rationale: String,
    /// What limited the options.
    #[serde(default)]
    pub constraints: Vec<String>,
    /// What was not taken.
    #[serde(default)]
    pub alternatives: Vec<Alternative>,
    /// Decisions this one depends on.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// The decision this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The decision that replaced this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// How sure the author is.
    #[serde(default)]
    pub confidence: Confidence,
    /// Its status.
    #[serde(default)]
    pub status: DecisionStatus,
    /// Whether it can be undone.
    #[serde(default = "yes")]
    pub reversible: bool,
    /// Files it affects.
    #[serde(default)]
    pub affected_files: Vec<String>,
    /// Functions and types it affects.
    #[serde(default)]
    pub affected_symbols: Vec<String>,
    /// Commits that carry it out.
    #[serde(default)]
    pub commit_hashes: Vec<String>,
    /// The same commits with their details.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitLink>,
    /// Who overrode it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overridden_by: Option<String>,
    /// Why it was overridden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_reason: Option<String>,
    /// How sure we are that a person did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub override_authority: Option<Authority>,
    /// Decisions it was agreed to stand beside, although they seem to contradict it. One of two
    /// says so for both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compatible_with: Vec<String>,
    /// Every change of status since it was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<StatusChange>,
    /// Whether the author had assembled context before deciding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assembled_before: Option<bool>,
    /// Who wrote it, as seen by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_file_reads_with_the_seeds_defaults() {
        let decision: Decision =
            serde_json::from_str(r#"{"id":"01M7EB3QY8BCK1T7V2TH9HG8T6"}"#).expect("reads");
        assert_eq!(
            (decision.status, decision.confidence, decision.reversible),
            (DecisionStatus::Active, Confidence::Medium, true)
        );
    }

    #[test]
    fn a_merge_of_two_statuses_never_goes_back_to_active() {
        assert_eq!(
            DecisionStatus::Active.max(DecisionStatus::Overridden),
            DecisionStatus::Overridden
        );
        assert!(DecisionStatus::Superseded > DecisionStatus::Provisional);
    }
}
