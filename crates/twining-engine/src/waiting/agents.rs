//! What agents left behind: claims of those that are gone, and handoffs nobody took.

use serde_json::json;
use twining_model::{Claim, Time, limits};

use super::answers::{href, quoted};
use super::inbox::{Inbox, Pending};
use super::item::{Gravity, WaitingAnswer, WaitingItem, WaitingKind, WaitingSubject};
use crate::agents::{self, AgentLiveness, HandoffSummary, current_claims, last_call};
use crate::failure::Failure;
use crate::fields;

/// Claims whose holder has not called for long.
pub(super) fn stale_claims(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let store = inbox.engine.store();
    let agent_files = store.documents().agents()?;
    let liveness = store.config()?.agents.liveness;
    let mut found = Vec::new();
    for claim in current_claims(&agent_files, inbox.view.now()) {
        let last = last_call(&agent_files, &claim.agent_id).max(Time::read(&claim.since));
        if AgentLiveness::of(last, inbox.view.now(), liveness) == AgentLiveness::Gone {
            let scope = claim.paths.first().cloned().unwrap_or_else(|| "project".to_owned());
            found.push(Pending::new(last, Some(scope.clone()), move || {
                Ok(stale_claim(&claim, last, &scope))
            }));
        }
    }
    Ok(found)
}

fn stale_claim(claim: &Claim, last: Option<Time>, scope: &str) -> WaitingItem {
    let held: Vec<&str> = claim.feature.iter().chain(&claim.paths).map(String::as_str).collect();
    let held = fields::some_names(held.into_iter());
    let who = &claim.agent_id;
    // By path: a claim on a feature alone has none.
    let input = match &claim.feature {
        Some(feature) if claim.paths.is_empty() => json!({"action": "release", "feature": feature}),
        _ => json!({"action": "release", "paths": claim.paths}),
    };
    let release = WaitingAnswer::call(
        "Release",
        "claim",
        input,
        format!("{held} is free for other agents, and {who} is told on the blackboard."),
    );
    WaitingItem {
        id: format!("{}:{}", WaitingKind::StaleClaim.as_str(), claim.id),
        kind: WaitingKind::StaleClaim,
        title: format!("{who} holds {held} and is gone"),
        why_you: format!("Until {}, no other agent may edit there.", claim.until),
        since: last.map(|last| last.to_string()),
        scope: Some(scope.to_owned()),
        by: Some(who.clone()),
        gravity: Gravity::Minor,
        subjects: vec![WaitingSubject {
            id: claim.id.clone(),
            summary: held,
            detail: Some(claim.reason.clone()),
            by: Some(who.clone()),
            status: None,
            rests_on_it: None,
            href: href("a", who),
        }],
        answers: vec![release],
        href: href("a", who),
        settled: None,
    }
}

/// Handoffs that nobody acknowledged.
pub(super) fn open_handoffs(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let agent_files = inbox.engine.store().documents().agents()?;
    let open = agents::open_handoffs(&agent_files, limits::HANDOFFS, |_| true)?;
    let pending = open.into_iter().map(|handoff| {
        let since = Time::read(&handoff.created_at);
        Pending::new(since, Some(handoff.scope.clone()), move || Ok(open_handoff(&handoff)))
    });
    Ok(pending.collect())
}

fn open_handoff(handoff: &HandoffSummary) -> WaitingItem {
    let (source, target) = (&handoff.source_agent, handoff.target_agent.as_deref());
    let instead = target.map_or_else(String::new, |target| format!(", not by {target}"));
    let then = format!("{} counts as taken over by you{instead}.", quoted(&handoff.summary));
    let input = json!({"handoff_id": handoff.id});
    WaitingItem {
        id: format!("{}:{}", WaitingKind::Handoff.as_str(), handoff.id),
        kind: WaitingKind::Handoff,
        title: handoff.summary.clone(),
        why_you: match target {
            Some(target) => format!("{source} handed it over to {target}, who has not taken it."),
            None => format!("{source} handed it over, and nobody has taken it."),
        },
        since: Some(handoff.created_at.clone()),
        scope: Some(handoff.scope.clone()),
        by: Some(source.clone()),
        gravity: Gravity::Minor,
        subjects: vec![WaitingSubject {
            id: handoff.id.clone(),
            summary: handoff.summary.clone(),
            detail: None,
            by: Some(source.clone()),
            status: None,
            rests_on_it: None,
            href: href("a", source),
        }],
        answers: vec![WaitingAnswer::call("Take it over", "acknowledge", input, then)],
        href: href("a", source),
        settled: None,
    }
}
