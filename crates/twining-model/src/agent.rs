//! Agents: who is there, what they hand over, and what they hold for themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::entry::Origin;
use crate::limits;
use crate::time::Time;

/// One element of `agents/registry.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    /// What it calls itself.
    pub agent_id: String,
    /// What it can do, in lower case.
    #[serde(deserialize_with = "or_nothing")]
    pub capabilities: Vec<String>,
    /// Its part in the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What else there is to say of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Time of first registration.
    pub registered_at: String,
    /// Time of last registration; later activity is in `local/`.
    pub last_active: String,
    /// Who registered it, as the server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The result of one part of the work handed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HandoffResult {
    /// What was to be done.
    pub description: String,
    /// `completed`, `partial`, `blocked` or `failed`.
    pub status: String,
    /// Files it produced.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// What to know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// The context when the work was handed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HandoffSnapshot {
    /// Decisions to follow.
    pub decision_ids: Vec<String>,
    /// Open warnings.
    pub warning_ids: Vec<String>,
    /// Relevant findings.
    pub finding_ids: Vec<String>,
    /// Open needs and questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_ids: Vec<String>,
    /// The most important of them, one line each.
    pub summaries: Vec<String>,
}

/// One file of `handoffs/`: work that goes from one agent to another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Handoff {
    /// Its id, which names its file.
    pub id: String,
    /// When.
    pub created_at: String,
    /// Who hands over.
    pub source_agent: String,
    /// Who takes over; anyone if it names nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_agent: Option<String>,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// One line.
    pub summary: String,
    /// What came of it.
    #[serde(deserialize_with = "or_nothing")]
    pub results: Vec<HandoffResult>,
    /// What held then.
    #[serde(deserialize_with = "or_nothing")]
    pub context_snapshot: HandoffSnapshot,
    /// Who took over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<String>,
    /// Who handed over, as the server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields of other versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A part of the project that one agent claims for a while, on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// Who claimed it.
    pub agent_id: String,
    /// In which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Whose token it was shared with: agents on other machines may have the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub principal: Option<String>,
    /// Files and directories, relative to the project.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The feature it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// What for.
    #[serde(default)]
    pub reason: String,
    /// Since when.
    pub since: String,
    /// Until when; after that it has expired.
    pub until: String,
}

impl Claim {
    /// Who holds it: the agent, and the owner of the token it was shared with.
    #[must_use]
    pub fn holder(&self) -> String {
        match self.principal.as_ref().filter(|owner| **owner != self.agent_id) {
            Some(owner) => format!("{} ({owner})", self.agent_id),
            None => self.agent_id.clone(),
        }
    }
}

/// When the longest claim that may be made now ends, with clocks that differ a
/// little. One that says it lasts longer was made by nobody.
#[must_use]
pub fn longest_claim(now: Time) -> Time {
    let lasts = i64::try_from(limits::CLAIM_SECONDS).unwrap_or(0) * 1000 + limits::CLOCK_SKEW_MS;
    Time::from_ms(now.as_ms().saturating_add(lasts))
}

/// `local/claims.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClaimList {
    /// Those that hold, and some that no longer do.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

fn or_nothing<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_shared_claim_is_an_agent_and_the_owner_of_a_token() {
        let claim = |agent: &str, owner: Option<&str>| Claim {
            id: "1".to_owned(),
            agent_id: agent.to_owned(),
            session_id: None,
            principal: owner.map(str::to_owned),
            paths: Vec::new(),
            feature: None,
            reason: String::new(),
            since: String::new(),
            until: String::new(),
        };
        assert_eq!(claim("main", None).holder(), "main");
        assert_eq!(claim("main", Some("ada-laptop")).holder(), "main (ada-laptop)");
        assert_eq!(claim("ada", Some("ada")).holder(), "ada");
    }

    #[test]
    fn an_agent_of_the_typescript_server_keeps_what_we_do_not_know() {
        let line = r#"{"agent_id":"alice","capabilities":["rust"],"role":"dev","registered_at":"a","last_active":"b","mood":[1]}"#;
        let agent: Agent = serde_json::from_str(line).expect("reads");
        assert_eq!((agent.agent_id.as_str(), agent.role.as_deref()), ("alice", Some("dev")));
        assert_eq!(
            serde_json::to_value(&agent).expect("writes"),
            serde_json::from_str::<Value>(line).expect("is JSON")
        );
    }

    #[test]
    fn a_handoff_without_a_target_or_a_snapshot_is_read() {
        let handoff: Handoff = serde_json::from_str(
            r#"{"id":"x","source_agent":"a","summary":"s","results":null,"context_snapshot":null}"#,
        )
        .expect("reads");
        assert!(handoff.target_agent.is_none() && handoff.results.is_empty());
    }
}
