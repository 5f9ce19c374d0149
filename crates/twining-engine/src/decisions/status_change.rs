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

use crate::caller::{Caller, Stamp};
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
    /// Further decisions that are rejected with it
    #[serde(default)]
    pub also: Vec<String>,
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
    /// What has to be done before a person can confirm it from here.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
    /// Its replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Id>,
    /// Further decisions that this call changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_overridden: Vec<Id>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// An override to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OverrideDraft {
    id: Id,
    also: Vec<Id>,
    replacement: Option<String>,
    rejection: Rejection,
}

/// Why a decision is rejected, by whom, and how certain it is that a person wants it.
#[derive(Clone, Debug, PartialEq)]
struct Rejection {
    reason: String,
    by: String,
    authority: Authority,
}

impl OverrideDraft {
    /// Validates every field. `authority` comes from the entry point, not from the input.
    pub(super) fn parse(
        input: &OverrideInput,
        caller: &Caller,
        authority: Authority,
    ) -> Result<Self, InvalidInput> {
        let by = input.overridden_by.as_deref().or(caller.person()).unwrap_or("human");
        let id = fields::id("decision_id", &input.decision_id)?;
        let mut also = fields::decision_ids("also", &input.also)?;
        also.retain(|other| *other != id);
        Ok(Self {
            id,
            also,
            replacement: fields::optional(
                "new_decision",
                input.new_decision.as_deref(),
                text::summary,
            )?,
            rejection: Rejection {
                reason: text::required("reason", &input.reason)?,
                by: text::name("overridden_by", by)?,
                authority,
            },
        })
    }

    /// The decisions that it rejects.
    pub(super) fn rejected(&self) -> Vec<Id> {
        [std::slice::from_ref(&self.id), &self.also].concat()
    }
}

/// The decision an override would reject, for asking a person to confirm. `None` if that would
/// change nothing: it is already confirmed.
pub(super) fn in_question(view: &View<'_>, id: &Id) -> Result<Option<Decision>, Failure> {
    let decision = find(view, id)?;
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
    let mut change = Change::default();
    let replacement = match &draft.replacement {
        Some(summary) => {
            let new = replacing(&before, summary, &draft.rejection.reason);
            Some(record(&mut change, view, &new, &draft.also, stamp)?.id)
        }
        None => None,
    };
    let mut rejected = RejectedDecisions::default();
    for id in std::iter::once(&draft.id).chain(&draft.also) {
        rejected.add(&mut change, view, (id, &draft.rejection), replacement.as_ref(), stamp)?;
    }
    if draft.rejection.authority == Authority::Confirmed {
        announcements::settle(&mut change, view, &rejected.after, stamp)?;
    }
    let authority = rejected.after[0].override_authority.unwrap_or(draft.rejection.authority);
    let overridden = rejected.changed.contains(&draft.id);
    rejected.changed.retain(|id| *id != draft.id);
    Ok((
        change,
        OverrideOutcome {
            overridden,
            old_summary: before.summary,
            authority,
            hint: None,
            replacement,
            also_overridden: rejected.changed,
            redacted: Vec::new(),
        },
    ))
}

/// Decisions that one change rejects.
#[derive(Default)]
struct RejectedDecisions {
    /// As they are afterwards.
    after: Vec<Decision>,
    /// Those that were not rejected before, or not by a person.
    changed: Vec<Id>,
}

impl RejectedDecisions {
    /// Plans that a decision is rejected, announces it, and warns of what rests on it.
    fn add(
        &mut self,
        change: &mut Change,
        view: &View<'_>,
        (id, rejection): (&Id, &Rejection),
        replacement: Option<&Id>,
        stamp: &Stamp<'_>,
    ) -> Result<(), Failure> {
        let before = find(view, id)?;
        let mut after = before.clone();
        let known = before.override_authority.unwrap_or(Authority::Claimed);
        let is_new = before.status != DecisionStatus::Overridden || rejection.authority > known;
        if is_new {
            after.overridden_by = Some(rejection.by.clone());
            after.override_reason = Some(rejection.reason.clone());
            after.override_authority = Some(rejection.authority);
            move_to(
                &mut after,
                DecisionStatus::Overridden,
                &rejection.by,
                &rejection.reason,
                stamp,
            );
        }
        if let Some(id) = replacement {
            supersede(&mut after, id, stamp);
        }
        if is_new {
            announcements::overridden(change, &after, rejection.authority, replacement, stamp);
            let dependents = binding_dependents(view, id)?;
            if before.status.binds() && !dependents.is_empty() {
                announcements::dependents(change, &after, &dependents, stamp);
            }
            self.changed.push(id.clone());
        }
        if after != before {
            change.amendments.push(amendment(&before, &after)?);
        }
        self.after.push(after);
        Ok(())
    }
}

