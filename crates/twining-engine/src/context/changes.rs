//! What changed since a moment, by when it happened and not by when the decision was
//! made; or since a branch began, by what its first commit had.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    Decision, DecisionStatus, Entry, EntryType, Id, InvalidInput, ProjectRoot, Scope, StatusChange,
    Time, text,
};
use twining_store::{DecisionFilter, EntryFilter, StoreError, View};

use crate::anchors::DriftFinding;
use crate::context::base_records::BaseRecords;
use crate::failure::Failure;
use crate::fields::{self, is_zero};

/// Characters of the reason of a decision that was made.
const REASON_CHARS: usize = 200;

/// Since when, and where.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WhatChangedInput {
    /// ISO 8601
    ///
    /// Such as 2026-11-14 or 2026-11-14T09:30:00Z
    pub since: String,
    /// Instead: a branch or commit to compare with
    ///
    /// What the memory has that the merge base with it did not have
    pub base: Option<String>,
    /// Default `project`
    ///
    /// File, directory or module; a path is relative to the project
    pub scope: Option<String>,
    /// Limit per list; default 50
    pub limit: Option<usize>,
    /// Where each list begins
    pub offset: Option<usize>,
}

/// A decision that was made or promoted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// When.
    pub at: String,
    /// Who did it.
    pub by: String,
    /// Its scope.
    pub scope: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A decision that is no longer active, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EndedDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// When it ended.
    pub at: String,
    /// Who ended it.
    pub by: String,
    /// Its scope.
    pub scope: String,
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
    /// When it was posted.
    pub at: String,
    /// Who posted it.
    pub by: String,
    /// Its scope.
    pub scope: String,
}

/// What changed, the newest first in every list.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct WhatChangedOutcome {
    /// Since when: the time asked for, or the time of the merge base.
    pub since: String,
    /// The merge base that was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_base: Option<String>,
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
    /// Records whose code became doubtful, moved or went, the gravest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed_code: Vec<DriftFinding>,
    /// How many there are in all lists together.
    pub total: u64,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_count: u64,
    /// Where the next page of each list begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// What the present is compared with.
#[derive(Clone, Copy)]
enum ComparedWith<'b> {
    /// A moment.
    Time(Time),
    /// The records of a commit.
    Base(&'b BaseRecords),
}

impl ComparedWith<'_> {
    fn is_new(self, decision: &Decision) -> bool {
        match self {
            Self::Time(since) => Time::read(&decision.timestamp).is_some_and(|made| made >= since),
            Self::Base(base) => !base.decisions.contains_key(&decision.id),
        }
    }

    /// The last change of status: of several it is the current state.
    fn last_change(self, decision: &Decision) -> Option<&StatusChange> {
        match self {
            Self::Time(since) => changes_since(decision, since).next(),
            Self::Base(base) => {
                let known = base.decisions.get(&decision.id);
                let is_new =
                    |change: &&StatusChange| known.is_none_or(|known| !known.contains(change));
                decision.history.iter().rev().find(is_new)
            }
        }
    }
}

/// Finds what changed since a time.
pub fn what_changed(
    view: &View<'_>,
    input: &WhatChangedInput,
    root: &ProjectRoot,
) -> Result<WhatChangedOutcome, Failure> {
    if input.since.is_empty() {
        return Err(InvalidInput::new("since", "is required")
            .because("give a time, or `base`")
            .into());
    }
    let since = Time::parse("since", &input.since)?;
    let page = ListPage::parse(input, root)?;
    let (decisions, more) = touched_since(view, &page.scope, since)?;
    let mut outcome =
        WhatChangedOutcome { since: since.to_string(), ..WhatChangedOutcome::default() };
    decisions.iter().for_each(|decision| outcome.add_decision(decision, ComparedWith::Time(since)));
    let filter = EntryFilter {
        types: every_kind_but_decisions(),
        since: Some(since),
        ..EntryFilter::default()
    };
    let entries =
        view.entries().about_scope_after(&page.scope, &filter, page.offset, page.limit)?;
    outcome.new_entries = entries.items.into_iter().map(NewEntry::of).collect();
    outcome.cut(&page, entries.total);
    outcome.total += more;
    outcome.omitted_count += more;
    Ok(outcome)
}

