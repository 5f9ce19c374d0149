//! The checks, each one question about the scope.

use std::collections::BTreeSet;

use twining_model::{Decision, Entry, EntryType, RelationType, Scope, Time, limits};
use twining_store::{DecisionState, EntryFilter, StoreError, View};

use super::scope::{CheckItem, CheckStatus, History, ScopeCheck};
use crate::decisions::same_domain;
use crate::fields::count;
use crate::graph;

/// Findings that a check lists; the rest are counted.
const LISTED: usize = 20;
/// Warnings that may be ignored before it is a failure.
const IGNORED_WARNINGS: usize = 2;

/// The decisions in force that bear on a scope.
pub(super) struct ScopeDecisions {
    decisions: Vec<Decision>,
    /// Further ones, not looked at.
    beyond: u64,
}

impl ScopeDecisions {
    pub(super) fn gather(view: &View<'_>, scope: &Scope) -> Result<Self, StoreError> {
        let rows = view.decisions().nearest(scope, DecisionState::InForce, limits::PAGE)?;
        let bearing = view.decisions().count_in_scope(scope)?;
        let beyond = (bearing.active + bearing.provisional).saturating_sub(rows.len() as u64);
        let mut decisions = Vec::with_capacity(rows.len());
        for row in rows {
            decisions.extend(view.decisions().get(&row.id)?);
        }
        Ok(Self { decisions, beyond })
    }

    fn limits_of_this(&self) -> String {
        if self.beyond == 0 {
            String::new()
        } else {
            format!("; {} more decisions were not checked", self.beyond)
        }
    }
}

/// Whether what decisions affect is tested, as far as the graph knows.
pub(super) fn test_coverage(
    view: &View<'_>,
    scope: &ScopeDecisions,
) -> Result<ScopeCheck, StoreError> {
    let (mut checked, mut untested) = (0, Vec::new());
    for decision in &scope.decisions {
        if decision.affected_files.is_empty() && decision.affected_symbols.is_empty() {
            continue;
        }
        checked += 1;
        if !is_tested(view, decision)? {
            untested.push(named(decision));
        }
    }
    let tested = checked - untested.len();
    let status = match (checked, untested.len()) {
        (0, _) => CheckStatus::Skip,
        (_, 0) => CheckStatus::Pass,
        _ if tested * 2 >= checked => CheckStatus::Warn,
        _ => CheckStatus::Fail,
    };
    let message = match status {
        CheckStatus::Skip => "no decision here names a file or a symbol".to_owned(),
        _ => format!(
            "{tested} of {checked} decisions have a relation tested_by on what they affect{}",
            scope.limits_of_this()
        ),
    };
    Ok(check(status, message, checked, untested))
}

/// Whether every warning was answered, or at least taken up.
pub(super) fn warnings(view: &View<'_>, scope: &Scope) -> Result<ScopeCheck, StoreError> {
    let filter = EntryFilter {
        types: vec![EntryType::Warning.as_str().to_owned()],
        ..EntryFilter::default()
    };
    let page = view.entries().about_scope(scope, &filter, limits::PAGE)?;
    let (mut resolved, mut acknowledged, mut ignored) = (0, 0, Vec::new());
    for warning in &page.items {
        if !view.entries().is_open(&warning.id)? {
            resolved += 1;
        } else if is_acknowledged(view, warning)? {
            acknowledged += 1;
        } else {
            ignored.push(CheckItem {
                id: warning.id.clone(),
                summary: warning.summary.clone(),
                file: None,
            });
        }
    }
    let status = match (page.items.len(), ignored.len()) {
        (0, _) => CheckStatus::Skip,
        (_, 0) => CheckStatus::Pass,
        (_, n) if n <= IGNORED_WARNINGS => CheckStatus::Warn,
        _ => CheckStatus::Fail,
    };
    let message = match page.items.len() {
        0 => "no warning here".to_owned(),
        all => {
            let parts =
                [(resolved, "settled"), (acknowledged, "taken up"), (ignored.len(), "still open")];
            let parts: Vec<String> = parts
                .into_iter()
                .filter(|(number, _)| *number > 0)
                .map(|(number, what)| format!("{number} {what}"))
                .collect();
            format!("{}: {}", count(all as u64, "warning", "warnings"), parts.join(", "))
        }
    };
    Ok(check(status, message, page.items.len(), ignored))
}

/// Whether decisions were made with the context at hand.
pub(super) fn assembly(scope: &ScopeDecisions) -> ScopeCheck {
    let known: Vec<&Decision> =
        scope.decisions.iter().filter(|decision| decision.assembled_before.is_some()).collect();
    let blind: Vec<CheckItem> = known
        .iter()
        .filter(|decision| decision.assembled_before == Some(false))
        .map(|d| named(d))
        .collect();
    let status = match (known.len(), blind.len()) {
        (0, _) => CheckStatus::Skip,
        (_, 0) => CheckStatus::Pass,
        _ => CheckStatus::Warn,
    };
    let message = match known.len() {
        0 => "no decision here records whether context was assembled first".to_owned(),
        n => format!(
            "{} decisions were made without `twining assemble`{}",
            of(blind.len(), n),
            scope.limits_of_this()
        ),
    };
    check(status, message, known.len(), blind)
}

