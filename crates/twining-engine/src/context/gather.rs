//! Gathering: what bears on the scope, and what relates to the task.

use std::collections::{HashMap, HashSet};

use twining_model::{AnchoredRecord, Decision, Entry, EntryType, Id, Scope, Time};
use twining_store::{
    DecisionFilter, DecisionState, EntryFilter, ScopedDecision, StoreError, VectorKeys, Via, View,
    decision_text, entry_text,
};

use crate::anchors::{CodeNote, CodeNotes, CodeState};
use crate::blackboard::is_report;
use crate::context::assemble::{AssembleDraft, ContextEntity};
use crate::context::code_signals::{self, CodeSignals};
use crate::context::score::{self, SignalWeights};
use crate::decisions::contesting;
use crate::failure::Failure;
use crate::search::{DecisionSearch, EntrySearch, Ranking, ScoreParts, SearchMode, SearchQuery};
use crate::{fields, search};

/// Candidates taken by scope, of each kind: at least so many, and at most.
const BY_SCOPE: usize = 40;
const MOST_BY_SCOPE: usize = 1000;
/// Characters of the budget per candidate: a small budget is left to records about the task.
const CHARS_BY_SCOPE: usize = 400;
/// Decisions in scope that are counted beyond those that are looked at.
const COUNTED: usize = 1000;
/// Characters of the budget for each candidate that is looked at.
const CHARS_PER_CANDIDATE: usize = 140;
/// Entities, and relations of each, in the reply.
const ENTITIES: usize = 5;
/// Relations of an entity that are looked at to see which decisions hang on it.
const EDGES: usize = 20;
/// Maximum number of decisions checked for contesters.
const MAX_CONTESTED: usize = 30;
/// Of a decision that others contest, so many of them are named.
const CONTESTERS: usize = 3;
/// Records that score below this share of the best are irrelevant to the task.
const FLOOR: f64 = 0.2;

/// A record that may go into the reply.
#[derive(Clone, Debug)]
pub(super) struct ContextCandidate {
    pub(super) record: CandidateRecord,
    pub(super) why: ScoreParts,
    /// The name of its text's vector.
    pub(super) meaning: u64,
    /// Whether it is a decision in force for this scope.
    pub(super) binds: bool,
    /// Whether it is about this very scope, not the whole project.
    pub(super) governs: bool,
    /// Whether it was decided for just this place.
    pub(super) is_exact: bool,
    /// Whether it was selected by scope, regardless of content.
    pub(super) in_scope: bool,
    /// Active decisions that conflict with it.
    pub(super) contested_by: Vec<Id>,
    /// How the code it speaks of is now, if there is something to say.
    pub(super) code: Option<CodeNote>,
}

/// What it is.
#[derive(Clone, Debug)]
pub(super) enum CandidateRecord {
    Decision(Box<Decision>),
    Entry(Box<Entry>, EntryType),
}

/// Everything that may go into the reply, best first.
pub(super) struct GatherResult {
    pub(super) candidates: Vec<ContextCandidate>,
    pub(super) entities: Vec<ContextEntity>,
    pub(super) mode: SearchMode,
    /// How many more bear on the scope than were looked at.
    pub(super) beyond: u64,
}

/// What a gathering goes by.
struct CandidateBuilder<'g, 'm> {
    view: &'g View<'g>,
    draft: &'g AssembleDraft,
    question: &'g SearchQuery<'m>,
    weights: &'g SignalWeights,
    /// Records of each kind that are looked at.
    most: usize,
}

