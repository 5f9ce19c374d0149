//! Tracing: what a decision rests on, and what rests on it.

use std::collections::{BTreeSet, HashSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Decision, DecisionStatus, Entity, Id, limits};
use twining_store::View;

use crate::decisions::clauses::items_of;
use crate::decisions::search::find;
use crate::decisions::status_change::binding_dependents;
use crate::failure::Failure;
use crate::fields::{fit_reply, is_false};
use crate::input_types::DIRECTIONS;
use crate::{fields, graph};

/// Which decision to trace.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceInput {
    /// Where to start
    pub decision_id: String,
    /// Default both
    #[schemars(extend("enum" = DIRECTIONS))]
    pub direction: Option<String>,
}

/// A decision in the chain.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceLink {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// What it depends on.
    pub depends_on: Vec<String>,
    /// What depends on it.
    pub dependents: Vec<Id>,
    /// Its status.
    pub status: DecisionStatus,
}

/// The chain of a decision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceOutcome {
    /// The decision itself first, then by distance.
    pub chain: Vec<TraceLink>,
    /// Ids in the chain that do not exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether the chain continues.
    pub truncated: bool,
    /// Whether it contains a cycle, which only manually edited files can.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_loop: bool,
}

/// Follows the dependencies of a decision. A loop in hand-made files is walked once.
pub(super) fn trace(view: &View<'_>, input: &TraceInput) -> Result<TraceOutcome, Failure> {
    let root = fields::id("decision_id", &input.decision_id)?;
    let known =
        [("upstream", (true, false)), ("downstream", (false, true)), ("both", (true, true))];
    let direction = input.direction.as_deref().unwrap_or("both").trim();
    let (up, down) = fields::one_of("direction", direction, &known)?;
    find(view, &root)?;

    let mut walk = TraceWalk {
        view,
        seen: HashSet::new(),
        chain: Vec::new(),
        missing: BTreeSet::new(),
        truncated: false,
        is_loop: false,
    };
    if up {
        walk.follow(&root, |link| link.depends_on.clone())?;
    }
    if down {
        walk.follow(&root, |link| link.dependents.iter().map(Id::to_string).collect())?;
    }
    let (chain, cut) = fit_reply(walk.chain);
    Ok(TraceOutcome {
        chain,
        missing: walk.missing.into_iter().collect(),
        truncated: walk.truncated || cut,
        is_loop: walk.is_loop,
    })
}

struct TraceWalk<'a, 'v> {
    view: &'a View<'v>,
    seen: HashSet<Id>,
    chain: Vec<TraceLink>,
    missing: BTreeSet<String>,
    truncated: bool,
    is_loop: bool,
}

impl TraceWalk<'_, '_> {
    /// Walks breadth first from the root along `next`. What an earlier walk has
    /// listed is not listed again, but is walked through.
    fn follow(
        &mut self,
        root: &Id,
        next: impl Fn(&TraceLink) -> Vec<String>,
    ) -> Result<(), Failure> {
        let mut walked: HashSet<Id> = HashSet::from([root.clone()]);
        let mut queue = VecDeque::from([root.clone()]);
        while let Some(id) = queue.pop_front() {
            if self.chain.len() >= limits::WALK_NODES {
                self.truncated = true;
                break;
            }
            let Some(link) = self.link(&id)? else { continue };
            for name in next(&link) {
                match Id::read(&name) {
                    Some(id) if walked.insert(id.clone()) => queue.push_back(id),
                    Some(known) => self.is_loop |= known == *root,
                    None => {
                        self.missing.insert(name);
                    }
                }
            }
            if self.seen.insert(id) {
                self.chain.push(link);
            }
        }
        Ok(())
    }

