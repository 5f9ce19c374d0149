//! Overriding: a person rejects a decision, perhaps replacing it.
//!
//! Authority is not a string. The name of the overrider is recorded with how certain it is that a
//! person confirmed it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{Authority, Change, Decision, DecisionStatus, Id, InvalidInput, limits, text};
use twining_store::merge::CLASHES;
use twining_store::{StoreError, View};

use crate::caller::Stamp;
use crate::decisions::announcements;
use crate::decisions::decide::{amendment, move_to, record, supersede};
use crate::decisions::search::{disagree, find, retired};
use crate::failure::Failure;
use crate::fields;
use crate::secrets::{Redaction, redact_fields};

/// What to override, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverrideInput {
    /// Which decision
    pub decision_id: String,
    /// Why it is rejected
    pub reason: String,
    /// What to do instead, in one line
    pub new_decision: Option<String>,
    /// Who; default `human`
    pub overridden_by: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(OverrideInput { reason, new_decision, overridden_by });

/// What was overridden.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OverrideOutcome {
    /// Whether this call changed it.
    pub overridden: bool,
    /// The choice that was rejected.
    pub old_summary: String,
    /// Whether a person confirmed it.
    pub authority: Authority,
    /// Its replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Id>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// An override to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OverrideDraft {
    id: Id,
    reason: String,
    replacement: Option<String>,
    by: String,
    authority: Authority,
}

impl OverrideDraft {
    /// Validates every field. `authority` comes from the entry point, not from the input.
    pub(super) fn parse(input: &OverrideInput, authority: Authority) -> Result<Self, InvalidInput> {
        Ok(Self {
            id: fields::id("decision_id", &input.decision_id)?,
            reason: text::required("reason", &input.reason)?,
            replacement: fields::optional(
                "new_decision",
                input.new_decision.as_deref(),
                text::summary,
            )?,
            by: text::name("overridden_by", input.overridden_by.as_deref().unwrap_or("human"))?,
            authority,
        })
    }
}

/// The decision an override would reject, for asking a person to confirm. `None` if that would
/// change nothing: it is already confirmed.
pub(super) fn in_question(
    view: &View<'_>,
    draft: &OverrideDraft,
) -> Result<Option<Decision>, Failure> {
    let decision = find(view, &draft.id)?;
    let is_confirmed = decision.status == DecisionStatus::Overridden
        && decision.override_authority == Some(Authority::Confirmed);
    Ok((!is_confirmed).then_some(decision))
}

/// Plans the override. A decision that is overridden already is left as it is,
/// unless a person now confirms what an agent only claimed.
pub(super) fn plan_override(
    view: &View<'_>,
    draft: &OverrideDraft,
    stamp: &Stamp<'_>,
) -> Result<(Change, OverrideOutcome), Failure> {
    let before = find(view, &draft.id)?;
    let mut after = before.clone();
    let mut change = Change::default();

    let known = before.override_authority.unwrap_or(Authority::Claimed);
    let overridden = before.status != DecisionStatus::Overridden || draft.authority > known;
    if overridden {
        after.overridden_by = Some(draft.by.clone());
        after.override_reason = Some(draft.reason.clone());
        after.override_authority = Some(draft.authority);
        move_to(&mut after, DecisionStatus::Overridden, &draft.by, &draft.reason, stamp);
    }
    let replacement = match &draft.replacement {
        Some(summary) => {
            Some(record(&mut change, view, &replacing(&before, summary, draft), stamp)?.id)
        }
        None => None,
    };
    if let Some(id) = &replacement {
        supersede(&mut after, id, stamp);
    }
    if overridden {
        announcements::overridden(
            &mut change,
            &after,
            draft.authority,
            replacement.as_ref(),
            stamp,
        );
    }
    if draft.authority == Authority::Confirmed {
        announcements::settle(&mut change, view, &after, stamp)?;
    }
    if after != before {
        change.amendments.push(amendment(&before, &after)?);
    }
    let authority = after.override_authority.unwrap_or(draft.authority);
    Ok((
        change,
        OverrideOutcome {
            overridden,
            old_summary: before.summary,
            authority,
            replacement,
            redacted: Vec::new(),
        },
    ))
}

