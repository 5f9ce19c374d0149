//! Gathering: what bears on the scope, and what speaks of the task.

use std::collections::HashMap;

use twining_model::{Decision, Entry, EntryType, Id, Scope, Status, Time};
use twining_store::{DecisionFilter, EntryFilter, StoreError, Via, View};

use crate::context::assemble::{AssembleDraft, ContextDecision, ContextEntity, ContextEntry};
use crate::context::score::{Signals, Weights, confidence};
use crate::decisions::nearest;
use crate::words;

/// Candidates taken by scope, of each kind.
const BY_SCOPE: usize = 100;
/// Candidates taken by words, of each kind.
const BY_WORDS: usize = 50;
/// How relevant an entry is that only shares the scope.
const SCOPE_ALONE: f64 = 0.5;
/// Bytes of the task that are searched for.
const QUERY_BYTES: usize = 1024;
/// Characters of a reason or a detail in the reply; the record has the rest.
const TEXT_SHOWN: usize = 500;
/// Files of a decision in the reply.
const FILES_SHOWN: usize = 10;
/// Entities, and relations of each, in the reply.
const ENTITIES: usize = 5;

/// A record that may go into the reply.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) item: Item,
    pub(super) score: f64,
}

/// The shape it would have there.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Decision(ContextDecision),
    Warning(ContextEntry),
    Need(ContextEntry),
    Question(ContextEntry),
    Finding(ContextEntry),
    Entity(ContextEntity),
}

/// Everything that may go into the reply, best first.
pub(super) fn gather(view: &View<'_>, draft: &AssembleDraft, weights: &Weights) -> Result<Vec<Candidate>, StoreError> {
    let query = words::clip(&draft.task, QUERY_BYTES);
    let mut found = decisions(view, draft, &query, weights)?;
    found.extend(entries(view, draft, &query, weights)?);
    found.extend(entities(view, &draft.scope)?);
    // The order is total, so that the same question gets the same answer.
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.item.key().cmp(b.item.key())));
    Ok(found)
}

fn decisions(view: &View<'_>, draft: &AssembleDraft, query: &str, weights: &Weights) -> Result<Vec<Candidate>, StoreError> {
    let mut relevance: HashMap<Id, f64> = HashMap::new();
    let mut known: HashMap<Id, Decision> = HashMap::new();
    let binding = DecisionFilter { statuses: vec![Status::Active, Status::Provisional], ..DecisionFilter::default() };
    for hit in view.decisions().search(query, &binding, BY_WORDS)? {
        relevance.insert(hit.item.id.clone(), hit.relevance);
        known.insert(hit.item.id.clone(), hit.item);
    }
    let mut rows = view.decisions().affecting(&draft.scope)?;
    rows.retain(|row| row.status.binds());
    nearest(&mut rows, BY_SCOPE);
    for row in rows {
        let by_scope = nearness(row.via);
        let best = relevance.entry(row.id.clone()).or_insert(0.0);
        *best = best.max(by_scope);
        if !known.contains_key(&row.id)
            && let Some(decision) = view.decisions().get(&row.id)?
        {
            known.insert(row.id, decision);
        }
    }
    let scored = known.into_values().map(|decision| {
        let signals = Signals {
            at: Time::read(&decision.timestamp),
            relevance: relevance.get(&decision.id).copied().unwrap_or(0.0),
            confidence: confidence(decision.confidence),
            warns: false,
        };
        Candidate { score: weights.score(&signals, view.now()), item: Item::Decision(shown(decision)) }
    });
    Ok(scored.collect())
}

