//! Why: the decisions that bear on a scope, nearest and most binding first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{Confidence, Decision, Folding, Id, Root, Scope, Status};
use twining_store::{Affecting, Via, View};

use crate::answer::within_answer;
use crate::decisions::same_domain;
use crate::failure::Failure;
use crate::words;

/// Which scope to explain.
#[derive(Clone, Debug, Default)]
pub struct WhyInput {
    /// A file, a directory, a module or a symbol.
    pub scope: String,
    /// At most so many; 20 by default.
    pub limit: Option<usize>,
    /// Whether superseded and overridden ones are listed, last; yes by default.
    pub include_retired: Option<bool>,
}

/// A decision that bears on the scope.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhyDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Its reasons.
    pub rationale: String,
    /// How sure its author is.
    pub confidence: Confidence,
    /// Where it stands.
    pub status: Status,
    /// When it was made.
    pub timestamp: String,
    /// How many options were not taken.
    pub alternatives_count: u64,
    /// What it governs.
    pub scope: String,
    /// How it bears on the scope: exact, file, symbol, inside, around, project.
    pub matched: String,
    /// Commits that carry it out.
    pub commit_hashes: Vec<String>,
    /// What replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub override_reason: Option<String>,
    /// Listed decisions that disagree with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested_by: Vec<Id>,
}

/// Why a scope is as it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhyOutcome {
    /// Binding ones first, then by nearness, confidence and age.
    pub decisions: Vec<WhyDecision>,
    /// Active ones in all.
    pub active_count: u64,
    /// Provisional ones in all.
    pub provisional_count: u64,
    /// All that bear on the scope.
    pub total_count: u64,
    /// Those not listed.
    pub omitted_count: u64,
    /// Whether listed decisions disagree.
    pub contested: bool,
}

/// The decisions that bear on a scope: a ranked page, with what it left out.
pub fn why(view: &View<'_>, input: &WhyInput, root: &Root) -> Result<WhyOutcome, Failure> {
    let scope = Scope::parse("scope", &input.scope, root)?;
    let limit = words::page("limit", input.limit, 20)?;
    let mut rows = view.decisions().affecting(&scope)?;
    let having = |status: Status| rows.iter().filter(|row| row.status == status).count() as u64;
    let (active_count, provisional_count, total_count) = (having(Status::Active), having(Status::Provisional), rows.len() as u64);

    if !input.include_retired.unwrap_or(true) {
        rows.retain(|row| row.status.binds());
    }
    nearest(&mut rows, limit);
    let mut listed: Vec<(Via, Decision)> = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(decision) = view.decisions().get(&row.id)? {
            listed.push((row.via, decision));
        }
    }
    let folding = view.folding();
    let told = listed.iter().map(|(via, decision)| tell(*via, decision, contesters(decision, &listed, folding))).collect();
    let (decisions, _) = within_answer::<WhyDecision>(told);
    Ok(WhyOutcome {
        contested: decisions.iter().any(|decision| !decision.contested_by.is_empty()),
        active_count,
        provisional_count,
        total_count,
        omitted_count: total_count - decisions.len() as u64,
        decisions,
    })
}

/// Keeps the `limit` rows that matter most, in order. The order is total, so
/// that the same question gets the same page.
pub(crate) fn nearest(rows: &mut Vec<Affecting>, limit: usize) {
    let rank = |row: &Affecting| (!row.status.binds(), row.via, Reverse((row.confidence, row.at)));
    let order = |a: &Affecting, b: &Affecting| rank(a).cmp(&rank(b)).then_with(|| b.id.cmp(&a.id));
    if rows.len() > limit {
        rows.select_nth_unstable_by(limit, order);
        rows.truncate(limit);
    }
    rows.sort_unstable_by(order);
}

fn tell(via: Via, decision: &Decision, contested_by: Vec<Id>) -> WhyDecision {
    WhyDecision {
        id: decision.id.clone(),
        summary: decision.summary.clone(),
        rationale: decision.rationale.clone(),
        confidence: decision.confidence,
        status: decision.status,
        timestamp: decision.timestamp.clone(),
        alternatives_count: decision.alternatives.len() as u64,
        scope: decision.scope.clone(),
        matched: word(via).to_owned(),
        commit_hashes: decision.commit_hashes.clone(),
        superseded_by: decision.superseded_by.clone(),
        override_reason: decision.override_reason.clone(),
        contested_by,
    }
}

/// The listed decisions that disagree with this one. At least one of two that
/// contest each other is active: between provisional ones nothing is settled yet.
fn contesters(decision: &Decision, listed: &[(Via, Decision)], folding: Folding) -> Vec<Id> {
    let contests = |other: &Decision| {
        let in_force = decision.status.binds() && other.status.binds();
        in_force
            && (decision.status == Status::Active || other.status == Status::Active)
            && other.id != decision.id
            && same_domain(&other.domain, &decision.domain)
            && Scope::read(&other.scope).overlaps(&Scope::read(&decision.scope), folding)
            && words::fold(&other.summary) != words::fold(&decision.summary)
    };
    let found: BTreeSet<&Id> = listed.iter().map(|(_, other)| other).filter(|other| contests(other)).map(|other| &other.id).collect();
    found.into_iter().cloned().collect()
}

fn word(via: Via) -> &'static str {
    match via {
        Via::Exact => "exact",
        Via::File => "file",
        Via::Symbol => "symbol",
        Via::Inside => "inside",
        Via::Around => "around",
        Via::Project => "project",
    }
}
