//! Searching decisions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Confidence, Decision, DecisionStatus, InvalidInput, ProjectRoot, Time, text};
use twining_store::{DecisionFilter, View};

use crate::failure::Failure;
use crate::fields::{self, fit_reply, is_false, is_zero};
use crate::input::CONFIDENCES;
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
    #[schemars(extend("enum" = DecisionStatus::ALL.map(DecisionStatus::as_str)))]
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

impl SearchDecisionsInput {
    /// Which decisions it is about, every rule checked.
    pub(super) fn filter(&self, root: &ProjectRoot) -> Result<DecisionFilter, InvalidInput> {
        let confidence = self.confidence.as_deref();
        let status = fields::optional("status", self.status.as_deref(), DecisionStatus::parse)?;
        Ok(DecisionFilter {
            domain: fields::optional("domain", self.domain.as_deref(), text::name)?,
            statuses: status.into_iter().collect(),
            confidence: fields::optional("confidence", confidence, Confidence::parse)?,
            scope: fields::optional_scope(self.scope.as_deref(), root)?,
            since: fields::optional("since", self.since.as_deref(), Time::parse)?,
        })
    }
}

/// The decisions that answer a question, best first.
pub(crate) fn search_decisions(
    view: &View<'_>,
    filter: &DecisionFilter,
    limit: usize,
    question: &SearchQuery<'_>,
) -> Result<SearchDecisionsOutcome, Failure> {
    let records = DecisionSearch { decisions: view.decisions(), filter: filter.clone() };
    let ranking = search::rank(&records, question)?;
    let mut hits = Vec::new();
    for found in ranking.ranked.into_iter().take(limit) {
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
