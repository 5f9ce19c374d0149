//! Finding traces.
//!
//! The file is read from its start each time, line by line, in bounded memory:
//! there is nothing to keep in step with git, and no hook waits for it. Words are
//! weighed by BM25; the best and the newest are then compared by meaning, which takes
//! longer than the walk over a hundred thousand lines.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{InvalidInput, Time, Trace, TraceType, Trust, text};
use twining_store::{StoredTrace, Term, terms};

use crate::fields::{self, fit_reply, is_false};
use crate::search::SearchMode;

/// Lines compared by meaning: the best by words, and as many of the newest.
const COMPARED: usize = 64;
/// How much the words count, and how much the meaning; as in every search.
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

/// A line that may be asked for.
struct TraceMatch {
    id: String,
    offset: u64,
    written_here: bool,
    counts: Vec<u32>,
    length: f64,
    lexical: f64,
    semantic: f64,
}

/// A search under way.
pub(crate) struct TraceSearch<'q> {
    draft: &'q QueryTracesDraft,
    terms: Vec<Term>,
    /// Lines that pass the filters.
    found: Vec<TraceMatch>,
    /// Lines there are, and their bytes.
    lines: f64,
    bytes: f64,
}

/// A trace on the page that was asked for.
pub(crate) struct PageEntry {
    pub(crate) offset: u64,
    pub(crate) written_here: bool,
    pub(crate) relevance: Option<f64>,
}

impl<'q> TraceSearch<'q> {
    pub(crate) fn new(draft: &'q QueryTracesDraft) -> Self {
        let terms = draft.query.as_deref().map(terms).unwrap_or_default();
        Self { draft, terms, found: Vec::new(), lines: 0.0, bytes: 0.0 }
    }

    /// Looks at one line.
    pub(crate) fn see(&mut self, seen: &StoredTrace<'_>) {
        let length = seen.line.len() as f64;
        self.lines += 1.0;
        self.bytes += length;
        let Some(trace) = Trace::read(seen.line).filter(|trace| self.draft.wants(trace)) else {
            return;
        };
        self.found.push(TraceMatch {
            id: seen.id.to_owned(),
            offset: seen.offset,
            written_here: seen.written_here,
            counts: counts(&trace, &self.terms),
            length,
            lexical: 0.0,
            semantic: 0.0,
        });
    }

    /// The places of the lines whose meaning may matter: the best by words, and the
    /// newest of all.
    pub(crate) fn candidates(&mut self) -> Vec<u64> {
        self.weigh_words();
        let mut places: Vec<u64> = self
            .found
            .iter()
            .take(COMPARED)
            .filter(|found| found.lexical > 0.0)
            .map(|found| found.offset)
            .collect();
        let mut newest: Vec<&TraceMatch> = self.found.iter().collect();
        newest.sort_unstable_by(|a, b| b.id.cmp(&a.id));
        for found in newest.into_iter().take(COMPARED) {
            if !places.contains(&found.offset) {
                places.push(found.offset);
            }
        }
        places
    }

    /// Notes how near those are to the question.
    pub(crate) fn weigh_meaning(&mut self, places: &[u64], likeness: &[f64]) {
        for found in &mut self.found {
            if let Some(at) = places.iter().position(|place| *place == found.offset) {
                found.semantic = likeness.get(at).copied().unwrap_or_default().max(0.0);
            }
        }
    }

    fn weigh_words(&mut self) {
        let (all, average) = (self.lines, (self.bytes / self.lines.max(1.0)).max(1.0));
        let has =
            |found: &TraceMatch, at: usize| found.counts.get(at).is_some_and(|count| *count > 0);
        let holding: Vec<f64> = (0..self.terms.len())
            .map(|at| self.found.iter().filter(|found| has(found, at)).count() as f64)
            .collect();
        for found in &mut self.found {
            found.lexical = found
                .counts
                .iter()
                .zip(&holding)
                .map(|(count, holding)| {
                    let (count, rarity) =
                        (f64::from(*count), ((all - holding + 0.5) / (holding + 0.5) + 1.0).ln());
                    rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * found.length / average))
                })
                .sum();
        }
        let best = self.found.iter().map(|found| found.lexical).fold(f64::MIN_POSITIVE, f64::max);
        self.found.iter_mut().for_each(|found| found.lexical /= best);
        self.found.sort_unstable_by(|a, b| b.lexical.total_cmp(&a.lexical).then(b.id.cmp(&a.id)));
    }

    /// The page that was asked for, and how many there are.
    pub(crate) fn page(mut self, mode: SearchMode) -> (Vec<PageEntry>, usize) {
        let asked = self.draft.query.is_some();
        let worth = |found: &TraceMatch| match mode {
            SearchMode::Keyword => found.lexical,
            _ => LEXICAL * found.lexical + SEMANTIC * found.semantic,
        };
        if asked {
            self.found.retain(|found| found.lexical > 0.0 || found.semantic >= BESIDE_THE_POINT);
        }
        let total = self.found.len();
        self.found.sort_unstable_by(|a, b| worth(b).total_cmp(&worth(a)).then(b.id.cmp(&a.id)));
        let rounded = |worth: f64| (worth.clamp(0.0, 1.0) * 1000.0).round() / 1000.0;
        let page = self.found.iter().skip(self.draft.offset).take(self.draft.limit);
        let placed = |found: &TraceMatch| PageEntry {
            offset: found.offset,
            written_here: found.written_here,
            relevance: asked.then(|| rounded(worth(found))),
        };
        (page.map(placed).collect(), total)
    }
}

/// How often each word asked for stands in a trace.
fn counts(trace: &Trace, terms: &[Term]) -> Vec<u32> {
    let mut counts = vec![0; terms.len()];
    if terms.is_empty() {
        return counts;
    }
    for word in trace
        .words()
        .into_iter()
        .flat_map(|part| part.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
    {
        // Nearly all text is ASCII in small letters already.
        let is_folded = word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        let word = if is_folded { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) };
        for (term, count) in terms.iter().zip(&mut counts) {
            *count += u32::from(alike(&word, &term.text));
        }
    }
    counts
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

/// The answer to a question.
pub(crate) fn outcome(
    draft: &QueryTracesDraft,
    hits: Vec<TraceHit>,
    total: usize,
    mode: SearchMode,
) -> QueryTracesOutcome {
    let (traces, truncated) = fit_reply(hits);
    let next = draft.offset + traces.len();
    QueryTracesOutcome {
        next_offset: (next < total && !traces.is_empty()).then_some(next),
        traces,
        total,
        mode,
        truncated,
    }
}
