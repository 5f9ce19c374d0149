//! What was settled lately: by whom, how and why.

use twining_model::{
    Decision, DecisionStatus, Entry, EntryType, Scope, Time, Trace, Trust, limits,
};
use twining_store::{EntryFilter, View};

use super::answers::href;
use super::inbox::{Inbox, outcome};
use super::item::{
    Gravity, Settled, WaitingCount, WaitingItem, WaitingKind, WaitingOutcome, WaitingSubject,
};
use crate::failure::Failure;
use crate::fields::{self, DAY_MS};
use crate::learning::{discard_text, promotion_text};

/// How far back is looked.
const DAYS: i64 = 30;

/// The tags of entries that say how something was settled.
const DISMISSED: &str = "dismissed";
const HANDOFF: &str = "handoff";
const CLAIM: &str = "claim";

/// What was settled in the last 30 days, the newest first; of very many, the newest 500 of each
/// source.
pub(super) fn settled(
    inbox: Inbox<'_>,
    kinds: &[WaitingKind],
    scope: &Scope,
    (offset, limit): (usize, usize),
) -> Result<WaitingOutcome, Failure> {
    let view = inbox.view;
    let since = fields::earlier(view.now(), DAYS * DAY_MS);
    let mut found = Vec::new();
    for decision in view.decisions().rejected_since(since, limits::PAGE)? {
        found.extend(of_decision(&decision, DecisionStatus::Overridden));
    }
    for decision in view.decisions().promoted_since(since, limits::PAGE)? {
        found.extend(of_decision(&decision, DecisionStatus::Active));
    }
    for entry in closers(view, since)? {
        found.extend(of_closer(view, &entry)?);
    }
    if kinds.contains(&WaitingKind::ProposedGuard) {
        inbox.engine.store().traces().each(&mut |stored| {
            let trace = Trace::read(stored.line).filter(|trace| is_since(trace, since));
            found.extend(trace.and_then(|trace| of_guard(&trace)));
            true
        })?;
    }
    let is_inside = |item: &WaitingItem| {
        let inside = item.scope.as_deref().map(Scope::read);
        inside.is_some_and(|inside| scope.covers(&inside, view.folding()))
    };
    found.retain(|item| kinds.contains(&item.kind) && is_inside(item));
    found.sort_by(|a, b| settled_at(b).cmp(settled_at(a)).then_with(|| a.id.cmp(&b.id)));
    let of_kind = |kind: WaitingKind| found.iter().filter(|item| item.kind == kind).count() as u64;
    let counts = kinds.iter().map(|kind| WaitingCount { kind: *kind, count: of_kind(*kind) });
    let counts = counts.filter(|counted| counted.count > 0).collect();
    let total = found.len() as u64;
    Ok(outcome(found.into_iter().skip(offset).take(limit).collect(), counts, total, offset))
}

fn settled_at(item: &WaitingItem) -> &str {
    item.settled.as_ref().map_or("", |settled| settled.at.as_str())
}

/// How a decision came to its status.
fn of_decision(decision: &Decision, status: DecisionStatus) -> Option<WaitingItem> {
    let change = decision.history.iter().rev().find(|change| change.status == status)?;
    let how = match status {
        DecisionStatus::Overridden => "overridden",
        _ => "put in force",
    };
    // The history has the beginning of a reason.
    let whole = decision.override_reason.clone().filter(|_| status == DecisionStatus::Overridden);
    Some(item(
        WaitingKind::Contested,
        (decision.id.as_str(), "d"),
        &decision.summary,
        &decision.scope,
        &decision.agent_id,
        Settled {
            by: change.by.clone(),
            at: change.at.to_string(),
            how: how.to_owned(),
            reason: Some(whole.unwrap_or_else(|| change.reason.clone())),
        },
    ))
}

/// The newest entries that may have settled something.
fn closers(view: &View<'_>, since: Time) -> Result<Vec<Entry>, Failure> {
    let filter = EntryFilter {
        types: vec!["answer".to_owned(), "status".to_owned()],
        since: Some(since),
        ..EntryFilter::default()
    };
    Ok(view.entries().newest(&filter, limits::PAGE)?.items)
}

/// What an entry settled: questions and needs, a handoff, another agent's claim.
fn of_closer(view: &View<'_>, closer: &Entry) -> Result<Vec<WaitingItem>, Failure> {
    let tagged = |word: &str| closer.tags.iter().any(|tag| tag == word);
    let settled = |how: &str| Settled {
        by: closer.agent_id.clone(),
        at: closer.timestamp.clone(),
        how: how.to_owned(),
        reason: Some(closer.summary.clone()),
    };
    let own = |kind: WaitingKind, id: &str, how: &str| {
        item(kind, (id, "e"), &closer.summary, &closer.scope, &closer.agent_id, settled(how))
    };
    if tagged(CLAIM) {
        return Ok(vec![own(WaitingKind::StaleClaim, &closer.id, "released")]);
    }
    if tagged(HANDOFF) {
        let handoff = closer.relates_to.first().unwrap_or(&closer.id);
        return Ok(vec![own(WaitingKind::Handoff, handoff, "taken over")]);
    }
    let mut found = Vec::new();
    for id in &closer.relates_to {
        let Some(entry) = view.entries().get(id)? else { continue };
        let (kind, how) = match entry.kind() {
            Some(EntryType::Question) => (WaitingKind::Question, "answered"),
            Some(EntryType::Need) => (WaitingKind::Need, "met"),
            _ => continue,
        };
        let how = if tagged(DISMISSED) { "dismissed" } else { how };
        let about = (entry.id.as_str(), "e");
        found.push(item(kind, about, &entry.summary, &entry.scope, &entry.agent_id, settled(how)));
    }
    Ok(found)
}

fn is_since(trace: &Trace, since: Time) -> bool {
    Time::read(&trace.timestamp).is_some_and(|at| at >= since)
}

/// What a person did with a proposed guard.
fn of_guard(trace: &Trace) -> Option<WaitingItem> {
    let guard = trace.guard.as_deref()?;
    let said = trace.event.what_happened.as_str();
    let how = [(promotion_text(guard), "promoted"), (discard_text(guard), "discarded")];
    let (_, how) = how.iter().find(|(text, _)| text == said)?;
    trace.origin.as_ref().filter(|origin| origin.trust == Trust::Human)?;
    Some(item(
        WaitingKind::ProposedGuard,
        (&trace.id, "t"),
        &format!("The guard {guard}"),
        "project",
        &trace.context.agent,
        Settled {
            by: trace.context.agent.clone(),
            at: trace.timestamp.clone(),
            how: (*how).to_owned(),
            reason: Some(trace.event.why.clone()).filter(|why| !why.is_empty()),
        },
    ))
}

fn item(
    kind: WaitingKind,
    (id, page): (&str, &str),
    summary: &str,
    scope: &str,
    by: &str,
    settled: Settled,
) -> WaitingItem {
    WaitingItem {
        id: format!("{}:{id}", kind.as_str()),
        kind,
        title: summary.to_owned(),
        why_you: format!("It was {} by {}.", settled.how, settled.by),
        since: None,
        scope: Some(scope.to_owned()),
        by: Some(by.to_owned()),
        gravity: Gravity::Minor,
        subjects: vec![WaitingSubject {
            id: id.to_owned(),
            summary: summary.to_owned(),
            detail: None,
            by: Some(by.to_owned()),
            status: None,
            rests_on_it: None,
            href: href(page, id),
        }],
        answers: Vec::new(),
        href: href(page, id),
        settled: Some(settled),
    }
}