/// Gathers and scores.
pub(super) fn gather(
    view: &View<'_>,
    draft: &AssembleDraft,
    question: &mut SearchQuery<'_>,
    weights: &SignalWeights,
    notes: &dyn Fn(&[AnchoredRecord]) -> Result<CodeNotes, Failure>,
) -> Result<GatherResult, Failure> {
    let most = (draft.max_tokens * 4 / CHARS_PER_CANDIDATE).clamp(40, 400);
    let decision_search =
        DecisionSearch { decisions: view.decisions(), filter: DecisionFilter::default() };
    // Without a filter: it would cost more than looking at a few too many.
    let entry_search = EntrySearch { entries: view.entries(), filter: EntryFilter::default() };
    // Words and scope come first: the meaning is computed meanwhile.
    let (decisions, entries) =
        (search::by_words(&decision_search, question)?, search::by_words(&entry_search, question)?);
    let mut scope_records = ScopeRecords::gather_scope(view, draft)?;
    question.settle();
    let gathering = CandidateBuilder { view, draft, question, weights, most };
    let mut decisions = search::rank_found(&decision_search, question, decisions)?;
    let mut entries = search::rank_found(&entry_search, question, entries)?;
    Ranking::compare([&mut decisions, &mut entries]);
    let mode = decisions.mode;
    let mut candidates = gathering.decisions(decisions, &scope_records.decisions)?;
    add_neighbor_scores(&mut candidates, &scope_records.linked_decisions);
    candidates.extend(gathering.entries(entries, std::mem::take(&mut scope_records.entries))?);
    let best = candidates.iter().map(|candidate| candidate.why.worth()).fold(0.0, f64::max);
    candidates.retain(|candidate| {
        candidate.in_scope || mode == SearchMode::Keyword || candidate.why.worth() >= FLOOR * best
    });
    candidates.sort_by(ContextCandidate::order);
    let signals = CodeSignals::gather(view, &draft.task, &candidates)?;
    for record in signals.further(&candidates) {
        candidates.extend(gathering.weigh_named(&record)?);
    }
    for candidate in &mut candidates {
        candidate.why.code += signals.of(candidate);
    }
    candidates.sort_by(ContextCandidate::order);
    // Not for all candidates: the budget cannot include more than these.
    let shown = MAX_CONTESTED.max(most / 4);
    let looked_at: Vec<AnchoredRecord> =
        candidates.iter().take(shown).map(code_signals::record_of).collect();
    code_signals::label(&mut candidates, notes(&looked_at)?);
    candidates.sort_by(ContextCandidate::order);
    for binds in [true, false] {
        let in_force = candidates
            .iter_mut()
            .filter(|candidate| candidate.binds == binds && candidate.is_in_force());
        for candidate in in_force.take(shown) {
            if let CandidateRecord::Decision(decision) = &candidate.record {
                candidate.contested_by = view.decisions().contesters(
                    decision,
                    contesting(decision.status),
                    CONTESTERS,
                )?;
            }
        }
    }
    drop_rivals_elsewhere(&mut candidates, notes)?;
    Ok(GatherResult {
        beyond: scope_records.beyond(view, draft, &candidates)?,
        candidates,
        entities: scope_records.entities,
        mode,
    })
}

/// Forgets rivals that are of another branch: they contradict nothing here.
fn drop_rivals_elsewhere(
    candidates: &mut [ContextCandidate],
    notes: &dyn Fn(&[AnchoredRecord]) -> Result<CodeNotes, Failure>,
) -> Result<(), Failure> {
    let record = |id: &Id| AnchoredRecord::Decision(id.to_string());
    let rivals: Vec<AnchoredRecord> =
        candidates.iter().flat_map(|candidate| candidate.contested_by.iter().map(record)).collect();
    if rivals.is_empty() {
        return Ok(());
    }
    let notes = notes(&rivals)?;
    let is_here =
        |id: &Id| notes.get(&record(id)).is_none_or(|note| note.state != CodeState::Elsewhere);
    for candidate in candidates {
        let is_foreign =
            candidate.code.as_ref().is_some_and(|note| note.state == CodeState::Elsewhere);
        candidate.contested_by.retain(|rival| !is_foreign && is_here(rival));
    }
    Ok(())
}

