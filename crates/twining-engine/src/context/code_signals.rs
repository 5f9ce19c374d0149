//! What code tells of records: those on definitions that the task names, those beside the best
//! ones, and how fresh each is.

use std::collections::{HashMap, HashSet};

use twining_model::{Anchor, AnchoredRecord};
use twining_store::{StoreError, View};

use crate::anchors::{CodeNotes, CodeState, anchors_at, code_words};
use crate::context::gather::{CandidateRecord, ContextCandidate};

/// The best records, whose anchors vote.
const VOTERS: usize = 20;
/// What it is worth to be anchored to a definition that the task names.
const NAMED: f64 = 0.12;
/// What the votes of the best records are worth.
const VOTED: f64 = 0.06;
/// Places of one name that are looked at.
const MAX_PLACES: usize = 40;

/// How much each record gains by its anchors.
pub(super) struct CodeSignals {
    gains: HashMap<AnchoredRecord, f64>,
}

impl CodeSignals {
    /// The signals for a task, given the candidates that a search found, best first.
    pub(super) fn gather(
        view: &View<'_>,
        task: &str,
        candidates: &[ContextCandidate],
    ) -> Result<Self, StoreError> {
        let mut gains: HashMap<AnchoredRecord, f64> = HashMap::new();
        if view.anchors().page(None, 1)?.is_empty() {
            return Ok(Self { gains });
        }
        for name in code_words(task) {
            let anchors = view.anchors().named(&name, MAX_PLACES)?;
            let places: HashSet<String> =
                anchors.iter().map(|anchor| anchor.at.to_string()).collect();
            let weight = NAMED / (places.len().max(1) as f64).sqrt();
            for anchor in anchors {
                let gain = gains.entry(anchor.of).or_default();
                *gain = gain.max(weight);
            }
        }
        let votes = votes(view, candidates)?;
        let most = votes.values().copied().fold(f64::MIN_POSITIVE, f64::max);
        for (record, vote) in votes {
            *gains.entry(record).or_default() += VOTED * vote / most;
        }
        Ok(Self { gains })
    }

    /// What a record gains.
    pub(super) fn of(&self, candidate: &ContextCandidate) -> f64 {
        self.gains.get(&record_of(candidate)).copied().unwrap_or_default()
    }

    /// Records that the search did not find and that the task's own names lead to.
    pub(super) fn further(&self, known: &[ContextCandidate]) -> Vec<AnchoredRecord> {
        let known: HashSet<AnchoredRecord> = known.iter().map(record_of).collect();
        let mut further: Vec<(&AnchoredRecord, f64)> = self
            .gains
            .iter()
            .filter(|(record, gain)| **gain >= VOTED && !known.contains(record))
            .map(|(record, gain)| (record, *gain))
            .collect();
        further.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        further.into_iter().map(|(record, _)| record.clone()).take(VOTERS).collect()
    }
}

/// The anchors of the best records vote for their definitions, and these for their other records.
fn votes(
    view: &View<'_>,
    candidates: &[ContextCandidate],
) -> Result<HashMap<AnchoredRecord, f64>, StoreError> {
    let mut by_place: HashMap<String, (Anchor, f64)> = HashMap::new();
    let mut voters: HashMap<AnchoredRecord, f64> = HashMap::new();
    for candidate in candidates.iter().take(VOTERS) {
        let record = record_of(candidate);
        let anchors = view.anchors().of(&record)?;
        let share = candidate.why.worth() / (anchors.len().max(1) as f64).sqrt();
        voters.insert(record, candidate.why.worth());
        for anchor in anchors {
            let place = anchor.at.to_string();
            by_place.entry(place).or_insert_with(|| (anchor, 0.0)).1 += share;
        }
    }
    let mut votes: HashMap<AnchoredRecord, f64> = HashMap::new();
    for (anchor, vote) in by_place.into_values() {
        for other in anchors_at(view, &anchor.at)? {
            *votes.entry(other.of).or_default() += vote;
        }
    }
    Ok(votes)
}

/// A candidate as anchors know it.
pub(super) fn record_of(candidate: &ContextCandidate) -> AnchoredRecord {
    match &candidate.record {
        CandidateRecord::Decision(decision) => AnchoredRecord::Decision(decision.id.to_string()),
        CandidateRecord::Entry(entry, _) => AnchoredRecord::Entry(entry.id.clone()),
    }
}

/// Says how each candidate's code is, and lets what changed count a little less.
pub(super) fn label(candidates: &mut [ContextCandidate], mut notes: CodeNotes) {
    for candidate in candidates {
        if let Some(note) = notes.remove(&record_of(candidate)) {
            candidate.why.code -= note.state.demotion();
            // That nobody knows costs a reader tokens and helps no task; `why` and lists tell it.
            candidate.code = Some(note).filter(|note| note.state > CodeState::Unchecked);
        }
    }
}