    fn link(&mut self, id: &Id) -> Result<Option<TraceLink>, Failure> {
        let Some(decision) = self.view.decisions().get(id)? else {
            self.missing.insert(id.to_string());
            return Ok(None);
        };
        let mut dependents = self.view.decisions().dependents(id)?;
        if dependents.len() > limits::WALK_NODES {
            dependents.truncate(limits::WALK_NODES);
            self.truncated = true;
        }
        let (summary, depends_on) = (decision.summary, decision.depends_on);
        Ok(Some(TraceLink {
            id: id.clone(),
            summary,
            depends_on,
            dependents,
            status: decision.status,
        }))
    }
}

/// Entities that are listed.
const ENTITIES: usize = 100;
/// Entries that are listed.
const ENTRIES: usize = 50;

/// Which decision to assess.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpactInput {
    /// A decision's id, a file, or `path#name`
    pub decision_id: String,
}

/// A decision that depends on this one, directly or not.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Dependent {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Its status.
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
    /// Its summary.
    pub summary: String,
}

/// The risk of changing the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Little depends on it.
    Low,
    /// Something depends on it.
    Medium,
    /// Much depends on it, or it cannot be undone.
    High,
}

/// What changing it would affect.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImpactOutcome {
    /// The decision.
    pub decision: Decision,
    /// What depends on it, nearest first.
    pub dependents: Vec<Dependent>,
    /// Files of it and of its dependents.
    pub affected_files: Vec<String>,
    /// Symbols of it and of its dependents.
    pub affected_symbols: Vec<String>,
    /// Linked entities, at most 100.
    pub entities: Vec<Entity>,
    /// Related entries, at most 50.
    pub entries: Vec<RelatedEntry>,
    /// Commits of it and of its dependents.
    pub commits: Vec<String>,
    /// What rests on it directly and is in force, in words; empty for nothing.
    pub rests_on_it: String,
    /// How much depends on it.
    pub risk: Risk,
    /// One sentence.
    pub summary: String,
    /// Whether there is more than is listed.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// Weighs what hangs on a decision.
pub(super) fn impact(view: &View<'_>, input: &ImpactInput) -> Result<ImpactOutcome, Failure> {
    let id = fields::id("decision_id", &input.decision_id)?;
    let decision = find(view, &id)?;
    let mut touched = ImpactedItems::default();
    touched.add(&decision);
    let (dependents, cut_dependents) = dependents(view, &id, &mut touched)?;
    let (entities, cut_entities) = graph::linked_to_decision(view, &id, ENTITIES)?;
    let entries = view.entries().relating_to(id.as_str(), ENTRIES)?;
    let cut_entries = entries.total > entries.items.len() as u64;
    let entries = entries
        .items
        .into_iter()
        .map(|e| RelatedEntry { id: e.id, entry_type: e.entry_type, summary: e.summary })
        .collect();

    let binding = dependents.iter().filter(|dependent| dependent.status.binds()).count();
    let risk = risk(&decision, binding, touched.files.len());
    Ok(ImpactOutcome {
        rests_on_it: rests_on_it(&decision, binding_dependents(view, &id)?.len()),
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

/// What rests on a decision, in words; empty for nothing. `dependents` are those in force.
pub(crate) fn rests_on_it(decision: &Decision, dependents: usize) -> String {
    let decisions =
        (dependents > 0).then(|| fields::count(dependents as u64, "decision", "decisions"));
    let guard = (!items_of(decision).is_empty()).then(|| "1 guard".to_owned());
    decisions.into_iter().chain(guard).collect::<Vec<_>>().join(", ")
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
fn dependents(
    view: &View<'_>,
    root: &Id,
    touched: &mut ImpactedItems,
) -> Result<(Vec<Dependent>, bool), Failure> {
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
                found.push(Dependent {
                    id: next.clone(),
                    summary: decision.summary,
                    status: decision.status,
                    depth: depth + 1,
                });
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
        fields::count(dependents as u64, "dependent decision", "dependent decisions"),
        fields::count(touched.files.len() as u64, "file", "files"),
        fields::count(touched.symbols.len() as u64, "symbol", "symbols"),
        fields::count(touched.commits.len() as u64, "commit", "commits"),
    )
}
