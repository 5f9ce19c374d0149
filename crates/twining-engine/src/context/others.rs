//! Others: who holds something here, and what waits to be taken over.

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{CaseFolding, Claim, Handoff, Scope, Time};
use twining_store::AgentShelf;

use crate::agents::{current_claims, is_mine, open_handoffs, overlapping};
use crate::caller::Caller;
use crate::words;

/// Claims and handoffs that are told, at most.
const TOLD: usize = 5;
/// Paths of a claim, and characters of what it is for.
const PATHS: usize = 5;
const LINE: usize = 120;

/// A part of the project that another agent holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextClaim {
    /// Who holds it.
    pub agent_id: String,
    /// Files and directories.
    pub paths: Vec<String>,
    /// The feature it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// Until when.
    pub until: String,
    /// What for.
    pub reason: String,
}

/// Work that waits to be taken over.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextHandoff {
    /// Its id, for twining_acknowledge.
    pub id: String,
    /// Who hands over.
    pub source_agent: String,
    /// To whom; to anyone if it names nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_agent: Option<String>,
    /// One line.
    pub summary: String,
}

/// What others do that bears on a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherAgents {
    pub(super) claims: Vec<ContextClaim>,
    pub(super) handoffs: Vec<ContextHandoff>,
}

impl OtherAgents {
    /// What others hold in this scope, and what waits for the caller: handed to
    /// it by name, or to anyone here.
    pub(crate) fn of(agent_files: &AgentShelf, scope: &Scope, caller: &Caller, folding: CaseFolding, now: Time) -> Self {
        let held = current_claims(agent_files, now).into_iter().filter(|claim| !is_mine(claim, caller));
        let here = |claim: &Claim| overlapping(claim, scope, folding).is_some();
        let waits = |handoff: &Handoff| match handoff.target_agent.as_deref() {
            Some(target) => target == caller.agent,
            None => {
                let about = Scope::read(handoff.scope.as_deref().unwrap_or("project"));
                handoff.source_agent != caller.agent && about.overlaps(scope, folding)
            }
        };
        let handoffs = open_handoffs(agent_files, TOLD, waits).unwrap_or_default();
        Self {
            claims: held.filter(here).take(TOLD).map(context_claim).collect(),
            handoffs: handoffs
                .into_iter()
                .map(|handoff| ContextHandoff {
                    id: handoff.id,
                    source_agent: words::shorten(&handoff.source_agent, LINE),
                    target_agent: handoff.target_agent.map(|name| words::shorten(&name, LINE)),
                    summary: words::shorten(&handoff.summary, LINE),
                })
                .collect(),
        }
    }
}

fn context_claim(claim: Claim) -> ContextClaim {
    ContextClaim {
        agent_id: words::shorten(&claim.agent_id, LINE),
        paths: claim.paths.iter().take(PATHS).map(|path| words::shorten(path, LINE)).collect(),
        feature: claim.feature.map(|feature| words::shorten(&feature, LINE)),
        until: claim.until,
        reason: words::shorten(&claim.reason, LINE),
    }
}
