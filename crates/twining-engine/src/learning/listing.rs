//! The guards that hold, and how each stands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_guard::policy::GuardHealth;
use twining_guard::{GuardSet, Verdict};

use crate::answer::is_false;
use crate::governance::Mistake;

/// A guard as it stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GuardSummary {
    /// Its name.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// What it does when it speaks.
    pub action: Verdict,
    /// Whether a person has yet to promote it.
    #[serde(skip_serializing_if = "is_false")]
    pub proposed: bool,
    /// Why it is not asked, if it fails its own examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead: Option<String>,
    /// What it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The command it wants to be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// What it says.
    pub say: String,
    /// What to do instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_step: String,
}

/// Guards are listed whole.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardsInput {}

/// The guards of a project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GuardsOutcome {
    /// All of them, built in first.
    pub guards: Vec<GuardSummary>,
    /// What is wrong with the policy files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
}

/// How guards stand.
pub(crate) fn listed(all: &GuardSet) -> GuardsOutcome {
    let guards = all.guards.iter().map(|guard| GuardSummary {
        id: guard.id.clone(),
        source: guard.source.to_string(),
        action: guard.action,
        proposed: guard.proposed,
        dead: if let GuardHealth::Dead(why) = &guard.standing { Some(why.clone()) } else { None },
        origin: guard.origin.clone(),
        verify: guard.verify.clone(),
        say: guard.say.clone(),
        next_step: guard.next_step.clone(),
    });
    GuardsOutcome { guards: guards.collect(), mistakes: all.mistakes.clone() }
}
