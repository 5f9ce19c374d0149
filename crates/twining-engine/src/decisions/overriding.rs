//! Overriding: a person rejects a decision, perhaps with another in its place.
//!
//! Authority is not a string. Who is named as the overrider is recorded beside
//! how sure we are that a person stands behind it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Authority, Change, Confidence, Decision, DecisionStatus, Id, InvalidInput, Scope, text};
use twining_store::View;

use crate::caller::Stamp;
use crate::decisions::amend::{amendment, move_to};
use crate::decisions::decide::{record, supersede};
use crate::decisions::{DecisionDraft, find, notices};
use crate::failure::Failure;
use crate::hygiene::{Redaction, redact_fields};

/// What to override, in the caller's words.
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
    /// The decision in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Id>,
    /// Secrets that were taken out before anything was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// An override to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct OverrideDraft {
    id: Id,
    reason: String,
    replacement: Option<String>,
    by: String,
    authority: Authority,
}

impl OverrideDraft {
    /// Checks every word. `authority` is what the rim knows, not what was said.
    pub fn parse(input: &OverrideInput, authority: Authority) -> Result<Self, InvalidInput> {
        Ok(Self {
            id: Id::parse("decision_id", input.decision_id.trim())?,
            reason: text::required("reason", &input.reason)?,
            replacement: input.new_decision.as_deref().map(|summary| text::summary("new_decision", summary)).transpose()?,
            by: text::name("overridden_by", input.overridden_by.as_deref().unwrap_or("human"))?,
            authority,
        })
    }
}

/// The decision an override would reject, for whoever asks a person about it.
/// None where their word would change nothing: they gave it before.
pub fn in_question(view: &View<'_>, draft: &OverrideDraft) -> Result<Option<Decision>, Failure> {
    let decision = find(view, &draft.id)?;
    let is_confirmed = decision.status == DecisionStatus::Overridden && decision.override_authority == Some(Authority::Confirmed);
    Ok((!is_confirmed).then_some(decision))
}

/// Plans the override. A decision that is overridden already is left as it is,
/// unless a person now confirms what an agent only claimed.
pub fn plan_override(view: &View<'_>, draft: &OverrideDraft, stamp: &Stamp<'_>) -> Result<(Change, OverrideOutcome), Failure> {
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
        Some(summary) => Some(record(&mut change, view, &replacing(&before, summary, draft), stamp)?.id),
        None => None,
    };
    if let Some(id) = &replacement {
        supersede(&mut after, id, stamp);
    }
    if overridden {
        notices::overridden(&mut change, &after, draft.authority, replacement.as_ref(), stamp);
    }
    if draft.authority == Authority::Confirmed {
        notices::settle(&mut change, view, &after, stamp)?;
    }
    if after != before {
        change.amendments.push(amendment(&before, &after)?);
    }
    let authority = after.override_authority.unwrap_or(draft.authority);
    Ok((change, OverrideOutcome { overridden, old_summary: before.summary, authority, replacement, redacted: Vec::new() }))
}

/// The decision in place of the rejected one: its domain and scope, the
/// override's reason.
fn replacing(old: &Decision, summary: &str, draft: &OverrideDraft) -> DecisionDraft {
    DecisionDraft {
        domain: old.domain.clone(),
        scope: Scope::read(&old.scope),
        summary: summary.to_owned(),
        context: draft.reason.clone(),
        rationale: draft.reason.clone(),
        constraints: Vec::new(),
        alternatives: Vec::new(),
        depends_on: Vec::new(),
        supersedes: Some(old.id.clone()),
        confidence: Confidence::default(),
        reversible: true,
        affected_files: Vec::new(),
        affected_symbols: Vec::new(),
        commit: None,
        assembled_before: None,
    }
}
