//! Reconsidering: a decision goes back on the table; nothing else moves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Change, DecisionStatus, Id, InvalidInput, limits, text};
use twining_store::View;

use crate::caller::Stamp;
use crate::decisions::amend::{amendment, move_to};
use crate::decisions::{find, notices, retired};
use crate::failure::Failure;
use crate::hygiene::{Redaction, redact_fields};

/// What to reconsider, in the caller's words.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReconsiderInput {
    /// Which decision
    pub decision_id: String,
    /// What changed
    pub new_context: String,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(ReconsiderInput { new_context, agent_id });

/// What was reconsidered.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReconsiderOutcome {
    /// Whether it went from active to provisional.
    pub flagged: bool,
    /// Its choice.
    pub decision_summary: String,
    /// Decisions that depend on it, unchanged.
    pub dependents: Vec<Id>,
    /// Why there was nothing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Secrets that were taken out before anything was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A reconsideration to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct ReconsiderDraft {
    id: Id,
    why: String,
}

impl ReconsiderDraft {
    /// Checks every word.
    pub fn parse(input: &ReconsiderInput) -> Result<Self, InvalidInput> {
        Ok(Self { id: Id::parse("decision_id", input.decision_id.trim())?, why: text::required("new_context", &input.new_context)? })
    }
}

/// Plans the doubt: an active decision becomes provisional, and the board is
/// warned. One that is out of force stays as it is. Decisions that depend on it are named and left alone; to change them
/// without being asked would surprise whoever relies on them.
pub fn plan_reconsider(view: &View<'_>, draft: &ReconsiderDraft, stamp: &Stamp<'_>) -> Result<(Change, ReconsiderOutcome), Failure> {
    let before = find(view, &draft.id)?;
    let mut dependents = view.decisions().dependents(&draft.id)?;
    dependents.retain(|id| *id != draft.id);
    let mut change = Change::default();
    let flagged = before.status == DecisionStatus::Active;
    if flagged {
        let mut after = before.clone();
        move_to(&mut after, DecisionStatus::Provisional, &stamp.caller.agent, &draft.why, stamp);
        change.amendments.push(amendment(&before, &after)?);
    }
    // A warning about one that is out of force would stay open for good: no
    // promotion or override is left to settle it.
    let note = (!before.status.binds()).then(|| format!("nothing to reconsider: {}", retired(&before)));
    if note.is_none() {
        notices::reconsider(&mut change, &before, &draft.why, &dependents, stamp);
    }
    dependents.truncate(limits::WALK_NODES);
    Ok((change, ReconsiderOutcome { flagged, decision_summary: before.summary, dependents, note, redacted: Vec::new() }))
}