/// Records that bear on the scope, regardless of content.
struct ScopeRecords {
    decisions: Vec<ScopedDecision>,
    entries: Vec<Entry>,
    entities: Vec<ContextEntity>,
    /// Decisions that hang on the entities.
    linked_decisions: HashSet<String>,
    /// Kinds of entries of which there may be more, each with what it was asked for by.
    unfinished: Vec<EntryFilter>,
    /// Whether there may be more decisions.
    has_more_decisions: bool,
}

impl ScopeRecords {
    fn gather_scope(view: &View<'_>, draft: &AssembleDraft) -> Result<Self, StoreError> {
        // Of entries there are several kinds to share the budget.
        let most = (draft.max_tokens * 4 / CHARS_BY_SCOPE).clamp(BY_SCOPE, MOST_BY_SCOPE);
        let most_entries = (most / 2).max(BY_SCOPE);
        let decisions = view.decisions().nearest(&draft.scope, DecisionState::InForce, most)?;
        // By kind, so that many of one leave space for the others.
        let other_kinds = [of_kinds(&OTHER_KINDS, false)];
        let (mut entries, mut unfinished) = (Vec::new(), Vec::new());
        for filter in OPEN_KINDS.map(|kind| of_kinds(&[kind], true)).into_iter().chain(other_kinds)
        {
            let rows = view.entries().rows_about(&draft.scope, &filter, most_entries)?;
            let found = rows
                .into_iter()
                .map(|row| view.entries().at_row(row))
                .collect::<Result<Vec<_>, _>>()?;
            if found.len() == most_entries {
                entries.extend(other_authors(view, draft, &filter, &found)?);
                unfinished.push(filter);
            }
            entries.extend(found);
        }
        let (entities, linked_decisions) = entities(view, &draft.scope)?;
        let has_more_decisions = decisions.len() == most;
        Ok(Self { decisions, entries, entities, linked_decisions, unfinished, has_more_decisions })
    }

    /// How many more bear on the scope than are among the candidates.
    fn beyond(
        &self,
        view: &View<'_>,
        draft: &AssembleDraft,
        candidates: &[ContextCandidate],
    ) -> Result<u64, StoreError> {
        let mut beyond = 0;
        if self.has_more_decisions {
            let decided = candidates
                .iter()
                .filter(|candidate| matches!(candidate.record, CandidateRecord::Decision(_)));
            let known: Vec<&str> = decided.map(ContextCandidate::id).collect();
            beyond += view.decisions().count_in_force(&draft.scope, &known, COUNTED)?;
        }
        for filter in &self.unfinished {
            let is_known = |candidate: &&ContextCandidate| match &candidate.record {
                CandidateRecord::Entry(entry, kind) => {
                    filter.types.iter().any(|known| known == kind.as_str())
                        && Scope::read(&entry.scope).overlaps(&draft.scope, view.folding())
                }
                CandidateRecord::Decision(_) => false,
            };
            let known = candidates.iter().filter(is_known).count() as u64;
            beyond += view.entries().count_about(&draft.scope, filter)?.saturating_sub(known);
        }
        Ok(beyond)
    }
}

fn of_kinds(kinds: &[EntryType], only_open: bool) -> EntryFilter {
    EntryFilter {
        types: kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
        only_open,
        ..EntryFilter::default()
    }
}

impl CandidateBuilder<'_, '_> {
    fn decisions(
        &self,
        ranking: Ranking,
        scope_records: &[ScopedDecision],
    ) -> Result<Vec<ContextCandidate>, StoreError> {
        let decisions = self.view.decisions();
        let mut found: HashMap<String, ContextCandidate> = HashMap::new();
        for ranked in ranking.ranked.into_iter().take(self.most) {
            let decision = decisions.at_row(ranked.row)?;
            // Of many in a scope only the newest are looked at below; those that speak of the task bind as well.
            let via = self.bears_on_scope(&decision);
            let mut candidate = self.weigh_decision(decision, ranked.why);
            if let Some(via) = via {
                self.bind(&mut candidate, via);
            }
            found.insert(candidate.id().to_owned(), candidate);
        }
        for row in scope_records {
            if !found.contains_key(row.id.as_str())
                && let Some(decision) = decisions.get(&row.id)?
            {
                let sense = VectorKeys::of(&decision.summary, &decision_text(&decision));
                let candidate =
                    self.weigh_decision(decision, search::by_meaning(self.question, sense));
                found.insert(row.id.to_string(), candidate);
            }
            if let Some(candidate) = found.get_mut(row.id.as_str()) {
                self.bind(candidate, row.via);
            }
        }
        Ok(found.into_values().collect())
    }

