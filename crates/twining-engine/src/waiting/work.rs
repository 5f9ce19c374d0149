//! Work that stopped: features that are blocked, and turns that the coach escalated.

use serde_json::json;
use twining_model::{Time, Turn};

use super::answers::href;
use super::inbox::{Inbox, Pending};
use super::item::{Gravity, WaitingAnswer, WaitingItem, WaitingKind, WaitingSubject};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::governance::turns;
use crate::workflow::{Feature, FeatureStatus};

/// Characters of a text of an item.
const SHOWN: usize = 600;

/// The features that are blocked; none where the list cannot be read, which `doctor` says.
pub(super) fn blocked(engine: &Engine) -> Vec<Feature> {
    let list = engine.feature_list().ok().and_then(|(_, list)| list);
    let mut features = list.map(|list| list.features).unwrap_or_default();
    features.retain(|feature| feature.status == FeatureStatus::Blocked);
    features
}

/// Features that wait for a person.
pub(super) fn blocked_features(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let mut found = Vec::new();
    for feature in blocked(inbox.engine) {
        let need = feature.need.as_deref().map(|id| inbox.view.entries().get(id)).transpose()?;
        let need = need.flatten();
        let since = need.as_ref().and_then(|need| Time::read(&need.timestamp));
        let scope = feature.files.first().cloned().unwrap_or_else(|| "project".to_owned());
        let by = need.as_ref().map(|need| need.agent_id.clone());
        let why = need.map(|need| fields::shorten(&need.summary, SHOWN));
        found.push(Pending::new(since, Some(scope.clone()), move || {
            Ok(blocked_feature(&feature, since, &scope, (by.clone(), why.clone())))
        }));
    }
    Ok(found)
}

fn blocked_feature(
    feature: &Feature,
    since: Option<Time>,
    scope: &str,
    (by, why): (Option<String>, Option<String>),
) -> WaitingItem {
    let id = &feature.id;
    let failed = fields::count(u64::from(feature.retries), "failed test run", "failed test runs");
    let (after, forgotten) = match feature.retries {
        0 => (String::new(), ""),
        _ => (format!(" after {failed}"), ", its failed tests are forgotten"),
    };
    let reopen = WaitingAnswer::call(
        "Reopen",
        "report",
        json!({"feature": id, "role": "person", "outcome": "reopened"}),
        format!(
            "{id} is pending again{forgotten}, and the next agent may take it up; `assemble` tells it your words."
        ),
    );
    WaitingItem {
        id: format!("{}:{id}", WaitingKind::BlockedFeature.as_str()),
        kind: WaitingKind::BlockedFeature,
        title: format!("{id} {}", fields::shorten(&feature.description, SHOWN)),
        why_you: format!("It is blocked{after}; no agent goes on until a person reopens it."),
        since: since.map(|since| since.to_string()),
        scope: Some(scope.to_owned()),
        by,
        gravity: Gravity::Blocking,
        subjects: vec![WaitingSubject {
            id: id.clone(),
            summary: fields::shorten(&feature.description, SHOWN),
            detail: why,
            by: None,
            status: Some(feature.status.as_str().to_owned()),
            rests_on_it: None,
            href: href("f", id),
        }],
        answers: vec![reopen.because("summary")],
        href: href("f", id),
        settled: None,
    }
}

/// Turns whose coach wants a person to decide.
pub(super) fn escalated_turns(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let documents = inbox.engine.store().documents();
    let mut escalated = turns::escalated(&documents.turns()?)?;
    if escalated.is_empty() {
        return Ok(Vec::new());
    }
    let list = inbox.engine.feature_list().ok().and_then(|(_, list)| list).unwrap_or_default();
    // What was shown to work since needs nobody's word.
    escalated.retain(|turn| list.get(&turn.feature_id).is_none_or(|feature| !feature.tested));
    let pending = escalated.into_iter().map(|turn| {
        let since = Time::read(turn.updated_at.as_deref().unwrap_or(&turn.timestamp));
        let scope = turn.files_modified.first().cloned().unwrap_or_else(|| "project".to_owned());
        Pending::new(since, Some(scope.clone()), move || Ok(turn_question(&turn, since, &scope)))
    });
    Ok(pending.collect())
}

fn turn_question(turn: &Turn, since: Option<Time>, scope: &str) -> WaitingItem {
    let (feature, task, number) = (&turn.feature_id, &turn.task_id, turn.turn_number);
    let said = [turn.coach_feedback.as_str(), &turn.what_to_try_next, &turn.progress_summary];
    let asked = turn.blockers_found.first().map(String::as_str);
    let asked = asked.or(said.into_iter().find(|text| !text.is_empty())).unwrap_or_default();
    let answer = WaitingAnswer::call(
        "Answer",
        "record_turn",
        json!({
            "feature": feature, "task": task, "turn": number, "coach_decision": "revise",
            "player_decision": turn.player_decision, "progress_summary": turn.progress_summary,
        }),
        format!(
            "Turn {number} of {task} is to be revised, and the next one begins with your answer."
        ),
    );
    WaitingItem {
        id: format!("{}:{}", WaitingKind::TurnQuestion.as_str(), turn.id),
        kind: WaitingKind::TurnQuestion,
        title: fields::shorten(asked, SHOWN),
        why_you: format!(
            "The coach of turn {number} of {task} ({feature}) escalated it to a person."
        ),
        since: since.map(|since| since.to_string()),
        scope: Some(scope.to_owned()),
        by: Some(turn.agent_id.clone()).filter(|by| !by.is_empty()),
        gravity: Gravity::Blocking,
        subjects: vec![WaitingSubject {
            id: turn.id.clone(),
            summary: fields::shorten(&turn.progress_summary, SHOWN),
            detail: Some(fields::shorten(&turn.coach_feedback, SHOWN)).filter(|it| !it.is_empty()),
            by: None,
            status: Some(turn.coach_decision.clone()),
            rests_on_it: None,
            href: href("f", feature),
        }],
        answers: vec![answer.saying("coach_feedback")],
        href: href("f", feature),
        settled: None,
    }
}
