//! Telling: how much of a record goes into the reply, and why it is there.

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{Confidence, Decision, DecisionStatus, Entry, EntryType, Id};

use crate::context::gather::{CandidateRecord, ContextCandidate};
use crate::search::ScoreParts;
use crate::words;

/// Characters of a reason or a detail, and of one that there is room for; the
/// record has the rest.
const TEXT: usize = 480;
const WHOLE: usize = 2400;
/// Files of a decision.
const FILES: usize = 5;
/// Characters of a scope.
const SCOPE: usize = 120;

/// How much is told of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DetailLevel {
    /// With all of its reasons or its detail.
    Whole,
    /// With its reasons or its detail.
    Full,
    /// Its summary.
    Brief,
}

impl DetailLevel {
    fn text(self) -> usize {
        if self == Self::Whole { WHOLE } else { TEXT }
    }
}

/// What is told.
#[derive(Clone, Debug)]
pub(super) enum ContextItem {
    Decision(ContextDecision),
    Entry(ContextEntry, EntryType),
}

/// A decision to follow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Its reasons, shortened; none where it is told in brief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// How sure its author is.
    pub confidence: Confidence,
    /// Active or provisional.
    pub status: DecisionStatus,
    /// What it speaks of.
    pub scope: String,
    /// Decisions in force that say otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested_by: Vec<Id>,
    /// Files it affects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affected_files: Vec<String>,
    /// Why it is here.
    pub why: String,
}

/// An entry to know of.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextEntry {
    /// Its id.
    pub id: String,
    /// What kind it is, where the list does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_type: Option<String>,
    /// Its line.
    pub summary: String,
    /// The rest, shortened; none where it is told in brief.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What it speaks of.
    pub scope: String,
    /// When.
    pub timestamp: String,
    /// Why it is here.
    pub why: String,
}

/// Tells of a candidate.
pub(super) fn render(candidate: &ContextCandidate, level: DetailLevel) -> ContextItem {
    let why = reasons(&candidate.why, candidate.binds);
    match &candidate.record {
        CandidateRecord::Decision(decision) => ContextItem::Decision(render_decision(decision, &candidate.contested_by, level, why)),
        CandidateRecord::Entry(entry, kind) => ContextItem::Entry(render_entry(entry, *kind, level, why), *kind),
    }
}

fn render_decision(decision: &Decision, contested_by: &[Id], level: DetailLevel, why: String) -> ContextDecision {
    let full = level != DetailLevel::Brief;
    ContextDecision {
        id: decision.id.clone(),
        summary: words::summary(&decision.summary),
        rationale: full.then(|| words::shorten(&decision.rationale, level.text())),
        confidence: decision.confidence,
        status: decision.status,
        scope: words::shorten(&decision.scope, SCOPE),
        contested_by: contested_by.to_vec(),
        affected_files: if full { decision.affected_files.iter().take(FILES).cloned().collect() } else { Vec::new() },
        why,
    }
}

fn render_entry(entry: &Entry, kind: EntryType, level: DetailLevel, why: String) -> ContextEntry {
    let listed = matches!(kind, EntryType::Warning | EntryType::Need | EntryType::Question | EntryType::Finding);
    let detail = (level != DetailLevel::Brief).then(|| words::shorten(&entry.detail, level.text()));
    ContextEntry {
        id: entry.id.clone(),
        entry_type: (!listed).then(|| entry.entry_type.clone()),
        summary: words::summary(&entry.summary),
        detail: detail.filter(|detail| !detail.is_empty() && *detail != entry.summary),
        scope: words::shorten(&entry.scope, SCOPE),
        timestamp: entry.timestamp.clone(),
        why,
    }
}

/// The signals that brought a record in, the strongest first.
fn reasons(why: &ScoreParts, binds: bool) -> String {
    let mut parts = [
        (why.lexical, "words"),
        (why.semantic, "meaning"),
        (why.scope, "scope"),
        (why.author, "author named"),
        (why.kind, "kind"),
        (why.graph, "linked"),
        (why.recency, "recent"),
        (why.human, "a person said it"),
    ];
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named = parts.iter().filter(|(worth, _)| *worth >= 0.02).map(|(_, name)| *name).take(3);
    let first = binds.then_some("binds here");
    first.into_iter().chain(named).collect::<Vec<_>>().join(", ")
}
