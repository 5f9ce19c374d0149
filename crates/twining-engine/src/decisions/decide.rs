//! Deciding: one change that holds the decision, its links and its announcement.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Map;
use twining_model::{Change, CommitLink, Decision, DecisionStatus, Id, InvalidInput, limits, text};
use twining_store::{StoreError, View};

use crate::answer::is_zero;
use crate::caller::Stamp;
use crate::decisions::amend::{amendment, move_to};
use crate::decisions::{DecisionDraft, clauses, notices, unreadable};
use crate::failure::Failure;
use crate::hygiene::Redaction;
use crate::{graph, words};

/// Conflicts that are named one by one; the rest are counted. A decision about
/// the whole project may disagree with every other of its domain.
const CONFLICTS_NAMED: usize = 20;
/// Characters of a rival's reasons in the reply; its file has them whole.
const RATIONALE_SHOWN: usize = 2000;

/// An active decision that the new one disagrees with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conflict {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// What it governs.
    pub scope: String,
    /// Its reasons.
    pub rationale: String,
}

/// What was decided.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecideOutcome {
    /// The new decision.
    pub id: Id,
    /// When.
    pub timestamp: String,
    /// Provisional if it is in conflict.
    pub status: DecisionStatus,
    /// Active decisions it disagrees with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// Further conflicts, not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_conflicts: u64,
    /// The decision it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded: Option<Id>,
    /// What stays ruled out although the new decision drops it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub still_ruled_out: Option<String>,
    /// Secrets that were taken out before anything was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// Plans a decision, and names the active decisions it disagrees with.
pub fn plan_decide(view: &View<'_>, draft: &DecisionDraft, stamp: &Stamp<'_>) -> Result<(Change, DecideOutcome), Failure> {
    let old = match &draft.supersedes {
        Some(id) => Some(replaceable(view, id)?),
        None => None,
    };
    let mut change = Change::default();
    let mut decided = record(&mut change, view, draft, stamp)?;
    if let Some(old) = old {
        let dropped = change.decisions.last().map(|new| clauses::dropped(&old, new)).unwrap_or_default();
        decided.still_ruled_out = (!dropped.is_empty()).then(|| {
            format!("{} stays ruled out by {} until a person lifts it: `twining override {}`", dropped.join(", "), old.id, old.id)
        });
        let mut retired = old.clone();
        supersede(&mut retired, &decided.id, stamp);
        change.amendments.push(amendment(&old, &retired)?);
        notices::settle(&mut change, view, &retired, stamp)?;
    }
    Ok((change, decided))
}

/// Adds a decision to a change: the record, its graph links, its announcement,
/// and the warning if it is in conflict. What it supersedes is the caller's to amend.
pub(crate) fn record(change: &mut Change, view: &View<'_>, draft: &DecisionDraft, stamp: &Stamp<'_>) -> Result<DecideOutcome, Failure> {
    for id in &draft.depends_on {
        if !view.decisions().exists(id)? {
            return Err(missing(view, "depends_on", id)?.into());
        }
    }
    let mut rivals = view.decisions().rivals(&draft.domain, &draft.scope)?;
    rivals.retain(|rival| Some(&rival.id) != draft.supersedes.as_ref() && words::fold(&rival.summary) != draft.summary);
    rivals.sort_by(|a, b| b.id.cmp(&a.id));
    let omitted = rivals.len().saturating_sub(CONFLICTS_NAMED);
    rivals.truncate(CONFLICTS_NAMED);

    let status = if rivals.is_empty() { DecisionStatus::Active } else { DecisionStatus::Provisional };
    let decision = decision(draft, status, stamp);
    // Half of what a reader takes: later amendments need room too.
    words::fits("decision", &decision, limits::RECORD_BYTES / 2)?;
    graph::link_decision(change, view, &decision, stamp)?;
    notices::announce(change, &decision, stamp);
    if !rivals.is_empty() {
        notices::conflict(change, &decision, &rivals, omitted, stamp);
    }
    let decided = DecideOutcome {
        redacted: Vec::new(),
        id: decision.id.clone(),
        timestamp: decision.timestamp.clone(),
        status,
        conflicts: rivals.into_iter().map(conflict).collect(),
        omitted_conflicts: omitted as u64,
        superseded: draft.supersedes.clone(),
        still_ruled_out: None,
    };
    change.decisions.push(decision);
    Ok(decided)
}

/// Marks a decision as replaced. One that a person rejected stays rejected.
pub(crate) fn supersede(old: &mut Decision, by: &Id, stamp: &Stamp<'_>) {
    old.superseded_by = Some(by.to_string());
    if old.status < DecisionStatus::Superseded {
        move_to(old, DecisionStatus::Superseded, &stamp.caller.agent, &format!("superseded by {by}"), stamp);
    }
}

fn decision(draft: &DecisionDraft, status: DecisionStatus, stamp: &Stamp<'_>) -> Decision {
    let commits = draft.commit.iter().map(|hash| CommitLink { hash: hash.clone(), summary: None, linked_at: stamp.at, by: None });
    Decision {
        id: stamp.ids.next(),
        timestamp: stamp.at.to_string(),
        agent_id: stamp.caller.agent.clone(),
        domain: draft.domain.clone(),
        scope: draft.scope.to_string(),
        summary: draft.summary.clone(),
        context: draft.context.clone(),
        rationale: draft.rationale.clone(),
        constraints: draft.constraints.clone(),
        alternatives: draft.alternatives.clone(),
        depends_on: draft.depends_on.iter().map(Id::to_string).collect(),
        supersedes: draft.supersedes.as_ref().map(Id::to_string),
        superseded_by: None,
        confidence: draft.confidence,
        status,
        reversible: draft.reversible,
        affected_files: draft.affected_files.clone(),
        affected_symbols: draft.affected_symbols.clone(),
        commit_hashes: draft.commit.iter().cloned().collect(),
        commits: commits.collect(),
        overridden_by: None,
        override_reason: None,
        override_authority: None,
        history: Vec::new(),
        assembled_before: draft.assembled_before,
        origin: Some(stamp.caller.origin.clone()),
        extra: Map::new(),
    }
}

fn conflict(rival: Decision) -> Conflict {
    let rationale = words::shorten(&rival.rationale, RATIONALE_SHOWN);
    Conflict { id: rival.id, summary: rival.summary, scope: rival.scope, rationale }
}

/// The decision to be superseded. One that was superseded before is refused: two
/// successors of one decision would both stand, and neither know of the other.
fn replaceable(view: &View<'_>, id: &Id) -> Result<Decision, Failure> {
    let Some(old) = view.decisions().get(id)? else { return Err(missing(view, "supersedes", id)?.into()) };
    if old.status != DecisionStatus::Superseded {
        return Ok(old);
    }
    let successor = match &old.superseded_by {
        Some(by) => Some(text::excerpt(by, 40)),
        None => view.decisions().successors(id)?.first().map(Id::to_string),
    };
    let given = match successor {
        Some(by) => format!("it was superseded by {by}; supersede that one"),
        None => format!("`{id}` was superseded already"),
    };
    Err(InvalidInput::new("supersedes", "must name a decision that is not superseded yet").because(given).into())
}

fn missing(view: &View<'_>, field: &'static str, id: &Id) -> Result<InvalidInput, StoreError> {
    let refused = InvalidInput::new(field, "must name a decision that exists");
    Ok(match unreadable(view, id)? {
        Some(bad) => refused.because(format!("the file `{}` is there, but cannot be read: {}", bad.file, text::excerpt(&bad.why, 200))),
        None => refused.because(format!("there is no decision `{id}`")),
    })
}
