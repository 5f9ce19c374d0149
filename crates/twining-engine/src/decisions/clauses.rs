//! What binds an agent besides the policy: decisions and reviewed knowledge that
//! say what must not be used.

use std::collections::BTreeSet;

use twining_model::{Authority, CaseFolding, Decision, DecisionStatus, Scope, Trust, text};
use twining_store::{Decisions, StoreError, UnsettledDecision, View};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::knowledge::EdgeFact;
use twining_guard::{Clause, globs_of, ruled_out};

/// Characters of a record's words that a guard repeats.
const REASON_CHARS: usize = 200;
/// Decisions in a row that are followed, each in the place of the one before.
const MOST_SUCCESSORS: usize = 64;

impl Engine {
    /// Every clause in force. Opens the index; frequent callers should cache the result.
    pub fn clauses(&self) -> Result<Vec<Clause>, Failure> {
        if !self.store().exists()? {
            return Ok(Vec::new());
        }
        let mut clauses = self.store().view(|view| {
            let decisions = view.decisions();
            let mut clauses = Vec::new();
            for decision in decisions.containing_text("must_not_use")? {
                let still = match decision.status {
                    DecisionStatus::Active | DecisionStatus::Provisional => items_of(&decision),
                    // A claim is not enough: someone with authority must have confirmed it.
                    DecisionStatus::Overridden
                        if decision.override_authority == Some(Authority::Confirmed) =>
                    {
                        Vec::new()
                    }
                    DecisionStatus::Overridden => items_of(&decision),
                    DecisionStatus::Superseded => remaining_items(&decisions, &decision)?,
                };
                clauses.extend(of_decision(&decision, still));
            }
            Ok::<_, twining_store::StoreError>(clauses)
        })?;
        // Knowledge that cannot be read binds nobody; its own check says so.
        if let Ok(facts) = self.knowledge_facts() {
            clauses.extend(facts.must_not_use.iter().filter_map(clause_of_edge));
        }
        Ok(clauses)
    }
}

/// What a decision about to be superseded rules out and its successor, made by an agent, does not:
/// that stays ruled out until a person lifts it.
pub(crate) fn dropped(old: &Decision, successor: &Decision) -> Vec<String> {
    if old.override_authority == Some(Authority::Confirmed) || is_by_person(successor) {
        return Vec::new();
    }
    items_of(old).into_iter().filter(|item| !carries(successor, old, item)).collect()
}

/// Clauses of a superseded decision that remain in force. An agent that replaces it lifts nothing
/// by omitting a clause; a clause the successor repeats is the successor's.
fn remaining_items(decisions: &Decisions<'_>, old: &Decision) -> Result<Vec<String>, StoreError> {
    let mut left = items_of(old);
    let mut next = decisions.successors(&old.id)?;
    let (mut seen, mut is_direct) = (0, true);
    while !next.is_empty() && seen < MOST_SUCCESSORS {
        for id in std::mem::take(&mut next) {
            seen += 1;
            let Some(successor) = decisions.get(&id)? else { continue };
            if is_by_person(&successor) && successor.status.binds() {
                return Ok(Vec::new());
            }
            // What a successor of a successor says is weighed where that one is.
            if is_direct {
                left.retain(|item| !carries(&successor, old, item));
            }
            next.extend(decisions.successors(&id)?);
        }
        is_direct = false;
    }
    Ok(left)
}

fn carries(successor: &Decision, old: &Decision, item: &str) -> bool {
    // One that only warns takes nothing over from one that blocks.
    !is_contested(successor)
        && Scope::read(&successor.scope).covers(&Scope::read(&old.scope), CaseFolding::Exact)
        && items_of(successor).iter().any(|other| other == item)
}

/// Whether a person made it.
fn is_by_person(decision: &Decision) -> bool {
    decision.origin.as_ref().is_some_and(|origin| origin.trust == Trust::Human)
}

/// Overrides that no person confirmed, and that no person's decision took the place of.
pub(crate) fn open_claimed_overrides(view: &View<'_>) -> Result<Vec<UnsettledDecision>, Failure> {
    let mut open = view.decisions().unconfirmed_overrides()?;
    let mut settled = BTreeSet::new();
    for UnsettledDecision { id, .. } in &open {
        for successor in view.decisions().successors(id)? {
            let new = view.decisions().get(&successor)?;
            if new.is_some_and(|new| is_by_person(&new) && new.status.binds()) {
                settled.insert(id.clone());
            }
        }
    }
    open.retain(|claimed| !settled.contains(&claimed.id));
    Ok(open)
}

/// Whether it was never in force: it disagreed with others when it was made. One that
/// was, and that somebody doubts since, goes on to hold.
fn is_contested(decision: &Decision) -> bool {
    decision.status == DecisionStatus::Provisional
        && !decision.history.iter().any(|change| change.status == DecisionStatus::Provisional)
}

/// The libraries and paths that it rules out.
pub(crate) fn items_of(decision: &Decision) -> Vec<String> {
    decision.constraints.iter().flat_map(|constraint| ruled_out(constraint)).collect()
}

/// Everything that a decision rules out, whatever became of it.
pub(crate) fn clause_of_decision(decision: &Decision) -> Option<Clause> {
    of_decision(decision, items_of(decision))
}

fn of_decision(decision: &Decision, must_not_use: Vec<String>) -> Option<Clause> {
    (!must_not_use.is_empty()).then(|| Clause {
        id: format!("decision-{}", decision.id),
        paths: globs_of(&decision.scope),
        must_not_use,
        say: quoted_reason(&with_reason(&decision.summary, &decision.rationale)),
        is_contested: is_contested(decision),
    })
}

