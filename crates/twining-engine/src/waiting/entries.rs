//! Questions and needs that nobody answered.

use std::collections::HashSet;

use serde_json::json;
use twining_model::{Entry, EntryType, Scope, Time};
use twining_store::View;

use super::answers::{href, quoted};
use super::inbox::Inbox;
use super::item::{Gravity, WaitingAnswer, WaitingItem, WaitingKind, WaitingSubject};
use super::work;
use crate::failure::Failure;
use crate::fields;

/// How long other agents have to answer before a person is asked.
const ANSWER_TIMEOUT_MS: i64 = 10 * 60 * 1000;
/// Characters of a detail.
const DETAIL: usize = 600;

/// What was posted before this waits for a person.
pub(super) fn old_enough(view: &View<'_>) -> Time {
    fields::earlier(view.now(), ANSWER_TIMEOUT_MS)
}

/// Open entries of this kind that a blocked feature stands for already.
pub(super) fn of_blocked_features(
    inbox: Inbox<'_>,
    kind: EntryType,
    scope: &Scope,
) -> Result<HashSet<String>, Failure> {
    let mut found = HashSet::new();
    let needs = work::blocked(inbox.engine).into_iter().filter_map(|feature| feature.need);
    for id in needs.filter(|_| kind == EntryType::Need) {
        let entries = inbox.view.entries();
        let Some(entry) = entries.get(&id)?.filter(|entry| entry.kind() == Some(kind)) else {
            continue;
        };
        let is_old = Time::read(&entry.timestamp).is_some_and(|at| at < old_enough(inbox.view));
        if is_old
            && entries.is_open(&id)?
            && scope.covers(&Scope::read(&entry.scope), inbox.view.folding())
        {
            found.insert(id);
        }
    }
    Ok(found)
}

/// One page of them, the longest waiting first.
pub(super) fn page(
    inbox: Inbox<'_>,
    kind: EntryType,
    scope: &Scope,
    besides: &HashSet<String>,
    (offset, limit): (usize, usize),
) -> Result<Vec<WaitingItem>, Failure> {
    // Those that are left out may be anywhere before the page, and on it.
    let wanted = if besides.is_empty() {
        (offset, limit)
    } else {
        (0, offset.saturating_add(limit).saturating_add(besides.len()))
    };
    let skipped = if besides.is_empty() { 0 } else { offset };
    let found = inbox.view.entries().open_before(kind, scope, old_enough(inbox.view), wanted)?;
    let kept = found.into_iter().filter(|entry| !besides.contains(&entry.id));
    Ok(kept.skip(skipped).take(limit).map(|entry| item(kind, entry)).collect())
}

fn item(kind: EntryType, entry: Entry) -> WaitingItem {
    let (kind, why_you, answer) = match kind {
        EntryType::Question => (
            WaitingKind::Question,
            "No agent answered it within 10 minutes.",
            WaitingAnswer::call(
                "Answer",
                "post",
                json!({"entry_type": "answer", "scope": entry.scope, "relates_to": [entry.id]}),
                "Your answer is on the blackboard, and the question is closed.".to_owned(),
            ),
        ),
        _ => (
            WaitingKind::Need,
            "No agent met it within 10 minutes.",
            WaitingAnswer::call(
                "It is done",
                "post",
                json!({"entry_type": "status", "scope": entry.scope, "relates_to": [entry.id]}),
                "Your words are on the blackboard, and the need is closed.".to_owned(),
            ),
        ),
    };
    let dismiss = WaitingAnswer::call(
        "Dismiss",
        "dismiss",
        json!({"ids": [entry.id]}),
        format!("{} is closed, and your reason is kept.", quoted(&entry.summary)),
    );
    let detail = Some(fields::shorten(&entry.detail, DETAIL)).filter(|text| !text.is_empty());
    WaitingItem {
        id: format!("{}:{}", kind.as_str(), entry.id),
        kind,
        title: entry.summary.clone(),
        why_you: why_you.to_owned(),
        since: Some(entry.timestamp.clone()),
        scope: Some(entry.scope.clone()),
        by: Some(entry.agent_id.clone()),
        gravity: Gravity::Open,
        subjects: vec![WaitingSubject {
            id: entry.id.clone(),
            summary: entry.summary,
            detail,
            by: Some(entry.agent_id),
            status: None,
            rests_on_it: None,
            href: href("e", &entry.id),
        }],
        answers: vec![answer.saying("summary"), dismiss.because("reason")],
        href: href("e", &entry.id),
        settled: None,
    }
}
