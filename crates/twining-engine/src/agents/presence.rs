//! Presence: when each agent last called, on this machine.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Time, limits};
use twining_store::config;

use crate::caller::Stamp;

/// How long ago an agent was last heard of, from near to far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentLiveness {
    /// At work.
    Active,
    /// Quiet for a while.
    Idle,
    /// Away.
    Gone,
}

impl AgentLiveness {
    /// What the time since `last` says.
    #[must_use]
    pub fn of(last: Option<Time>, now: Time, after: config::Liveness) -> Self {
        let Some(last) = last else { return Self::Gone };
        let quiet = u64::try_from(now.since(last).as_millis()).unwrap_or(u64::MAX);
        match quiet {
            quiet if quiet >= after.gone_after_ms => Self::Gone,
            quiet if quiet >= after.idle_after_ms => Self::Idle,
            _ => Self::Active,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Gone => "gone",
        }
    }

    /// How much it counts when somebody is looked for.
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Active => 1.0,
            Self::Idle => 0.5,
            Self::Gone => 0.1,
        }
    }
}

/// The last call of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LastCall {
    pub(crate) at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

/// `local/presence.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Presence {
    #[serde(default)]
    pub(crate) agents: BTreeMap<String, LastCall>,
}

impl Presence {
    /// Reads the file; one that is no such file knows of nobody.
    pub(crate) fn read(bytes: Option<&[u8]>) -> Self {
        bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
    }

    /// The same after this call. Those heard of longest ago make room.
    pub(crate) fn with(mut self, stamp: &Stamp<'_>) -> Self {
        let seen = LastCall { at: stamp.at, session: stamp.caller.origin.session.clone() };
        self.agents.insert(stamp.caller.agent.clone(), seen);
        while self.agents.len() > limits::PRESENCE {
            let Some(oldest) = self.agents.iter().min_by_key(|(_, seen)| seen.at).map(|(name, _)| name.clone()) else { break };
            self.agents.remove(&oldest);
        }
        self
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}
