//! Promoting: a provisional decision is in force after all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{Change, Decision, DecisionStatus, Id, InvalidInput, text};
use twining_store::merge::CLASHES;
use twining_store::{StoreError, View};

use crate::caller::Stamp;
use crate::decisions::amend::{amendment, move_to};
use crate::decisions::{disagree, find, notices, retired};
use crate::failure::Failure;
use crate::hygiene::{Redaction, redact_fields};
use crate::words;

/// Rivals that are named.
const RIVALS_NAMED: usize = 20;

/// What to promote, in the caller's words.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromoteInput {
    /// Which decisions
    pub decision_ids: Vec<String>,
    /// Who
    pub promoted_by: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(PromoteInput { promoted_by });

/// A decision that cannot be promoted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PromotionRefusal {
    /// Its id.
    pub id: Id,
    /// Why not.
    pub reason: String,
}

/// A decision that was promoted although active ones disagree with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContestedDecision {
    /// Its id.
    pub id: Id,
    /// Active decisions that disagree with it, at most 20.
    pub rivals: Vec<Id>,
}

/// What was promoted.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct PromoteOutcome {
    /// Provisional before, active now.
    pub promoted: Vec<Id>,
    /// Active before.
    pub already_active: Vec<Id>,
    /// Superseded or overridden.
    pub refused: Vec<PromotionRefusal>,
    /// Promoted, but in conflict with active ones; the warning of it stays open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested: Vec<ContestedDecision>,
    /// Secrets that were not written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A promotion to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct PromoteDraft {
    ids: Vec<Id>,
    by: Option<String>,
}

impl PromoteDraft {
    /// Checks every word.
    pub fn parse(input: &PromoteInput) -> Result<Self, InvalidInput> {
        let ids = words::decision_ids("decision_ids", &input.decision_ids)?;
        if ids.is_empty() {
            return Err(InvalidInput::new("decision_ids", "must name at least one decision"));
        }
        Ok(Self { ids, by: input.promoted_by.as_deref().map(|by| text::name("promoted_by", by)).transpose()? })
    }
}

/// Plans the promotions. An unknown id stops all of them: a list with a typo in
/// it is not what the caller meant.
pub fn plan_promote(view: &View<'_>, draft: &PromoteDraft, stamp: &Stamp<'_>) -> Result<(Change, PromoteOutcome), Failure> {
    let by = draft.by.as_deref().unwrap_or(&stamp.caller.agent);
    let mut change = Change::default();
    let mut outcome = PromoteOutcome::default();
    let mut promoted: Vec<Decision> = Vec::new();
    for id in &draft.ids {
        let before = find(view, id)?;
        match before.status {
            DecisionStatus::Active => outcome.already_active.push(id.clone()),
            DecisionStatus::Superseded | DecisionStatus::Overridden => {
                outcome.refused.push(PromotionRefusal { id: id.clone(), reason: retired(&before) });
            }
            DecisionStatus::Provisional => {
                let mut after = before.clone();
                move_to(&mut after, DecisionStatus::Active, by, "promoted", stamp);
                if after.extra.contains_key(CLASHES) {
                    // Whoever promotes it takes it as it reads now.
                    after.extra.insert(CLASHES.to_owned(), Value::Array(Vec::new()));
                }
                change.amendments.push(amendment(&before, &after)?);
                outcome.promoted.push(id.clone());
                promoted.push(after);
            }
        }
    }
    for decision in &promoted {
        let rivals = rivals(view, decision, &promoted)?;
        if !rivals.is_empty() {
            notices::still_contested(&mut change, view, decision, &rivals, stamp)?;
            outcome.contested.push(ContestedDecision { id: decision.id.clone(), rivals });
        }
    }
    notices::promoted(&mut change, view, &promoted, stamp)?;
    Ok((change, outcome))
}

/// Active decisions that disagree with a promoted one, and those that become
/// active beside it: the view still has these as provisional.
fn rivals(view: &View<'_>, decision: &Decision, promoted: &[Decision]) -> Result<Vec<Id>, StoreError> {
    let mut rivals = view.decisions().contesters(decision, &[DecisionStatus::Active], RIVALS_NAMED)?;
    rivals.extend(promoted.iter().filter(|other| disagree(decision, other, view.folding())).map(|other| other.id.clone()));
    rivals.sort_unstable();
    rivals.truncate(RIVALS_NAMED);
    Ok(rivals)
}