/// The decision in place of the rejected one: its domain and scope, the
/// override's reason.
fn replacing(old: &Decision, summary: &str, draft: &OverrideDraft) -> Decision {
    Decision {
        domain: old.domain.clone(),
        scope: old.scope.clone(),
        summary: summary.to_owned(),
        context: draft.reason.clone(),
        rationale: draft.reason.clone(),
        supersedes: Some(old.id.to_string()),
        reversible: true,
        ..Decision::default()
    }
}

/// Rivals that are named.
const RIVALS_NAMED: usize = 20;

/// What to promote, as given by the caller.
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
    /// Promoted, but in conflict with active ones; the conflict warning stays open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested: Vec<ContestedDecision>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Plans the promotions. An unknown id stops all of them: a list with a typo in
/// it is not what the caller meant.
pub(super) fn plan_promote(
    view: &View<'_>,
    ids: &[Id],
    by: &str,
    stamp: &Stamp<'_>,
) -> Result<(Change, PromoteOutcome), Failure> {
    let mut change = Change::default();
    let mut outcome = PromoteOutcome::default();
    let mut promoted: Vec<Decision> = Vec::new();
    for id in ids {
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
                    // Promoting accepts the current text.
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
            announcements::still_contested(&mut change, view, decision, &rivals, stamp)?;
            outcome.contested.push(ContestedDecision { id: decision.id.clone(), rivals });
        }
    }
    announcements::promoted(&mut change, view, &promoted, stamp)?;
    Ok((change, outcome))
}

/// Active decisions that disagree with a promoted one, and those that become
/// active beside it: the view still has these as provisional.
fn rivals(
    view: &View<'_>,
    decision: &Decision,
    promoted: &[Decision],
) -> Result<Vec<Id>, StoreError> {
    let mut rivals =
        view.decisions().contesters(decision, &[DecisionStatus::Active], RIVALS_NAMED)?;
    rivals.extend(
        promoted
            .iter()
            .filter(|other| disagree(decision, other, view.folding()))
            .map(|other| other.id.clone()),
    );
    rivals.sort_unstable();
    rivals.truncate(RIVALS_NAMED);
    Ok(rivals)
}

/// What to reconsider, as given by the caller.
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
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Plans the doubt: an active decision becomes provisional, with a warning on the blackboard. One
/// out of force is unchanged. Dependent decisions are named but left alone; changing them unasked
/// would surprise those who rely on them.
pub(super) fn plan_reconsider(
    view: &View<'_>,
    id: &Id,
    why: &str,
    stamp: &Stamp<'_>,
) -> Result<(Change, ReconsiderOutcome), Failure> {
    let before = find(view, id)?;
    let mut dependents = view.decisions().dependents(id)?;
    dependents.retain(|other| other != id);
    let mut change = Change::default();
    let flagged = before.status == DecisionStatus::Active;
    if flagged {
        let mut after = before.clone();
        move_to(&mut after, DecisionStatus::Provisional, &stamp.caller.agent, why, stamp);
        change.amendments.push(amendment(&before, &after)?);
    }
    // A warning about one that is out of force would stay open for good: no
    // promotion or override is left to settle it.
    let note =
        (!before.status.binds()).then(|| format!("nothing to reconsider: {}", retired(&before)));
    if note.is_none() {
        announcements::reconsider(&mut change, &before, why, &dependents, stamp);
    }
    dependents.truncate(limits::WALK_NODES);
    Ok((
        change,
        ReconsiderOutcome {
            flagged,
            decision_summary: before.summary,
            dependents,
            note,
            redacted: Vec::new(),
        },
    ))
}
