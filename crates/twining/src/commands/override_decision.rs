//! `override`: a person rejects a decision.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, Overridden, OverrideInput};
use twining_model::text::excerpt;
use twining_model::{Authority, Refused};

use crate::desk::Desk;
use crate::page::{Page, dim, good, plain, warn};
use crate::verbs::{Effect, Group, Verb};

/// Characters of each text that a person is asked about.
const SHOWN: usize = 400;

/// The verb.
pub struct Override;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "Which decision", value_name = "ID")]
    decision_id: String,
    /// Why it is rejected
    #[arg(long)]
    reason: String,
    /// What to do instead, in one line
    #[arg(long, value_name = "SUMMARY")]
    new_decision: Option<String>,
    /// Who; default `human`
    #[arg(long, value_name = "NAME")]
    overridden_by: Option<String>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Override {
    const NAME: &'static str = "override";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Override a decision";
    const ABOUT: &'static str = "Record that a person rejects a decision. Only on the user's word; it stays flagged until they confirm it.";
    const EXAMPLE: &'static str =
        "twining override 01M7EB3QWY4C5CPJF6982ZJQ18 --reason \"We stay on sessions\" --new-decision \"Keep sessions\"";
    const EFFECT: Effect = Effect::Changes;
    const ASKS: bool = true;

    type Input = Input;
    type Output = Overridden;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Overridden, Failure> {
        let Input { decision_id, reason, new_decision, overridden_by, agent_id } = input;
        let draft = OverrideInput { decision_id, reason, new_decision, overridden_by };
        if desk.authority == Authority::Claimed && desk.engine.policy(&desk.user_policy()).wants_confirmed_overrides() {
            return Err(Refused::new("override", "must be confirmed by a person here")
                .because("the policy says `overrides: confirmed`; the user types it at a terminal, or is asked by a client that can")
                .into());
        }
        desk.engine.override_decision(&desk.signing(agent_id.as_deref())?, desk.authority, &draft)
    }

    fn question(desk: &Desk<'_>, input: &Input) -> Option<String> {
        let draft = OverrideInput {
            decision_id: input.decision_id.clone(),
            reason: input.reason.clone(),
            new_decision: input.new_decision.clone(),
            overridden_by: input.overridden_by.clone(),
        };
        let decision = desk.engine.override_in_question(&draft).ok()??;
        let mut lines = vec![
            "An agent wants to override a decision of this project.".to_owned(),
            format!("Decision: {}", excerpt(&decision.summary, SHOWN)),
            format!("Why it was made: {}", excerpt(&decision.rationale, SHOWN)),
            format!("Why the agent would override it: {}", excerpt(&draft.reason, SHOWN)),
        ];
        lines.extend(draft.new_decision.map(|instead| format!("What would hold instead: {}", excerpt(&instead, SHOWN))));
        Some(lines.join("\n"))
    }

    fn show(outcome: &Overridden, page: &mut Page) {
        let done = match (outcome.overridden, outcome.authority) {
            (false, _) => dim("already overridden:"),
            (true, Authority::Claimed) => good("overridden:"),
            (true, Authority::Confirmed) => good("overridden and confirmed:"),
        };
        page.line([done, plain(&outcome.old_summary)]);
        if let Some(id) = &outcome.replacement {
            page.line([dim("replaced by"), plain(id)]);
        }
        if outcome.authority == Authority::Claimed {
            page.line([warn("unconfirmed: repeat it at a terminal to confirm that a person stands behind it")]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_tells_a_claim_a_confirmation_and_a_repetition_apart() {
        let shown = |overridden, authority| {
            let mut page = Page::default();
            Override::show(
                &Overridden { overridden, old_summary: "Use JWT".to_owned(), authority, replacement: None, redacted: vec![] },
                &mut page,
            );
            anstream::adapter::strip_str(page.as_str()).to_string()
        };
        assert!(shown(true, Authority::Claimed).starts_with("overridden: Use JWT\nunconfirmed: "));
        assert_eq!(shown(true, Authority::Confirmed), "overridden and confirmed: Use JWT\n");
        assert_eq!(shown(false, Authority::Confirmed), "already overridden: Use JWT\n");
    }
}
