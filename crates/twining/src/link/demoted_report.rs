//! What `sync` and `link` say of decisions made here that met others from the team's log: both
//! sides, and the command that settles it.

use serde_json::{Value, json};
use twining_model::{Decision, DecisionStatus};
use twining_store::{Store, StoreError};

use crate::render::text_page::{TextPage, count, dim, plain, strong};

/// Rivals that are named of one decision.
const RIVALS_NAMED: usize = 5;
/// Decisions that a person is shown; the JSON has all.
const SHOWN: usize = 10;

/// A decision of this folder that is provisional because of others in force.
pub(super) struct DemotedDecision {
    decision: Decision,
    rivals: Vec<Decision>,
}

/// Those that nobody has settled yet, oldest first.
pub(super) fn demoted_decisions(store: &Store) -> Result<Vec<DemotedDecision>, StoreError> {
    let ids = store.outbox().demoted();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    store.view(|view| {
        let decisions = view.decisions();
        let mut found = Vec::new();
        for id in &ids {
            let provisional = decisions.get(id)?;
            let Some(decision) = provisional.filter(|it| it.status == DecisionStatus::Provisional)
            else {
                continue;
            };
            let mut rivals =
                decisions.contesters(&decision, &[DecisionStatus::Active], RIVALS_NAMED)?;
            rivals.sort_unstable();
            let mut named = Vec::new();
            for rival in &rivals {
                named.extend(decisions.get(rival)?);
            }
            if !named.is_empty() {
                found.push(DemotedDecision { decision, rivals: named });
            }
        }
        Ok(found)
    })
}

impl DemotedDecision {
    pub(super) fn to_json(&self) -> Value {
        let said = |one: &Decision| {
            json!({
                "id": one.id, "summary": one.summary, "rationale": one.rationale,
                "scope": one.scope, "agent_id": one.agent_id,
            })
        };
        let mut said_here = said(&self.decision);
        said_here["rivals"] = self.rivals.iter().map(said).collect();
        said_here["settle"] = self.settle_command().into();
        said_here
    }

    /// Puts it in force instead of its rivals.
    fn settle_command(&self) -> String {
        let rivals: String =
            self.rivals.iter().map(|rival| format!(" --instead-of {}", rival.id)).collect();
        format!("twining promote {}{rivals} --why \"…\"", self.decision.id)
    }
}

/// The agent, and whose token it came under.
fn author_of(decision: &Decision) -> String {
    let principal = decision.origin.as_ref().and_then(|origin| origin.principal.as_ref());
    match principal.filter(|principal| **principal != decision.agent_id) {
        Some(principal) => format!("{} ({principal})", decision.agent_id),
        None => decision.agent_id.clone(),
    }
}

/// Shows them; nothing if there are none.
pub(super) fn show_demoted(page: &mut TextPage, demoted: &[DemotedDecision]) {
    let Some(first) = demoted.first() else { return };
    let decisions = count(demoted.len() as u64, "decision");
    page.heading(format!("Not in force: {decisions} made here, the team had decided otherwise"));
    for one in demoted.iter().take(SHOWN) {
        page.line([plain(one.decision.id.as_str()), strong(&one.decision.summary)]);
        page.block(4, &one.decision.rationale);
        for rival in &one.rivals {
            page.line([
                dim("  contradicts"),
                plain(rival.id.as_str()),
                strong(&rival.summary),
                dim(format!("by {}", author_of(rival))),
            ]);
            page.block(4, &rival.rationale);
        }
        page.line([dim("  take yours:"), plain(one.settle_command())]);
    }
    if demoted.len() > SHOWN {
        page.line([dim(format!(
            "and {} more: twining waiting --kind contested",
            demoted.len() - SHOWN
        ))]);
    }
    let id = &first.decision.id;
    page.line([dim("  keep the team's:"), plain(format!("twining override {id} --why \"…\""))]);
    page.line([dim("either needs a token of the role `maintainer`; others ask who has one")]);
}