/// Finds what the memory has that a commit did not have.
pub fn changed_from_base(
    view: &View<'_>,
    input: &WhatChangedInput,
    root: &ProjectRoot,
    base: &BaseRecords,
) -> Result<WhatChangedOutcome, Failure> {
    let page = ListPage::parse(input, root)?;
    let mut outcome = WhatChangedOutcome {
        since: base.at.map(|at| at.to_string()).unwrap_or_default(),
        merge_base: Some(base.commit.clone()),
        ..WhatChangedOutcome::default()
    };
    let decisions = view.decisions().page(&DecisionFilter::default(), usize::MAX)?.items;
    for decision in decisions.iter().filter(|decision| bears_on(decision, &page.scope, view)) {
        outcome.add_decision(decision, ComparedWith::Base(base));
    }
    let mut total = 0;
    for (id, row) in view.entries().ids_and_rows()? {
        if base.entries.contains(&id) {
            continue;
        }
        let entry = view.entries().at_row(row)?;
        if entry.kind() == Some(EntryType::Decision)
            || !page.scope.overlaps(&Scope::read(&entry.scope), view.folding())
        {
            continue;
        }
        if total >= page.offset && total < page.offset.saturating_add(page.limit) {
            outcome.new_entries.push(NewEntry::of(entry));
        }
        total += 1;
    }
    outcome.cut(&page, total as u64);
    Ok(outcome)
}

/// Which part of each list is shown.
struct ListPage {
    scope: Scope,
    limit: usize,
    offset: usize,
}

impl ListPage {
    fn parse(input: &WhatChangedInput, root: &ProjectRoot) -> Result<Self, InvalidInput> {
        Ok(Self {
            scope: fields::scope_or_project(input.scope.as_deref(), root)?,
            limit: fields::page("limit", input.limit, 50)?,
            offset: input.offset.unwrap_or_default(),
        })
    }

    /// Cuts a list to the page: how many it had, and how many come after the page.
    fn cut<T>(&self, list: &mut Vec<T>) -> (u64, u64) {
        let had = list.len();
        list.drain(..self.offset.min(had));
        let after = list.len().saturating_sub(self.limit);
        list.truncate(self.limit);
        (had as u64, after as u64)
    }
}

impl NewEntry {
    fn of(entry: Entry) -> Self {
        Self {
            id: entry.id,
            entry_type: entry.entry_type,
            summary: fields::summary(&entry.summary),
            at: entry.timestamp,
            by: entry.agent_id,
            scope: entry.scope,
        }
    }
}

impl WhatChangedOutcome {
    fn add_decision(&mut self, decision: &Decision, compared: ComparedWith<'_>) {
        let changed = |at: &str, by: &str, reason: &str| ChangedDecision {
            id: decision.id.clone(),
            summary: fields::summary(&decision.summary),
            at: at.to_owned(),
            by: by.to_owned(),
            scope: decision.scope.clone(),
            reason: text::excerpt(reason, REASON_CHARS),
        };
        if compared.is_new(decision) {
            let made = changed(&decision.timestamp, &decision.agent_id, &decision.rationale);
            self.new_decisions.push(made);
        }
        let Some(change) = compared.last_change(decision) else { return };
        let promoted = changed(&change.at.to_string(), &change.by, &change.reason);
        let ended = match change.status {
            DecisionStatus::Active => return self.promoted_decisions.push(promoted),
            DecisionStatus::Provisional => &mut self.reconsidered_decisions,
            DecisionStatus::Superseded => &mut self.superseded_decisions,
            DecisionStatus::Overridden => &mut self.overridden_decisions,
        };
        let ChangedDecision { id, summary, at, by, scope, .. } = promoted;
        ended.push(EndedDecision { id, summary, at, by, scope, reason: change.reason.clone() });
    }

    /// Cuts the lists of decisions to the page, and counts; the entries are a page already.
    fn cut(&mut self, page: &ListPage, entries: u64) {
        let shown = page.offset as u64 + self.new_entries.len() as u64;
        let counts = [
            page.cut(&mut self.new_decisions),
            page.cut(&mut self.promoted_decisions),
            page.cut(&mut self.overridden_decisions),
            page.cut(&mut self.reconsidered_decisions),
            page.cut(&mut self.superseded_decisions),
            (entries, entries.saturating_sub(shown)),
        ];
        self.total = counts.iter().map(|(had, _)| had).sum();
        self.omitted_count = counts.iter().map(|(_, after)| after).sum();
        self.next_offset =
            (self.omitted_count > 0).then_some(page.offset.saturating_add(page.limit));
    }
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
    let mut decisions = page.items;
    decisions.retain(|decision| bears_on(decision, scope, view));
    Ok((decisions, more))
}

fn bears_on(decision: &Decision, scope: &Scope, view: &View<'_>) -> bool {
    let mut places = std::iter::once(&decision.scope).chain(&decision.affected_files);
    places.any(|place| scope.overlaps(&Scope::read(place), view.folding()))
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
