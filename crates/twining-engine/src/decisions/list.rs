//! Listing: every decision that passes some filters, newest first, page by page.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    Confidence, Decision, DecisionStatus, Id, InvalidInput, ProjectRoot, limits, text,
};
use twining_store::{ActiveContest, DecisionFilter, StoreError, View, terms};

use crate::decisions::clauses::items_of;
use crate::decisions::why::contesting;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::{self, fit_reply, is_false, is_zero};

/// Decisions on a page unless the caller says.
const PAGE: usize = 50;
/// Characters of a rationale.
const RATIONALE: usize = 300;
/// Rivals that are named.
const RIVALS: usize = 5;

/// Which decisions to list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DecisionsInput {
    /// Only of these statuses
    #[schemars(extend("x-offered" = DecisionStatus::ALL.map(DecisionStatus::as_str)))]
    pub status: Vec<String>,
    /// Only of this domain
    pub domain: Option<String>,
    /// Only where the scope overlaps this one
    pub scope: Option<String>,
    /// Only by this author
    pub author: Option<String>,
    /// `true`: only contested; `false`: only the rest
    pub contested: Option<bool>,
    /// Only with all of these words
    pub query: Option<String>,
    /// Default 50
    pub limit: Option<usize>,
    /// Where the page begins
    pub offset: Option<usize>,
}

/// A decision in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListedDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// The beginning of its reasons.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rationale: String,
    /// The kind of question.
    pub domain: String,
    /// What it governs.
    pub scope: String,
    /// Its status.
    pub status: DecisionStatus,
    /// How sure its author is.
    pub confidence: Confidence,
    /// Who made it, self-reported.
    pub by: String,
    /// When it was made.
    pub at: String,
    /// Decisions in force that it has yet to be settled with; at most 5.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested_by: Vec<Id>,
    /// What replaced it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// How many commits carry it out.
    #[serde(skip_serializing_if = "is_zero")]
    pub commits: u64,
    /// Libraries and paths it rules out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub must_not_use: Vec<String>,
}

/// A page of decisions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DecisionsOutcome {
    /// Newest first.
    pub decisions: Vec<ListedDecision>,
    /// How many there are in all.
    pub total: u64,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Whether some were left out for size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

impl DecisionsInput {
    fn filter(&self, root: &ProjectRoot) -> Result<DecisionFilter, InvalidInput> {
        let statuses = self.status.iter().map(|word| DecisionStatus::parse("status", word));
        let query = self.query.as_deref().filter(|query| !query.trim().is_empty());
        let words = fields::optional("query", query, fields::query)?.map(|query| terms(&query));
        if words.as_ref().is_some_and(Vec::is_empty) {
            return Err(InvalidInput::new("query", "must have a word to look for"));
        }
        Ok(DecisionFilter {
            domain: fields::optional("domain", self.domain.as_deref(), text::name)?,
            statuses: statuses.collect::<Result<_, _>>()?,
            scope: fields::optional_scope(self.scope.as_deref(), root)?,
            author: fields::optional("author", self.author.as_deref(), text::name)?,
            words: words.unwrap_or_default(),
            ..DecisionFilter::default()
        })
    }
}

/// Which decisions have yet to be settled with which.
#[derive(Debug, Default)]
pub(crate) struct Contests {
    /// Those of two branches.
    pub(crate) active: Vec<ActiveContest>,
    /// By each of two that disagree; both ways.
    rivals: HashMap<Id, Vec<Id>>,
}

impl Contests {
    fn of(view: &View<'_>) -> Result<Self, StoreError> {
        let decisions = view.decisions();
        let mut contests = Self { active: decisions.active_contests()?, ..Self::default() };
        let mut pairs: Vec<(Id, Id)> = Vec::new();
        for contest in &contests.active {
            pairs.extend(contest.rivals.iter().map(|rival| (contest.id.clone(), rival.clone())));
        }
        for waiting in decisions.provisional()? {
            let Some(decision) = decisions.get(&waiting.id)? else { continue };
            let rivals = decisions.contesters(&decision, contesting(decision.status), RIVALS)?;
            pairs.extend(rivals.into_iter().map(|rival| (waiting.id.clone(), rival)));
        }
        for (one, other) in pairs {
            contests.add(&one, &other);
            contests.add(&other, &one);
        }
        Ok(contests)
    }

    fn add(&mut self, one: &Id, other: &Id) {
        let known = self.rivals.entry(one.clone()).or_default();
        if known.len() < RIVALS && !known.contains(other) {
            known.push(other.clone());
        }
    }
}

/// The contests of the decisions with this digest: nothing else changes them.
#[derive(Default)]
struct ContestCache(Mutex<Option<(u64, Arc<Contests>)>>);

impl Engine {
    /// Lists decisions, newest first.
    pub fn decisions(&self, input: &DecisionsInput) -> Result<DecisionsOutcome, Failure> {
        let mut filter = input.filter(self.store().root())?;
        let limit = fields::page("limit", input.limit, PAGE)?;
        let offset = input.offset.unwrap_or(0);
        self.store().view(|view| {
            let contests = self.contests(view)?;
            let contested = || contests.rivals.keys().cloned().collect::<Vec<_>>();
            match input.contested {
                Some(true) => filter.ids = Some(contested()),
                Some(false) => filter.except = contested(),
                None => {}
            }
            let page = view.decisions().page_from(&filter, offset, limit)?;
            let listed = page.items.into_iter().map(|decision| listed(decision, &contests));
            let (decisions, truncated) = fit_reply(listed.collect());
            let next = offset.saturating_add(decisions.len());
            let has_more = !decisions.is_empty() && (next as u64) < page.total;
            let next_offset = has_more.then_some(next);
            Ok(DecisionsOutcome { decisions, total: page.total, next_offset, truncated })
        })
    }

