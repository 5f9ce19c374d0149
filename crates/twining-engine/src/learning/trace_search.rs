//! Finding traces.
//!
//! The file is read from its start each time, line by line, in bounded memory:
//! there is nothing to keep in step with git, and no hook waits for it. Words are
//! weighed by BM25; the best and the newest are then compared by meaning, which takes
//! longer than the walk over a hundred thousand lines.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{InvalidInput, Time, Trace, TraceType, Trust, text};
use twining_store::{StoredTrace, Term, terms};

use crate::fields::{self, is_false};
use crate::search::SearchMode;

/// Lines compared by meaning: the best by words, and as many of the newest.
const COMPARED: usize = 64;
/// How much the words count, and how much the meaning.
const LEXICAL: f64 = 0.4;
const SEMANTIC: f64 = 0.6;
/// Less alike than this, a line without any of the words has nothing to do with it.
const BESIDE_THE_POINT: f64 = 0.25;

/// What to look for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryTracesInput {
    /// Query; empty: the newest
    pub query: Option<String>,
    /// Only this type
    #[serde(rename = "type")]
    #[schemars(extend("enum" = TraceType::ALL.map(TraceType::as_str)))]
    pub kind: Option<String>,
    /// Only about this guard
    pub guard: Option<String>,
    /// Only of this agent
    pub agent: Option<String>,
    /// `true`: only blocked; `false`: only the rest
    pub blocked: Option<bool>,
    /// ISO 8601
    ///
    /// Only from this time on
    pub since: Option<String>,
    /// Only before this time
    pub until: Option<String>,
    /// Default 20
    pub limit: Option<usize>,
    /// Where the page begins
    pub offset: Option<usize>,
}

/// A trace that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceHit {
    /// The trace.
    pub trace: Trace,
    /// Its trust level here.
    pub trust: Trust,
    /// From 0 to 1, if words were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<f64>,
}

/// What was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryTracesOutcome {
    /// Best first; newest first if no words were given.
    pub traces: Vec<TraceHit>,
    /// How many there are in all.
    pub total: usize,
    /// How it was searched.
    pub mode: SearchMode,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Whether some were left out for size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// A question, every rule checked.
#[derive(Clone, Debug)]
pub(crate) struct QueryTracesDraft {
    pub(crate) query: Option<String>,
    kind: Option<TraceType>,
    guard: Option<String>,
    agent: Option<String>,
    blocked: Option<bool>,
    since: Option<Time>,
    until: Option<Time>,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
}

impl QueryTracesDraft {
    pub(crate) fn parse(input: &QueryTracesInput) -> Result<Self, InvalidInput> {
        let query = input.query.as_deref().filter(|query| !query.trim().is_empty());
        Ok(Self {
            query: fields::optional("query", query, fields::query)?,
            kind: fields::optional("type", input.kind.as_deref(), TraceType::parse)?,
            guard: fields::optional("guard", input.guard.as_deref(), text::name)?,
            agent: fields::optional("agent", input.agent.as_deref(), text::name)?,
            blocked: input.blocked,
            since: fields::optional("since", input.since.as_deref(), Time::parse)?,
            until: fields::optional("until", input.until.as_deref(), Time::parse)?,
            limit: fields::page("limit", input.limit, 20)?,
            offset: input.offset.unwrap_or(0),
        })
    }

    fn wants(&self, trace: &Trace) -> bool {
        let at = || Time::read(&trace.timestamp);
        self.kind.is_none_or(|kind| trace.kind() == Some(kind))
            && self.guard.as_deref().is_none_or(|guard| trace.guard.as_deref() == Some(guard))
            && self.agent.as_deref().is_none_or(|agent| trace.context.agent == agent)
            && self.blocked.is_none_or(|blocked| trace.blocked == blocked)
            && self.since.is_none_or(|since| at().is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| at().is_some_and(|at| at < until))
    }
}