    fn bind(&self, candidate: &mut ContextCandidate, via: Via) {
        (candidate.binds, candidate.in_scope) = (true, true);
        candidate.governs = via != Via::Project;
        candidate.is_exact = via == Via::Exact && self.draft.scope != Scope::project();
    }

    /// How a decision in force bears on the scope, by its own scope and its files, according to the
    /// index.
    fn bears_on_scope(&self, decision: &Decision) -> Option<Via> {
        let (asked, folding) = (&self.draft.scope, self.view.folding());
        if !decision.status.binds() {
            return None;
        }
        let own = Scope::read(&decision.scope);
        let is_project = *asked == Scope::project();
        if own.key(folding) == asked.key(folding) {
            Some(Via::Exact)
        } else if !is_project
            && decision.affected_files.iter().any(|file| Scope::read(file).overlaps(asked, folding))
        {
            Some(Via::File)
        } else if asked.covers(&own, folding) {
            Some(Via::Inside)
        } else if own == Scope::project() {
            Some(Via::Project)
        } else {
            own.covers(asked, folding).then_some(Via::Around)
        }
    }

    fn entries(
        &self,
        ranking: Ranking,
        scope_records: Vec<Entry>,
    ) -> Result<Vec<ContextCandidate>, StoreError> {
        let entries = self.view.entries();
        let mut found: HashMap<String, ContextCandidate> = HashMap::new();
        for ranked in ranking.ranked {
            if found.len() >= self.most {
                break;
            }
            let entry = entries.at_row(ranked.row)?;
            let is_shown = match entry.kind() {
                Some(kind) if OPEN_KINDS.contains(&kind) => entries.is_open(&entry.id)?,
                Some(kind) => OTHER_KINDS.contains(&kind) && !is_report(&entry),
                None => false,
            };
            if is_shown && let Some(candidate) = self.weigh_entry(entry, ranked.why) {
                found.insert(candidate.id().to_owned(), candidate);
            }
        }
        for entry in scope_records {
            if let Some(candidate) = found.get_mut(&entry.id) {
                candidate.in_scope = true;
                continue;
            }
            if is_report(&entry) {
                continue;
            }
            let sense = VectorKeys::of(&entry.summary, &entry_text(&entry));
            if let Some(candidate) =
                self.weigh_entry(entry, search::by_meaning(self.question, sense))
            {
                found.insert(
                    candidate.id().to_owned(),
                    ContextCandidate { in_scope: true, ..candidate },
                );
            }
        }
        Ok(found.into_values().collect())
    }

    /// A decision in force or an open warning that the task's own names lead to.
    fn weigh_named(&self, record: &AnchoredRecord) -> Result<Option<ContextCandidate>, StoreError> {
        let weigh = |sense| search::by_meaning(self.question, sense);
        Ok(match record {
            AnchoredRecord::Decision(id) => {
                let Some(id) = Id::read(id) else { return Ok(None) };
                let decision = self.view.decisions().get(&id)?;
                decision.filter(|found| found.status.binds()).map(|decision| {
                    let sense = VectorKeys::of(&decision.summary, &decision_text(&decision));
                    self.weigh_decision(decision, weigh(sense))
                })
            }
            AnchoredRecord::Entry(id) => {
                let entry = self.view.entries().get(id)?;
                let warning = entry.filter(|entry| entry.kind() == Some(EntryType::Warning));
                let Some(entry) = warning else { return Ok(None) };
                if !self.view.entries().is_open(id)? {
                    return Ok(None);
                }
                let sense = VectorKeys::of(&entry.summary, &entry_text(&entry));
                self.weigh_entry(entry, weigh(sense))
            }
            _ => None,
        })
    }

