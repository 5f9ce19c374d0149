//! Finding decisions: by words, by id, and those that cannot be read or disagree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    CaseFolding, Confidence, Decision, DecisionStatus, Id, InvalidInput, ProjectRoot, Scope, Time,
    text,
};
use twining_store::merge::HAS_CONFLICT_MARKERS;
use twining_store::{DecisionFilter, StoreError, Unreadable, View};

use crate::anchors::CodeNote;
use crate::failure::Failure;
use crate::fields::{self, fit_reply, is_false, is_zero};
use crate::input_types::CONFIDENCES;
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
    /// Leave out records whose code changed
    #[serde(default)]
    pub fresh_only: bool,
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
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
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
    /// Those left out because their code changed.
    #[serde(skip_serializing_if = "is_zero")]
    pub stale_count: u64,
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
            ..DecisionFilter::default()
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
        let mut decision = view.decisions().at_row(found.row)?;
        decision.origin.iter_mut().for_each(|origin| origin.head = None);
        hits.push(DecisionHit { decision, relevance, why, code: None });
    }
    let (results, truncated) = fit_reply(hits);
    Ok(SearchDecisionsOutcome {
        results,
        mode: ranking.mode,
        not_yet_embedded: question.waiting,
        truncated,
        stale_count: 0,
    })
}

/// Where their files are, as the view names them.
const FOLDER: &str = "decisions/";
/// Characters of what is wrong with a file.
const WHY_SHOWN: usize = 200;

/// The decision with this id.
pub(crate) fn find(view: &View<'_>, id: &Id) -> Result<Decision, Failure> {
    match view.decisions().get(id)? {
        Some(decision) => Ok(decision),
        None => Err(match unreadable(view, id)? {
            Some(bad) => Failure::Unreadable {
                id: id.clone(),
                file: bad.file,
                why: text::excerpt(&bad.why, WHY_SHOWN),
            },
            None => Failure::no_decision(id),
        }),
    }
}

/// What is wrong with a decision's file, if it is there and cannot be read.
pub(crate) fn unreadable(view: &View<'_>, id: &Id) -> Result<Option<Unreadable>, StoreError> {
    let file = format!("{FOLDER}{id}.json");
    Ok(unreadable_files(view)?.into_iter().find(|bad| bad.file == file))
}

/// The decision files that cannot be read.
pub(crate) fn unreadable_files(view: &View<'_>) -> Result<Vec<Unreadable>, StoreError> {
    let mut files = view.unreadable()?;
    files.retain(|bad| bad.file.starts_with(FOLDER) && bad.why != HAS_CONFLICT_MARKERS);
    Ok(files)
}

/// Whether two decisions answer one question differently, whatever their scope.
pub(crate) fn disagree(left: &Decision, right: &Decision, folding: CaseFolding) -> bool {
    left.id != right.id
        && same_domain(&left.domain, &right.domain)
        && Scope::read(&left.scope).overlaps(&Scope::read(&right.scope), folding)
        && fields::fold(&left.summary) != fields::fold(&right.summary)
        && !left.compatible_with.iter().any(|id| id == right.id.as_str())
        && !right.compatible_with.iter().any(|id| id == left.id.as_str())
}

/// The status of a decision that is out of force, and its replacement.
pub(crate) fn retired(decision: &Decision) -> String {
    match &decision.superseded_by {
        Some(by) => {
            format!("it is {}; {} replaces it", decision.status.as_str(), text::excerpt(by, 40))
        }
        None => format!("it is {}", decision.status.as_str()),
    }
}

/// Whether two words name one domain.
pub(crate) fn same_domain(left: &str, right: &str) -> bool {
    left.trim().to_lowercase() == right.trim().to_lowercase()
}
