//! Impact: what a change of mind about a decision would touch.

use std::collections::{BTreeSet, HashSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Decision, DecisionStatus, Entity, Id, limits};
use twining_store::View;

use crate::answer::is_false;
use crate::decisions::find;
use crate::failure::Failure;
use crate::{graph, words};

/// Entities that are listed.
const ENTITIES: usize = 100;
/// Entries that are listed.
const ENTRIES: usize = 50;

/// Which decision to weigh.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpactInput {
    /// Which decision
    pub decision_id: String,
}

/// A decision that rests on the one asked for, directly or not.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Dependent {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Where it stands.
    pub status: DecisionStatus,
    /// Steps away.
    pub depth: u64,
}

/// An entry that relates to the decision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RelatedEntry {
    /// Its id.
    pub id: String,
    /// Its type.
    pub entry_type: String,
    /// Its line.
    pub summary: String,
}

/// How much a change of mind would cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Little hangs on it.
    Low,
    /// Something hangs on it.
    Medium,
    /// Much hangs on it, or it cannot be undone.
    High,
}

/// What a change of mind would touch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImpactOutcome {
    /// The decision.
    pub decision: Decision,
    /// What rests on it, nearest first.
    pub dependents: Vec<Dependent>,
    /// Files of it and of what rests on it.
    pub affected_files: Vec<String>,
    /// Symbols of it and of what rests on it.
    pub affected_symbols: Vec<String>,
    /// Linked entities, at most 100.
    pub entities: Vec<Entity>,
    /// Related entries, at most 50.
    pub entries: Vec<RelatedEntry>,
    /// Commits of it and of what rests on it.
    pub commits: Vec<String>,
    /// How much hangs on it.
    pub risk: Risk,
    /// One sentence.
    pub summary: String,
    /// Whether there is more than is listed.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// Weighs what hangs on a decision.
pub fn impact(view: &View<'_>, input: &ImpactInput) -> Result<ImpactOutcome, Failure> {
    let id = Id::parse("decision_id", input.decision_id.trim())?;
    let decision = find(view, &id)?;
    let mut touched = ImpactedItems::default();
    touched.add(&decision);
    let (dependents, cut_dependents) = dependents(view, &id, &mut touched)?;
    let (entities, cut_entities) = graph::linked_to_decision(view, &id, ENTITIES)?;
    let entries = view.entries().relating_to(id.as_str(), ENTRIES)?;
    let cut_entries = entries.total > entries.items.len() as u64;
    let entries = entries.items.into_iter().map(|e| RelatedEntry { id: e.id, entry_type: e.entry_type, summary: e.summary }).collect();

    let binding = dependents.iter().filter(|dependent| dependent.status.binds()).count();
    let risk = risk(&decision, binding, touched.files.len());
    Ok(ImpactOutcome {
        summary: sentence(binding, &touched, risk, decision.reversible),
        dependents,
        affected_files: touched.files.into_iter().collect(),
        affected_symbols: touched.symbols.into_iter().collect(),
        entities,
        entries,
        commits: touched.commits.into_iter().collect(),
        risk,
        truncated: cut_dependents || cut_entities || cut_entries,
        decision,
    })
}

#[derive(Default)]
struct ImpactedItems {
    files: BTreeSet<String>,
    symbols: BTreeSet<String>,
    commits: BTreeSet<String>,
}

impl ImpactedItems {
    fn add(&mut self, decision: &Decision) {
        self.files.extend(decision.affected_files.iter().cloned());
        self.symbols.extend(decision.affected_symbols.iter().cloned());
        self.commits.extend(decision.commit_hashes.iter().cloned());
    }
}

/// Everything that rests on `root`, nearest first. Visited once each: files may hold a loop.
fn dependents(view: &View<'_>, root: &Id, touched: &mut ImpactedItems) -> Result<(Vec<Dependent>, bool), Failure> {
    let mut seen: HashSet<Id> = HashSet::from([root.clone()]);
    let mut queue = VecDeque::from([(root.clone(), 0)]);
    let mut found = Vec::new();
    while let Some((id, depth)) = queue.pop_front() {
        for next in view.decisions().dependents(&id)? {
            if !seen.insert(next.clone()) {
                continue;
            }
            if found.len() >= limits::WALK_NODES {
                return Ok((found, true));
            }
            if let Some(decision) = view.decisions().get(&next)? {
                touched.add(&decision);
                found.push(Dependent { id: next.clone(), summary: decision.summary, status: decision.status, depth: depth + 1 });
                queue.push_back((next, depth + 1));
            }
        }
    }
    Ok((found, false))
}

fn risk(decision: &Decision, dependents: usize, files: usize) -> Risk {
    match (dependents, files) {
        _ if !decision.reversible => Risk::High,
        (5.., _) | (_, 20..) => Risk::High,
        (1.., _) | (_, 5..) => Risk::Medium,
        _ => Risk::Low,
    }
}

fn sentence(dependents: usize, touched: &ImpactedItems, risk: Risk, reversible: bool) -> String {
    let risk = match risk {
        Risk::Low => "Low",
        Risk::Medium => "Medium",
        Risk::High => "High",
    };
    let undone = if reversible { "" } else { "; it was recorded as irreversible" };
    format!(
        "{risk} risk: {} in force, {}, {}, {}{undone}.",
        words::count(dependents as u64, "dependent decision", "dependent decisions"),
        words::count(touched.files.len() as u64, "file", "files"),
        words::count(touched.symbols.len() as u64, "symbol", "symbols"),
        words::count(touched.commits.len() as u64, "commit", "commits"),
    )
}