    fn weigh_decision(&self, decision: Decision, why: ScoreParts) -> ContextCandidate {
        let places = std::iter::once(decision.scope.as_str())
            .chain(decision.affected_files.iter().map(String::as_str));
        let why = ScoreParts {
            scope: score::scope(&self.draft.scope, places),
            recency: self.weights.recency(Time::read(&decision.timestamp), self.view.now()),
            confidence: self.weights.confidence(decision.confidence),
            kind: score::standing(decision.status),
            human: score::human(decision.origin.as_ref()),
            ..self.weights.relevance(why)
        };
        let meaning = VectorKeys::of(&decision.summary, &decision_text(&decision)).text_key;
        ContextCandidate::new(CandidateRecord::Decision(Box::new(decision)), why, meaning)
    }

    fn weigh_entry(&self, entry: Entry, why: ScoreParts) -> Option<ContextCandidate> {
        let kind = entry.kind()?;
        let why = ScoreParts {
            scope: score::scope(&self.draft.scope, [entry.scope.as_str()]),
            recency: self.weights.recency(Time::read(&entry.timestamp), self.view.now()),
            kind: self.weights.kind(kind),
            human: score::human(entry.origin.as_ref()),
            ..self.weights.relevance(why)
        };
        let meaning = VectorKeys::of(&entry.summary, &entry_text(&entry)).text_key;
        Some(ContextCandidate::new(CandidateRecord::Entry(Box::new(entry), kind), why, meaning))
    }
}

/// Lends a decision a little of what its neighbours are worth: those it rests
/// on or replaces, and the entities of the scope it hangs on.
fn add_neighbor_scores(candidates: &mut [ContextCandidate], linked_decisions: &HashSet<String>) {
    let shown: HashMap<String, f64> = candidates
        .iter()
        .map(|candidate| {
            (candidate.id().to_owned(), candidate.why.lexical + candidate.why.semantic)
        })
        .collect();
    let mut neighbor_scores: HashMap<String, f64> = HashMap::new();
    for candidate in candidates.iter() {
        let CandidateRecord::Decision(decision) = &candidate.record else { continue };
        let own = candidate.why.lexical + candidate.why.semantic;
        for other in decision.depends_on.iter().chain(&decision.supersedes) {
            let best = neighbor_scores.entry(other.clone()).or_default();
            *best = best.max(own);
            if let Some(theirs) = shown.get(other) {
                let best = neighbor_scores.entry(candidate.id().to_owned()).or_default();
                *best = best.max(*theirs);
            }
        }
    }
    for candidate in candidates.iter_mut() {
        let neighbor = neighbor_scores.get(candidate.id()).copied().unwrap_or(0.0);
        let neighbor =
            if linked_decisions.contains(candidate.id()) { neighbor.max(0.5) } else { neighbor };
        candidate.why.graph = score::graph(neighbor);
    }
}

/// Kinds that are included while they await an answer.
const OPEN_KINDS: [EntryType; 3] = [EntryType::Warning, EntryType::Need, EntryType::Question];
/// Kinds that are included whenever they fit.
const OTHER_KINDS: [EntryType; 6] = [
    EntryType::Finding,
    EntryType::Constraint,
    EntryType::Answer,
    EntryType::Artifact,
    EntryType::Status,
    EntryType::Offer,
];

