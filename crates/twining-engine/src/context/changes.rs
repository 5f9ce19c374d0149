//! What changed since a moment: by when it happened, not by when the decision
//! was made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    Decision, DecisionStatus, EntryType, Id, ProjectRoot, Scope, StatusChange, Time,
};
use twining_store::{EntryFilter, StoreError, View};

use crate::failure::Failure;
use crate::fields::{self, is_zero};

/// Since when, and where.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatChangedInput {
    /// ISO 8601
    ///
    /// Such as 2026-11-14 or 2026-11-14T09:30:00Z
    pub since: String,
    /// Default `project`
    ///
    /// File, directory or module; a path is relative to the project
    pub scope: Option<String>,
    /// Limit per list; default 50
    pub limit: Option<usize>,
}

/// A decision that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
}

/// A decision that is no longer active, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EndedDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Why.
    pub reason: String,
}

/// An entry that was posted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NewEntry {
    /// Its id.
    pub id: String,
    /// What it is.
    pub entry_type: String,
    /// Its summary.
    pub summary: String,
}

/// What changed, the newest first in every list.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct WhatChangedOutcome {
    /// Decisions made.
    pub new_decisions: Vec<ChangedDecision>,
    /// Entries posted, except announcements of decisions.
    pub new_entries: Vec<NewEntry>,
    /// Decisions overridden.
    pub overridden_decisions: Vec<EndedDecision>,
    /// Decisions made provisional.
    pub reconsidered_decisions: Vec<EndedDecision>,
    /// Decisions replaced by another.
    pub superseded_decisions: Vec<EndedDecision>,
    /// Provisional decisions that became active.
    pub promoted_decisions: Vec<ChangedDecision>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_count: u64,
}

/// Finds what changed.
pub fn what_changed(
    view: &View<'_>,
    input: &WhatChangedInput,
    root: &ProjectRoot,
) -> Result<WhatChangedOutcome, Failure> {
    let since = Time::parse("since", &input.since)?;
    let scope = fields::scope_or_project(input.scope.as_deref(), root)?;
    let most = fields::page("limit", input.limit, 50)?;
    let mut outcome = WhatChangedOutcome::default();
    let (decisions, more) = touched_since(view, &scope, since)?;
    outcome.omitted_count = more;
    for decision in &decisions {
        add_decision(decision, since, &mut outcome);
    }
    let filter = EntryFilter {
        types: every_kind_but_decisions(),
        since: Some(since),
        ..EntryFilter::default()
    };
    let page = view.entries().about_scope(&scope, &filter, most)?;
    outcome.omitted_count += page.total - page.items.len() as u64;
    outcome.new_entries = page
        .items
        .into_iter()
        .map(|entry| NewEntry {
            id: entry.id,
            entry_type: entry.entry_type,
            summary: fields::summary(&entry.summary),
        })
        .collect();
    outcome.omitted_count +=
        cut(&mut outcome.new_decisions, most) + cut(&mut outcome.promoted_decisions, most);
    let ended = [
        &mut outcome.overridden_decisions,
        &mut outcome.reconsidered_decisions,
        &mut outcome.superseded_decisions,
    ];
    outcome.omitted_count += ended.into_iter().map(|list| cut(list, most)).sum::<u64>();
    Ok(outcome)
}

/// Cuts a list to `most`; how many went.
fn cut<T>(list: &mut Vec<T>, most: usize) -> u64 {
    let more = list.len().saturating_sub(most) as u64;
    list.truncate(most);
    more
}

/// The decisions of a scope that were made or changed since, the newest change
/// first; and how many more there may be.
pub(super) fn touched_since(
    view: &View<'_>,
    scope: &Scope,
    since: Time,
) -> Result<(Vec<Decision>, u64), StoreError> {
    let page = view.decisions().touched_since(since)?;
    let more = page.total - page.items.len() as u64;
    let bears = |decision: &Decision| {
        let places = std::iter::once(&decision.scope).chain(&decision.affected_files);
        places.into_iter().any(|place| scope.overlaps(&Scope::read(place), view.folding()))
    };
    Ok((page.items.into_iter().filter(bears).collect(), more))
}

/// The changes of status since then, the newest first.
pub(super) fn changes_since(
    decision: &Decision,
    since: Time,
) -> impl Iterator<Item = &StatusChange> {
    decision.history.iter().rev().filter(move |change| change.at >= since)
}

fn every_kind_but_decisions() -> Vec<String> {
    EntryType::ALL
        .into_iter()
        .filter(|kind| *kind != EntryType::Decision)
        .map(|kind| kind.as_str().to_owned())
        .collect()
}

fn add_decision(decision: &Decision, since: Time, outcome: &mut WhatChangedOutcome) {
    let summary = fields::summary(&decision.summary);
    let changed = || ChangedDecision { id: decision.id.clone(), summary: summary.clone() };
    let ended = |reason: &str| EndedDecision {
        id: decision.id.clone(),
        summary: summary.clone(),
        reason: reason.to_owned(),
    };
    if Time::read(&decision.timestamp).is_some_and(|made| made >= since) {
        outcome.new_decisions.push(changed());
    }
    // Of several changes the last counts: it is the current state.
    let Some(change) = changes_since(decision, since).next() else { return };
    match change.status {
        DecisionStatus::Active => outcome.promoted_decisions.push(changed()),
        DecisionStatus::Provisional => outcome.reconsidered_decisions.push(ended(&change.reason)),
        DecisionStatus::Superseded => outcome.superseded_decisions.push(ended(&change.reason)),
        DecisionStatus::Overridden => outcome.overridden_decisions.push(ended(&change.reason)),
    }
}
