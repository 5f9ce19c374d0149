//! Searching decisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Decision, DecisionStatus, InvalidInput, ProjectRoot, Scope, Time, text};
use twining_store::{DecisionFilter, View};

use crate::decisions::decide::confidence;
use crate::failure::Failure;
use crate::fields;
use crate::fields::{fit_reply, is_false, is_zero};
use crate::input::{CONFIDENCES, STATUSES};
use crate::search::{self, DecisionSearch, ScoreParts, SearchMode, SearchQuery};

/// What to search decisions for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchDecisionsInput {
    /// What to look for
    pub query: String,
    /// Only this domain
    pub domain: Option<String>,
    /// Only this status
    #[schemars(extend("enum" = STATUSES))]
    pub status: Option<String>,
    /// Only this confidence
    #[schemars(extend("enum" = CONFIDENCES))]
    pub confidence: Option<String>,
    /// Only where the scope overlaps this one
    pub scope: Option<String>,
    /// ISO 8601
    ///
    /// Only from this time on
    pub since: Option<String>,
    /// Default 20
    pub limit: Option<usize>,
}

/// A decision that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionHit {
    /// The decision.
    pub decision: Decision,
    /// From 0 to 1.
    pub relevance: f64,
    /// Each signal's contribution.
    pub why: ScoreParts,
}

/// What was found among the decisions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchDecisionsOutcome {
    /// Best first.
    pub results: Vec<DecisionHit>,
    /// How it was searched.
    pub mode: SearchMode,
    /// Texts not embedded yet, found by keyword only.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_yet_embedded: u64,
    /// Whether weaker ones were left out for size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// A search, every rule checked.
#[derive(Clone, Debug)]
pub struct SearchDecisionsDraft {
    pub(crate) text: String,
    filter: DecisionFilter,
    limit: usize,
}

impl SearchDecisionsDraft {
    /// Checks every word.
    pub fn parse(input: &SearchDecisionsInput, root: &ProjectRoot) -> Result<Self, InvalidInput> {
        Ok(Self {
            text: fields::query("query", &input.query)?,
            filter: DecisionFilter {
                domain: input
                    .domain
                    .as_deref()
                    .map(|domain| text::name("domain", domain))
                    .transpose()?,
                statuses: input.status.as_deref().map(status).transpose()?.into_iter().collect(),
                confidence: input
                    .confidence
                    .as_deref()
                    .map(|word| confidence("confidence", word))
                    .transpose()?,
                scope: input
                    .scope
                    .as_deref()
                    .map(|scope| Scope::parse("scope", scope, root))
                    .transpose()?,
                since: input
                    .since
                    .as_deref()
                    .map(|since| Time::parse("since", since))
                    .transpose()?,
            },
            limit: fields::page("limit", input.limit, 20)?,
        })
    }
}

/// The decisions that answer a question, best first.
pub(crate) fn search_decisions(
    view: &View<'_>,
    draft: &SearchDecisionsDraft,
    question: &SearchQuery<'_>,
) -> Result<SearchDecisionsOutcome, Failure> {
    let records = DecisionSearch { decisions: view.decisions(), filter: draft.filter.clone() };
    let ranking = search::rank(&records, question)?;
    let mut hits = Vec::new();
    for found in ranking.ranked.into_iter().take(draft.limit) {
        let (relevance, why) = (found.why.relevance(), found.why.rounded());
        hits.push(DecisionHit { decision: view.decisions().at_row(found.row)?, relevance, why });
    }
    let (results, truncated) = fit_reply(hits);
    Ok(SearchDecisionsOutcome {
        results,
        mode: ranking.mode,
        not_yet_embedded: question.waiting,
        truncated,
    })
}

fn status(word: &str) -> Result<DecisionStatus, InvalidInput> {
    let known = [
        DecisionStatus::Active,
        DecisionStatus::Provisional,
        DecisionStatus::Superseded,
        DecisionStatus::Overridden,
    ]
    .map(|s| (s.as_str(), s));
    fields::one_of("status", word.trim(), &known)
}