/// Decisions in force that rest on this one.
pub(crate) fn binding_dependents(view: &View<'_>, id: &Id) -> Result<Vec<Decision>, StoreError> {
    let mut found = Vec::new();
    for other in view.decisions().dependents(id)?.into_iter().take(limits::LIST) {
        found.extend(view.decisions().get(&other)?.filter(|other| other.status.binds()));
    }
    found.retain(|other| other.id != *id);
    Ok(found)
}

/// The decision in place of the rejected one: its domain and scope, the
/// override's reason.
fn replacing(old: &Decision, summary: &str, reason: &str) -> Decision {
    Decision {
        domain: old.domain.clone(),
        scope: old.scope.clone(),
        summary: summary.to_owned(),
        context: reason.to_owned(),
        rationale: reason.to_owned(),
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
    /// Rivals to override in the same step; needs `reason`
    #[serde(default)]
    pub instead_of: Vec<String>,
    /// Why these
    pub reason: Option<String>,
    /// Who
    pub promoted_by: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(PromoteInput { reason, promoted_by });

/// A decision that cannot be promoted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PromotionRefusal {
    /// Its id.
    pub id: Id,
    /// Why not.
    pub reason: String,
}

/// A decision in force, and active ones that disagree with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DecisionRivals {
    /// Its id.
    pub id: Id,
    /// Those that disagree with it, at most 20.
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
    /// In conflict with active ones: no reason was given to keep them side by side.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested: Vec<DecisionRivals>,
    /// Kept beside active ones, for the reason given; they are rivals no more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept_beside: Vec<DecisionRivals>,
    /// Rivals that this call overrode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<Id>,
    /// Whether a person confirmed that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<Authority>,
    /// What has to be done before a person can confirm it from here.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A promotion to be, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PromoteDraft {
    ids: Vec<Id>,
    pub(super) instead_of: Vec<Id>,
    reason: Option<String>,
    by: String,
    authority: Authority,
}

impl PromoteDraft {
    /// Validates every field. `authority` comes from the entry point, not from the input.
    pub(super) fn parse(
        input: &PromoteInput,
        caller: &Caller,
        authority: Authority,
    ) -> Result<Self, InvalidInput> {
        let ids = fields::decision_ids("decision_ids", &input.decision_ids)?;
        if ids.is_empty() {
            return Err(InvalidInput::new("decision_ids", "must name at least one decision"));
        }
        let instead_of = fields::decision_ids("instead_of", &input.instead_of)?;
        if let Some(both) = instead_of.iter().find(|id| ids.contains(id)) {
            return Err(InvalidInput::new("instead_of", "must not name a decision to promote")
                .because(format!("`{both}` is in both lists")));
        }
        let reason = fields::optional("reason", input.reason.as_deref(), text::required)?;
        if !instead_of.is_empty() && reason.is_none() {
            let rule = "is required to override rivals";
            return Err(InvalidInput::new("reason", rule));
        }
        let by = fields::optional("promoted_by", input.promoted_by.as_deref(), text::name)?;
        let by = by.unwrap_or_else(|| caller.agent.clone());
        Ok(Self { ids, instead_of, reason, by, authority })
    }

    /// The decisions whose status it is about.
    pub(super) fn settled(&self) -> Vec<Id> {
        [&self.ids[..], &self.instead_of].concat()
    }

    /// Whether all are to stay side by side: who says why, and overrides none, wants that.
    fn keeps_all(&self) -> bool {
        self.reason.is_some() && self.instead_of.is_empty()
    }
}

