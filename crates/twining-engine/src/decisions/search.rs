//! Searching decisions by words.

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{Decision, Refused, Status, text};
use twining_store::{DecisionFilter, View};

use crate::answer::{is_false, within_answer};
use crate::blackboard::SearchMode;
use crate::decisions::draft::confidence;
use crate::failure::Failure;
use crate::words;

/// What to search decisions for.
#[derive(Clone, Debug, Default)]
pub struct SearchDecisionsInput {
    /// Words.
    pub query: String,
    /// Only this domain.
    pub domain: Option<String>,
    /// Only this status.
    pub status: Option<String>,
    /// Only this confidence.
    pub confidence: Option<String>,
    /// At most so many; 20 by default.
    pub limit: Option<usize>,
}

/// A decision that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionHit {
    /// The decision.
    pub decision: Decision,
    /// From 0 to 1.
    pub relevance: f64,
}

/// What was found among the decisions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchDecisionsOutcome {
    /// Best first.
    pub results: Vec<DecisionHit>,
    /// How it was searched.
    pub mode: SearchMode,
    /// Whether weaker ones were left out for size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// The decisions that speak of these words, best first.
pub fn search_decisions(view: &View<'_>, input: &SearchDecisionsInput) -> Result<SearchDecisionsOutcome, Failure> {
    let query = words::query("query", &input.query)?;
    let filter = DecisionFilter {
        domain: input.domain.as_deref().map(|domain| text::name("domain", domain)).transpose()?,
        statuses: input.status.as_deref().map(status).transpose()?.into_iter().collect(),
        confidence: input.confidence.as_deref().map(|word| confidence("confidence", word)).transpose()?,
        ..DecisionFilter::default()
    };
    let hits = view.decisions().search(&query, &filter, words::page("limit", input.limit, 20)?)?;
    let hits = hits.into_iter().map(|hit| DecisionHit { decision: hit.item, relevance: hit.relevance }).collect();
    let (results, truncated) = within_answer(hits);
    Ok(SearchDecisionsOutcome { results, mode: SearchMode::Keyword, truncated })
}

fn status(word: &str) -> Result<Status, Refused> {
    let known = [Status::Active, Status::Provisional, Status::Superseded, Status::Overridden].map(|s| (s.as_str(), s));
    words::one_of("status", word.trim(), &known)
}