    /// The contests between decisions that belong to what is checked out.
    pub(crate) fn contests_here(
        &self,
        view: &View<'_>,
        mut contests: Vec<ActiveContest>,
    ) -> Result<Vec<ActiveContest>, Failure> {
        let ids =
            contests.iter().flat_map(|contest| [&contest.id].into_iter().chain(&contest.rivals));
        let elsewhere = self.decisions_elsewhere(view, ids.cloned())?;
        for contest in &mut contests {
            contest.rivals.retain(|rival| !elsewhere.contains(rival));
        }
        contests.retain(|contest| !elsewhere.contains(&contest.id) && !contest.rivals.is_empty());
        Ok(contests)
    }

    /// Which decisions have yet to be settled with which; looked for again when one changed.
    pub(crate) fn contests(&self, view: &View<'_>) -> Result<Arc<Contests>, StoreError> {
        let (cache, digest) = (self.state::<ContestCache>(), view.decisions().digest()?);
        let known = cache.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, known)) = known.filter(|(at, _)| *at == digest) {
            return Ok(known);
        }
        let found = Arc::new(Contests::of(view)?);
        let mut known = cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((digest, Arc::clone(&found)));
        Ok(found)
    }
}

fn listed(decision: Decision, contests: &Contests) -> ListedDecision {
    let mut commits: Vec<&String> = decision.commit_hashes.iter().collect();
    commits.extend(decision.commits.iter().map(|commit| &commit.hash));
    commits.sort_unstable();
    commits.dedup();
    ListedDecision {
        contested_by: contests.rivals.get(&decision.id).cloned().unwrap_or_default(),
        commits: commits.len().min(limits::LIST) as u64,
        must_not_use: items_of(&decision),
        rationale: fields::shorten(&decision.rationale, RATIONALE),
        id: decision.id,
        summary: decision.summary,
        domain: decision.domain,
        scope: decision.scope,
        status: decision.status,
        confidence: decision.confidence,
        by: decision.agent_id,
        at: decision.timestamp,
        superseded_by: decision.superseded_by,
    }
}

#[cfg(test)]
mod tests {
    use twining_model::Authority;

    use super::*;
    use crate::testing::{Project, caller, choice};
    use crate::{DecideInput, PromoteInput};

    fn list(project: &Project, input: &DecisionsInput) -> (Vec<String>, u64, Option<usize>) {
        let page = project.engine.decisions(input).expect("lists");
        let summaries = page.decisions.into_iter().map(|decision| decision.summary);
        (summaries.collect(), page.total, page.next_offset)
    }

    fn shop() -> Project {
        let project = Project::new();
        project.decide(&choice("api", "src/", "use rest"));
        project.decide(&DecideInput {
            rules_out: vec!["moment".into()],
            ..choice("dates", "src/", "use temporal for dates")
        });
        project.engine.decide(&caller("bob"), &choice("api", "src/", "use grpc")).expect("decides");
        project
    }

    #[test]
    fn filters_are_answered_page_by_page() {
        let project = shop();
        let all = DecisionsInput::default;
        let page = list(&project, &DecisionsInput { limit: Some(2), ..all() });
        assert_eq!(page, (vec!["use grpc".into(), "use temporal for dates".into()], 3, Some(2)));
        let page = list(&project, &DecisionsInput { offset: Some(2), ..all() });
        assert_eq!(page, (vec!["use rest".into()], 3, None));
        let cases = [
            (DecisionsInput { status: vec!["provisional".into()], ..all() }, "use grpc"),
            (DecisionsInput { author: Some("BOB".into()), ..all() }, "use grpc"),
            (DecisionsInput { contested: Some(false), ..all() }, "use temporal for dates"),
            (
                DecisionsInput { query: Some("date temporal".into()), ..all() },
                "use temporal for dates",
            ),
            (DecisionsInput { domain: Some("dates".into()), ..all() }, "use temporal for dates"),
        ];
        twining_testcases::each(cases, |(input, found)| {
            assert_eq!(list(&project, &input), (vec![found.to_owned()], 1, None));
        });
        let contested = DecisionsInput { contested: Some(true), ..all() };
        assert_eq!(list(&project, &contested).0, ["use grpc", "use rest"]);
        let unknown = DecisionsInput { status: vec!["maybe".into()], ..all() };
        assert_eq!(
            project.engine.decisions(&unknown).expect_err("refused").code(),
            "INVALID_INPUT"
        );
    }

    #[test]
    fn a_decision_says_what_it_rules_out_and_with_which_it_has_to_be_settled() {
        let project = shop();
        let page = project.engine.decisions(&DecisionsInput::default()).expect("lists");
        let [grpc, dates, rest] = &page.decisions[..] else { panic!("three decisions") };
        assert_eq!(dates.must_not_use, ["moment"]);
        assert_eq!(rest.contested_by, std::slice::from_ref(&grpc.id));
        assert_eq!(grpc.contested_by, std::slice::from_ref(&rest.id));
        let both = PromoteInput {
            decision_ids: vec![grpc.id.to_string()],
            reason: Some("one for each side".into()),
            ..PromoteInput::default()
        };
        project.engine.promote(&caller("ada"), Authority::Claimed, &both).expect("promotes");
        let contested = DecisionsInput { contested: Some(true), ..DecisionsInput::default() };
        assert_eq!(list(&project, &contested).1, 0, "both are kept");
    }
}