/// The entities named after the scope, with what they hang together with; and
/// the decisions that hang on them.
fn entities(
    view: &View<'_>,
    scope: &Scope,
) -> Result<(Vec<ContextEntity>, HashSet<String>), StoreError> {
    let (mut found, mut linked_decisions) = (Vec::new(), HashSet::new());
    if *scope == Scope::project() {
        return Ok((found, linked_decisions));
    }
    let named =
        view.graph().with_name_prefix(scope.as_str().trim_end_matches('/'), ENTITIES * 4)?;
    let covered = named
        .into_iter()
        .filter(|entity| scope.covers(&Scope::read(&entity.name), view.folding()))
        .take(ENTITIES);
    for entity in covered {
        let mut relations = Vec::new();
        for edge in view.graph().edges(&entity.id, &[], EDGES)? {
            let Some(other) = view.graph().entity(&edge.other)? else { continue };
            // A decision's node is named by its id; its summary says more.
            let summary = other.properties.get("summary").filter(|_| other.kind == "concept");
            if summary.is_some() {
                linked_decisions.insert(other.name.clone());
            }
            if relations.len() < ENTITIES {
                let name = fields::shorten(summary.unwrap_or(&other.name), 120);
                relations.push(if edge.outgoing {
                    format!("{} {name}", edge.relation.kind)
                } else {
                    format!("{name} {} this", edge.relation.kind)
                });
            }
        }
        found.push(ContextEntity { name: entity.name, kind: entity.kind, relations, tokens: None });
    }
    Ok((found, linked_decisions))
}

impl ContextCandidate {
    fn new(record: CandidateRecord, why: ScoreParts, meaning: u64) -> Self {
        Self {
            record,
            why,
            meaning,
            binds: false,
            governs: false,
            is_exact: false,
            in_scope: false,
            contested_by: Vec::new(),
            code: None,
        }
    }

    /// The best first. The order is total, so that the same question gets the same answer.
    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.why.worth().total_cmp(&self.why.worth()).then_with(|| other.id().cmp(self.id()))
    }

    /// The record's id.
    pub(super) fn id(&self) -> &str {
        match &self.record {
            CandidateRecord::Decision(decision) => decision.id.as_str(),
            CandidateRecord::Entry(entry, _) => &entry.id,
        }
    }

    /// Whether it still holds: an entry, or a decision that binds.
    pub(super) fn is_in_force(&self) -> bool {
        match &self.record {
            CandidateRecord::Decision(decision) => decision.status.binds(),
            CandidateRecord::Entry(..) => true,
        }
    }

    /// The text that has a vector.
    pub(super) fn text(&self) -> String {
        match &self.record {
            CandidateRecord::Decision(decision) => decision_text(decision),
            CandidateRecord::Entry(entry, _) => entry_text(entry),
        }
    }

    /// Its summary.
    pub(super) fn summary(&self) -> &str {
        match &self.record {
            CandidateRecord::Decision(decision) => &decision.summary,
            CandidateRecord::Entry(entry, _) => &entry.summary,
        }
    }
}

/// Entries that are gone through behind those of an author who wrote nearly all of the
/// newest: of what waits for an answer, and of what does not, of which there is more.
const WALKED: usize = 4_000;
const WALKED_CLOSED: usize = 1_000;
/// Maximum number of entries added for crowded-out authors.
const RAISED: usize = 8;

/// The newest of other authors, where one wrote most of what was found: a flood must not
/// take another's warning out of sight.
pub(super) fn other_authors(
    view: &View<'_>,
    draft: &AssembleDraft,
    filter: &EntryFilter,
    found: &[Entry],
) -> Result<Vec<Entry>, StoreError> {
    let mut wrote: HashMap<&str, usize> = HashMap::new();
    found.iter().for_each(|entry| *wrote.entry(entry.agent_id.as_str()).or_default() += 1);
    let top_author =
        wrote.into_iter().max_by_key(|(_, n)| *n).filter(|(_, n)| n * 4 > found.len() * 3);
    let Some(top_author) = top_author.map(|(author, _)| author.to_lowercase()) else {
        return Ok(Vec::new());
    };
    let mut others = Vec::new();
    let most = if filter.only_open { WALKED } else { WALKED_CLOSED };
    for row in view.entries().rows_about(&draft.scope, filter, most)?.into_iter().skip(found.len())
    {
        if view.entries().header(row)?.is_some_and(|header| header.agent != top_author) {
            others.push(view.entries().at_row(row)?);
            if others.len() == RAISED {
                break;
            }
        }
    }
    Ok(others)
}