/// Whether files changed after the decision about them, without a new decision.
pub(super) fn drift(scope: &ScopeDecisions, history: &dyn History) -> ScopeCheck {
    let files: BTreeSet<&String> =
        scope.decisions.iter().flat_map(|decision| &decision.affected_files).collect();
    if files.is_empty() {
        return check(CheckStatus::Skip, "no decision here names a file".to_owned(), 0, Vec::new());
    }
    let files: Vec<String> = files.into_iter().cloned().collect();
    let commits = match history.last_commits(&files) {
        Ok(commits) => commits,
        Err(why) => {
            return check(
                CheckStatus::Skip,
                format!("the history could not be read: {why}"),
                0,
                Vec::new(),
            );
        }
    };
    let mut drifted = Vec::new();
    for decision in &scope.decisions {
        for file in &decision.affected_files {
            let changed = commits.get(file).is_some_and(|last| *last > known_until(decision));
            if changed && !scope.decisions.iter().any(|later| replaces(later, decision, file)) {
                drifted.push(CheckItem { file: Some(file.clone()), ..named(decision) });
            }
        }
    }
    let status = if drifted.is_empty() { CheckStatus::Pass } else { CheckStatus::Warn };
    let message = format!(
        "{} changed after the decision about them{}",
        of(drifted.len(), files.len()),
        scope.limits_of_this()
    );
    check(status, message, files.len(), drifted)
}

/// The constraints in force, for a person to check. They are read and never run.
pub(super) fn constraints(view: &View<'_>, scope: &Scope) -> Result<ScopeCheck, StoreError> {
    let filter = EntryFilter {
        types: vec![EntryType::Constraint.as_str().to_owned()],
        ..EntryFilter::default()
    };
    let page = view.entries().about_scope(scope, &filter, limits::PAGE)?;
    let listed: Vec<CheckItem> = page
        .items
        .iter()
        .map(|entry| CheckItem { id: entry.id.clone(), summary: entry.summary.clone(), file: None })
        .collect();
    let (status, message) = match page.total {
        0 => (CheckStatus::Skip, "no constraint was posted for this scope".to_owned()),
        n => (
            CheckStatus::Warn,
            format!(
                "{} to check manually; none are run automatically",
                count(n, "constraint", "constraints")
            ),
        ),
    };
    let mut check = check(status, message, listed.len(), listed);
    check.found = page.total;
    Ok(check)
}

fn check(
    status: CheckStatus,
    message: String,
    checked: usize,
    mut items: Vec<CheckItem>,
) -> ScopeCheck {
    let found = items.len() as u64;
    items.truncate(LISTED);
    ScopeCheck { status, message, checked: checked as u64, items, found }
}

fn named(decision: &Decision) -> CheckItem {
    CheckItem { id: decision.id.to_string(), summary: decision.summary.clone(), file: None }
}

fn of(some: usize, all: usize) -> String {
    format!("{some} of {all}")
}

fn is_tested(view: &View<'_>, decision: &Decision) -> Result<bool, StoreError> {
    let concept = (decision.id.as_str(), "concept");
    let files = decision.affected_files.iter().map(|file| (file.as_str(), "file"));
    let symbols = decision
        .affected_symbols
        .iter()
        .map(|symbol| (symbol.as_str(), graph::symbol_kind(symbol).as_str()));
    let tested_by = [RelationType::TestedBy.as_str().to_owned()];
    for (name, kind) in std::iter::once(concept).chain(files).chain(symbols) {
        if let Some(entity) = view.graph().named_as(name, kind)?
            && view.graph().edges(&entity.id, &tested_by, 10)?.iter().any(|edge| edge.outgoing)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_acknowledged(view: &View<'_>, warning: &Entry) -> Result<bool, StoreError> {
    let related = view.entries().relating_to(&warning.id, LISTED)?;
    Ok(related.items.iter().any(|entry| entry.kind() == Some(EntryType::Finding)))
}

/// Up to when a decision is known to match the code: when it was made, or when a
/// commit was last linked to it.
fn known_until(decision: &Decision) -> Time {
    let linked = decision.commits.iter().map(|commit| commit.linked_at);
    linked.chain(Time::read(&decision.timestamp)).max().unwrap_or_default()
}

fn replaces(later: &Decision, decision: &Decision, file: &String) -> bool {
    later.id > decision.id
        && same_domain(&later.domain, &decision.domain)
        && later.affected_files.contains(file)
}
