//! `why`: the decisions that bear on a place.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_engine::{Failure, WhyDecision, WhyInput, WhyOutcome};
use twining_model::Refused;

use super::words;
use crate::desk::Desk;
use crate::moved;
use crate::page::{Page, count, dim, place, plain, standing, strong, warn, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Why;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// File, directory, module or symbol; or give commit
    #[arg(help = "File, directory, module or symbol; a path is relative to the project", required_unless_present = "commit")]
    scope: Option<String>,
    #[arg(help = "The decisions behind this commit instead", long, value_name = "HASH", conflicts_with = "scope")]
    commit: Option<String>,
    /// Default 20
    #[arg(long, value_name = "N", value_parser = words::number)]
    limit: Option<usize>,
    /// Superseded and overridden ones too; default true
    #[arg(long, value_name = "BOOL")]
    include_retired: Option<bool>,
}

/// What it answers, and of what.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained {
    #[serde(flatten)]
    outcome: WhyOutcome,
    #[serde(skip)]
    asked: String,
    #[serde(skip)]
    is_commit: bool,
}

impl Verb for Why {
    const NAME: &'static str = "why";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Why it is so";
    const ABOUT: &'static str =
        "The decisions that bear on a file, directory, module or symbol, and their reasons. Call before you change it.";
    const EXAMPLE: &'static str = "twining why src/auth/";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = Explained;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Explained, Failure> {
        let Input { scope, commit, limit, include_retired } = input;
        if let Some(commit) = commit {
            if scope.is_some() {
                return Err(Refused::new("commit", "cannot be given beside scope: ask for one of them").into());
            }
            let outcome = desk.engine.why_commit(&commit, limit, desk.history.commit(&commit).as_ref())?;
            return Ok(Explained { outcome, asked: commit, is_commit: true });
        }
        let scope = scope.ok_or_else(|| Refused::new("scope", "is required, or a commit in its place"))?;
        let moves = moved::up_to_now(desk);
        let outcome = desk.engine.why_through(&WhyInput { scope: scope.clone(), limit, include_retired }, &moves)?;
        Ok(Explained { outcome, asked: scope, is_commit: false })
    }

    fn show(explained: &Explained, page: &mut Page) {
        let outcome = &explained.outcome;
        for file in &outcome.unreadable {
            page.line([warn("cannot be read:"), place(file), dim("`twining status` says why")]);
        }
        if outcome.total_count == 0 && explained.is_commit {
            page.line([dim("no decision is linked with commit"), place(&explained.asked)]);
            return;
        }
        if outcome.total_count == 0 {
            page.line([dim("no decision bears on"), place(&explained.asked), dim("yet")]);
            return;
        }
        let binding = [
            strong(format!("{} active", outcome.active_count)),
            dim("and"),
            strong(format!("{} provisional", outcome.provisional_count)),
            dim(format!("of {}", count(outcome.total_count, "decision"))),
        ];
        page.line(outcome.contested.then(|| warn("contested:")).into_iter().chain(binding));
        for decision in &outcome.decisions {
            show_decision(decision, page);
        }
        if outcome.omitted_count > 0 {
            page.blank();
            page.line([dim(format!("{} left out; raise --limit or ask for a narrower scope", outcome.omitted_count))]);
        }
    }
}

fn show_decision(decision: &WhyDecision, page: &mut Page) {
    page.blank();
    page.line([strong(&decision.summary)]);
    let about = [
        standing(decision.status),
        plain(decision.confidence.as_str()),
        place(&decision.scope),
        dim(format!("({})", decision.matched)),
        when(&decision.timestamp),
        dim(&decision.id),
        dim(format!("by {} ({}, {})", decision.agent_id, decision.origin.trust.as_str(), decision.origin.via.as_str())),
    ];
    page.table(2, &[about.to_vec()]);
    page.block(2, &decision.rationale);
    let mut notes = Vec::new();
    if decision.alternatives_count > 0 {
        notes.push(vec![dim(format!("{} not taken", count(decision.alternatives_count, "alternative")))]);
    }
    notes.extend(decision.contested_by.iter().map(|id| vec![warn(format!("contested by {id}"))]));
    notes.extend(
        decision.merge_clashes.iter().map(|clash| vec![warn(format!("another branch had this {}:", clash.field)), plain(&clash.other)]),
    );
    notes.extend(decision.superseded_by.iter().map(|id| vec![dim(format!("superseded by {id}"))]));
    notes.extend(decision.override_reason.iter().map(|reason| vec![warn(format!("overridden: {reason}"))]));
    notes.extend(decision.commit_hashes.iter().map(|hash| vec![dim(format!("commit {hash}"))]));
    page.table(2, &notes);
}