/// Plans the promotions, and that rivals are overridden. An unknown id stops all of them: a
/// list with a typo in it is not what the caller meant.
pub(super) fn plan_promote(
    view: &View<'_>,
    draft: &PromoteDraft,
    stamp: &Stamp<'_>,
) -> Result<(Change, PromoteOutcome), Failure> {
    let mut change = Change::default();
    let mut outcome = PromoteOutcome::default();
    let (mut unsettled, mut settled): (Vec<Decision>, Vec<Decision>) = Default::default();
    for id in &draft.ids {
        let before = find(view, id)?;
        let mut after = before.clone();
        match before.status {
            DecisionStatus::Active if is_to_confirm(view, &before, draft)? => {
                outcome.already_active.push(id.clone());
            }
            DecisionStatus::Active => {
                outcome.already_active.push(id.clone());
                continue;
            }
            DecisionStatus::Provisional => outcome.promoted.push(id.clone()),
            _ if !draft.instead_of.is_empty() => {
                let rule = "must name decisions in force if rivals are overridden";
                return Err(InvalidInput::new("decision_ids", rule)
                    .because(format!("`{id}`: {}", retired(&before)))
                    .into());
            }
            DecisionStatus::Superseded | DecisionStatus::Overridden => {
                outcome.refused.push(PromotionRefusal { id: id.clone(), reason: retired(&before) });
                continue;
            }
        }
        let reason = draft.reason.as_deref().unwrap_or("promoted");
        move_to(&mut after, DecisionStatus::Active, &draft.by, reason, stamp);
        if after.extra.contains_key(CLASHES) {
            // Promoting accepts the current text.
            after.extra.insert(CLASHES.to_owned(), Value::Array(Vec::new()));
        }
        unsettled.push(before);
        settled.push(after);
    }
    let mut rejected = RejectedDecisions::default();
    if let Some(reason) = draft.reason.clone().filter(|_| !draft.instead_of.is_empty()) {
        let rejection = Rejection { reason, by: draft.by.clone(), authority: draft.authority };
        for id in &draft.instead_of {
            rejected.add(&mut change, view, (id, &rejection), None, stamp)?;
        }
        outcome.authority = Some(draft.authority);
        outcome.overridden = std::mem::take(&mut rejected.changed);
    }
    let rivals_of = |decision| rivals(view, decision, &settled, &draft.instead_of);
    let rivals = settled.iter().map(rivals_of).collect::<Result<Vec<_>, _>>()?;
    for ((before, after), rivals) in unsettled.iter().zip(&mut settled).zip(rivals) {
        let named = DecisionRivals {
            id: after.id.clone(),
            rivals: rivals.iter().take(RIVALS_NAMED).cloned().collect(),
        };
        if draft.keeps_all() && !rivals.is_empty() {
            after.compatible_with.extend(rivals.iter().map(Id::to_string));
            outcome.kept_beside.push(named);
        } else if !rivals.is_empty() {
            announcements::still_contested(&mut change, view, after, &named.rivals, stamp)?;
            outcome.contested.push(named);
        }
        change.amendments.push(amendment(before, after)?);
    }
    announcements::promoted(&mut change, view, &settled, draft.keeps_all(), stamp)?;
    if draft.authority == Authority::Confirmed {
        announcements::settle(&mut change, view, &rejected.after, stamp)?;
    }
    Ok((change, outcome))
}

/// Whether an active decision is contested, and is now to be kept beside its rivals.
fn is_to_confirm(
    view: &View<'_>,
    decision: &Decision,
    draft: &PromoteDraft,
) -> Result<bool, StoreError> {
    let in_force = [DecisionStatus::Active];
    Ok(draft.keeps_all() && !view.decisions().contesters(decision, &in_force, 1)?.is_empty())
}

/// Active decisions that disagree with a promoted one, and those that become
/// active beside it: the view still has these as provisional. Not those it is promoted
/// instead of.
fn rivals(
    view: &View<'_>,
    decision: &Decision,
    promoted: &[Decision],
    instead_of: &[Id],
) -> Result<Vec<Id>, StoreError> {
    let mut rivals = view.decisions().contesters(
        decision,
        &[DecisionStatus::Active],
        limits::LIST + instead_of.len(),
    )?;
    rivals.retain(|id| !instead_of.contains(id));
    rivals.extend(
        promoted
            .iter()
            .filter(|other| disagree(decision, other, view.folding()))
            .map(|other| other.id.clone()),
    );
    rivals.sort_unstable();
    rivals.dedup();
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