/// A line that passes the filters, and how near it is to the question.
pub(crate) struct TraceMatch {
    id: String,
    pub(crate) offset: u64,
    pub(crate) written_here: bool,
    lexical: f64,
    semantic: f64,
}

impl TraceMatch {
    /// How well it answers, from 0 to 1.
    pub(crate) fn worth(&self, mode: SearchMode) -> f64 {
        match mode {
            SearchMode::Keyword => self.lexical,
            _ => LEXICAL * self.lexical + SEMANTIC * self.semantic,
        }
    }
}

/// A search under way.
pub(crate) struct TraceSearch<'q> {
    draft: &'q QueryTracesDraft,
    terms: Vec<Term>,
    found: Vec<TraceMatch>,
}

impl<'q> TraceSearch<'q> {
    pub(crate) fn new(draft: &'q QueryTracesDraft) -> Self {
        let terms = draft.query.as_deref().map(terms).unwrap_or_default();
        Self { draft, terms, found: Vec::new() }
    }

    /// Looks at one line.
    pub(crate) fn see(&mut self, seen: &StoredTrace<'_>) {
        let trace = Trace::read(seen.line).filter(|trace| self.draft.wants(trace));
        self.found.extend(trace.map(|trace| TraceMatch {
            id: seen.id.to_owned(),
            offset: seen.offset,
            written_here: seen.written_here,
            lexical: share(&trace, &self.terms),
            semantic: 0.0,
        }));
    }

    /// The places of the lines whose meaning may matter: the best by words, and the
    /// newest of all.
    pub(crate) fn candidates(&mut self) -> Vec<u64> {
        self.found.sort_unstable_by(|a, b| b.id.cmp(&a.id));
        let newest = self.found.iter().take(COMPARED);
        let mut by_words: Vec<&TraceMatch> =
            self.found.iter().filter(|found| found.lexical > 0.0).collect();
        by_words.sort_by(|a, b| b.lexical.total_cmp(&a.lexical));
        let mut places = HashSet::new();
        let all = by_words.into_iter().take(COMPARED).chain(newest);
        all.map(|found| found.offset).filter(|place| places.insert(*place)).collect()
    }

    /// Notes how near those are to the question.
    pub(crate) fn weigh_meaning(&mut self, places: &[u64], likeness: &[f64]) {
        for found in &mut self.found {
            if let Some(at) = places.iter().position(|place| *place == found.offset) {
                found.semantic = likeness.get(at).copied().unwrap_or_default().max(0.0);
            }
        }
    }

    /// The page that was asked for, and how many there are.
    pub(crate) fn page(mut self, mode: SearchMode) -> (Vec<TraceMatch>, usize) {
        if self.draft.query.is_some() {
            self.found.retain(|found| found.lexical > 0.0 || found.semantic >= BESIDE_THE_POINT);
        }
        let total = self.found.len();
        let worth = |found: &TraceMatch| found.worth(mode);
        self.found.sort_unstable_by(|a, b| worth(b).total_cmp(&worth(a)).then(b.id.cmp(&a.id)));
        (self.found.into_iter().skip(self.draft.offset).take(self.draft.limit).collect(), total)
    }
}

/// The share of the words asked for that a trace has.
fn share(trace: &Trace, terms: &[Term]) -> f64 {
    let text = trace.words().join(" ").to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let found = terms.iter().filter(|term| words.iter().any(|word| alike(word, &term.text)));
    found.count() as f64 / terms.len().max(1) as f64
}

/// Whether a word is the one asked for, or a form of it.
fn alike(word: &str, term: &str) -> bool {
    word == term
        || (term.len() >= 4 && word.len() <= term.len() + 3 && word.starts_with(term))
        || (word.len() >= 4 && term.len() <= word.len() + 3 && term.starts_with(word))
}

/// All that a trace says.
pub(crate) fn trace_text(trace: &Trace) -> String {
    trace.words().into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}