/// What an edge of the reviewed graph rules out.
pub(crate) fn clause_of_edge(edge: &EdgeFact) -> Option<Clause> {
    let paths: Vec<String> = split(&edge.from_path).flat_map(globs_of).collect();
    let named = split(&edge.to_path).map(str::to_owned).collect::<Vec<_>>();
    // A node without a path is called as it is imported.
    let must_not_use = if named.is_empty() { vec![edge.to.clone()] } else { named };
    let why = if edge.note.is_empty() { &edge.description } else { &edge.note };
    (!paths.is_empty()).then(|| Clause {
        id: format!("knowledge-{}-{}", edge.from, edge.to),
        paths,
        must_not_use,
        say: quoted_reason(&format!("{} must not use {}: {why}", edge.from, edge.to)),
        is_contested: false,
    })
}

fn split(paths: &str) -> impl Iterator<Item = &str> {
    paths.split(',').map(str::trim).filter(|path| !path.is_empty())
}

/// What was decided, and why.
fn with_reason(summary: &str, rationale: &str) -> String {
    let (summary, rationale) = (summary.trim().trim_end_matches('.'), rationale.trim());
    if rationale.is_empty() {
        summary.to_owned()
    } else {
        format!("{summary}, because {rationale}")
    }
}

fn quoted_reason(words: &str) -> String {
    text::visible(&text::excerpt(words, REASON_CHARS)).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use twining_model::{Authority, Id};

    use super::*;
    use crate::decisions::{DecideInput, ReconsiderInput};
    use crate::testing::{Project, caller, choice, person};

    fn without(items: &str, scope: &str, supersedes: Option<&Id>) -> DecideInput {
        let constraints =
            if items.is_empty() { Vec::new() } else { vec![format!("must_not_use: {items}")] };
        DecideInput {
            constraints,
            supersedes: supersedes.map(Id::to_string),
            ..choice("dates", scope, &format!("{scope} without {items}"))
        }
    }

    /// What is ruled out, and whether it is contested.
    fn ruled(project: &Project) -> Vec<(String, bool)> {
        let clauses = project.engine.clauses().expect("reads");
        let mut ruled: Vec<(String, bool)> = clauses
            .iter()
            .flat_map(|clause| {
                clause.must_not_use.iter().map(|item| (item.clone(), clause.is_contested))
            })
            .collect();
        ruled.sort();
        ruled
    }

    fn blocks(items: &[&str]) -> Vec<(String, bool)> {
        items.iter().map(|item| ((*item).to_owned(), false)).collect()
    }

    #[test]
    fn an_agent_s_successor_lifts_no_clause_by_leaving_it_out() {
        let project = Project::new();
        let first = project.decide(&without("moment, luxon", "src/", None));
        let second = project.decide(&without("luxon", "project", Some(&first.id)));
        let listed = second.still_ruled_out.expect("is told");
        assert!(
            listed.starts_with("moment stays ruled out")
                && listed.contains(&format!("twining override {}", first.id)),
            "{listed}"
        );
        assert_eq!(
            ruled(&project),
            blocks(&["luxon", "moment"]),
            "what is carried on is said once"
        );
        let third = project.decide(&without("", "project", Some(&second.id)));
        assert!(third.still_ruled_out.is_some_and(|listed| listed.starts_with("luxon ")));
        assert_eq!(ruled(&project), blocks(&["luxon", "moment"]), "nor by two steps");
        project.override_as(Authority::Claimed, &first.id, None);
        assert_eq!(
            ruled(&project),
            blocks(&["luxon", "luxon", "moment"]),
            "nor by its word for a person's"
        );
        project.override_as(Authority::Confirmed, &first.id, None);
        assert_eq!(ruled(&project), blocks(&["luxon"]), "a person lifts it");
    }

    #[test]
    fn what_a_narrower_or_a_contested_successor_says_is_not_the_same() {
        let project = Project::new();
        let wide = project.decide(&without("moment", "src/", None));
        let narrow = project.decide(&without("moment", "src/api/", Some(&wide.id)));
        assert!(narrow.still_ruled_out.is_some());
        assert_eq!(ruled(&project), blocks(&["moment", "moment"]));
        let other = Project::new();
        let first = other.decide(&without("moment", "src/", None));
        other.override_as(Authority::Claimed, &first.id, None);
        other.decide(&choice("dates", "src/", "dates are anybody's"));
        let contested = other.decide(&without("moment", "src/", Some(&first.id)));
        assert_eq!(contested.status, DecisionStatus::Provisional);
        assert!(
            ruled(&other).contains(&("moment".to_owned(), false)),
            "one that warns takes nothing over from one that blocks"
        );
    }

    #[test]
    fn a_person_s_successor_lifts_what_it_leaves_out() {
        let project = Project::new();
        let first = project.decide(&without("moment", "src/", None));
        let second = project
            .engine
            .decide(&person("ada"), &without("", "src/", Some(&first.id)))
            .expect("decides");
        assert_eq!(second.still_ruled_out, None);
        assert_eq!(ruled(&project), []);
    }

    #[test]
    fn a_doubt_is_no_lift() {
        let project = Project::new();
        let first = project.decide(&without("moment", "src/", None));
        let doubt = ReconsiderInput {
            decision_id: first.id.to_string(),
            new_context: "it is in my way".into(),
            agent_id: None,
        };
        project.engine.reconsider(&caller("ada"), &doubt).expect("doubts");
        assert_eq!(ruled(&project), blocks(&["moment"]));
        let contested = project.decide(&without("luxon", "lib/", None));
        assert_eq!(contested.status, DecisionStatus::Active);
        let rival = project.decide(&without("dayjs", "lib/", None));
        assert_eq!(rival.status, DecisionStatus::Provisional);
        assert!(
            ruled(&project).contains(&("dayjs".to_owned(), true)),
            "one that was contested from the start only warns"
        );
    }
}