fn entries(view: &View<'_>, draft: &AssembleDraft, query: &str, weights: &Weights) -> Result<Vec<Candidate>, StoreError> {
    let of = |kinds: &[EntryType], only_open: bool| EntryFilter {
        types: kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
        only_open,
        ..EntryFilter::default()
    };
    let asking = [EntryType::Warning, EntryType::Need, EntryType::Question];
    let mut found: HashMap<String, (f64, Entry)> = HashMap::new();
    for filter in [of(&asking, true), of(&[EntryType::Finding], false)] {
        for hit in view.entries().search(query, &filter, BY_WORDS)? {
            found.insert(hit.item.id.clone(), (hit.relevance, hit.item));
        }
    }
    // By kind, so that many of one leave room for the others.
    for filter in asking.map(|kind| of(&[kind], true)).into_iter().chain([of(&[EntryType::Finding], false)]) {
        for entry in view.entries().about_scope(&draft.scope, &filter, BY_SCOPE)?.items {
            let (best, _) = found.entry(entry.id.clone()).or_insert((0.0, entry));
            *best = best.max(SCOPE_ALONE);
        }
    }
    let scored = found.into_values().filter_map(|(relevance, entry)| {
        let kind = entry.kind()?;
        let signals = Signals { at: Time::read(&entry.timestamp), relevance, confidence: 0.5, warns: kind == EntryType::Warning };
        Some(Candidate { score: weights.score(&signals, view.now()), item: Item::of(kind, entry) })
    });
    Ok(scored.collect())
}

/// The entities named after the scope, with what they hang together with.
fn entities(view: &View<'_>, scope: &Scope) -> Result<Vec<Candidate>, StoreError> {
    if *scope == Scope::project() {
        return Ok(Vec::new());
    }
    let (named, _) = view.graph().find(scope.as_str().trim_end_matches('/'), &[], ENTITIES * 4)?;
    let covered = named.into_iter().filter(|entity| scope.covers(&Scope::read(&entity.name), view.folding())).take(ENTITIES);
    let mut found = Vec::new();
    for entity in covered {
        let mut relations = Vec::new();
        for edge in view.graph().edges(&entity.id, &[], ENTITIES)? {
            if let Some(other) = view.graph().entity(&edge.other)? {
                // A decision's node is named by its id; its summary says more.
                let name = other.properties.get("summary").filter(|_| other.kind == "concept").unwrap_or(&other.name);
                let name = words::shorten(name, 120);
                relations.push(if edge.outgoing {
                    format!("{} {name}", edge.relation.kind)
                } else {
                    format!("{name} {} this", edge.relation.kind)
                });
            }
        }
        // Below every record: entities are for what room is left.
        found.push(Candidate { item: Item::Entity(ContextEntity { name: entity.name, kind: entity.kind, relations }), score: 0.0 });
    }
    Ok(found)
}

/// How relevant a decision is for the way it bears on the scope.
fn nearness(via: Via) -> f64 {
    match via {
        Via::Exact | Via::File | Via::Symbol => 0.9,
        Via::Inside => 0.7,
        Via::Around => 0.6,
        Via::Project => 0.5,
    }
}

fn shown(decision: Decision) -> ContextDecision {
    let mut affected_files = decision.affected_files;
    affected_files.truncate(FILES_SHOWN);
    ContextDecision {
        id: decision.id,
        summary: decision.summary,
        rationale: words::shorten(&decision.rationale, TEXT_SHOWN),
        confidence: decision.confidence,
        status: decision.status,
        affected_files,
    }
}

impl Item {
    fn of(kind: EntryType, entry: Entry) -> Self {
        let detail = matches!(kind, EntryType::Warning | EntryType::Finding).then(|| words::shorten(&entry.detail, TEXT_SHOWN));
        let entry = ContextEntry {
            id: entry.id,
            summary: words::summary(&entry.summary),
            detail: detail.filter(|detail| !detail.is_empty()),
            scope: words::shorten(&entry.scope, 200),
            timestamp: entry.timestamp,
        };
        match kind {
            EntryType::Warning => Self::Warning(entry),
            EntryType::Need => Self::Need(entry),
            EntryType::Question => Self::Question(entry),
            _ => Self::Finding(entry),
        }
    }

    fn key(&self) -> &str {
        match self {
            Self::Decision(decision) => decision.id.as_str(),
            Self::Warning(entry) | Self::Need(entry) | Self::Question(entry) | Self::Finding(entry) => &entry.id,
            Self::Entity(entity) => &entity.name,
        }
    }
}
