//! `assemble`: what a task needs to know.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{AssembleInput, AssembledContext, ContextEntry, Failure};

use super::{shown, words};
use crate::desk::Desk;
use crate::page::{Cell, Page, bad, count, dim, place, plain, standing, strong, warn, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Assemble;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What you are about to do
    task: String,
    /// File, directory, module or `project`
    #[arg(help = words::SCOPE)]
    scope: String,
    /// Token budget
    #[arg(long, value_name = "N", value_parser = words::number)]
    max_tokens: Option<usize>,
    /// Fit the reply to a host's cap
    #[schemars(extend("enum" = HOSTS))]
    #[arg(long, value_parser = words::one_of(HOSTS))]
    host: Option<String>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

const HOSTS: [&str; 3] = ["claude", "codex", "mcp"];

impl Verb for Assemble {
    const NAME: &'static str = "assemble";
    const GROUP: Group = Group::Context;
    const TITLE: &'static str = "Assemble context";
    const ABOUT: &'static str =
        "What the team knows for a task, within a token budget: decisions to follow, warnings, open needs, findings. Call first.";
    const EXAMPLE: &'static str = "twining assemble \"add refresh tokens\" src/auth/";
    const EFFECT: Effect = Effect::Reads;
    const ALWAYS_LOADED: bool = true;

    type Input = Input;
    type Output = AssembledContext;

    fn run(desk: &Desk<'_>, input: Input) -> Result<AssembledContext, Failure> {
        let Input { task, scope, max_tokens, host, agent_id } = input;
        desk.engine.assemble(&desk.caller, &AssembleInput { task, scope, max_tokens, host, agent_id })
    }

    fn show(context: &AssembledContext, page: &mut Page) {
        page.line([strong(&context.task), dim("in"), place(&context.scope), dim(format!("({} tokens)", context.token_estimate))]);
        if !context.active_decisions.is_empty() {
            page.heading("Decisions to follow");
        }
        for decision in &context.active_decisions {
            let standing = standing(decision.status);
            page.table(2, &[vec![dim(&decision.id), standing, plain(decision.confidence.as_str()), strong(&decision.summary)]]);
            page.block(4, decision.rationale.as_deref().unwrap_or_default());
            if !decision.contested_by.is_empty() {
                let ids: Vec<&str> = decision.contested_by.iter().map(|id| id.as_str()).collect();
                page.line([bad(format!("    contested by {}", ids.join(", ")))]);
            }
        }
        show_entries("Warnings", &context.active_warnings, bad, page);
        show_entries("Open needs", &context.open_needs, warn, page);
        show_entries("Questions", &context.recent_questions, plain, page);
        show_entries("Findings", &context.recent_findings, plain, page);
        shown::section(
            page,
            "Entities",
            context.related_entities.iter().map(|entity| vec![strong(&entity.name), dim(&entity.kind), dim(entity.relations.join(", "))]),
        );
        let held = context.claims.iter().map(|claim| {
            let held = claim.feature.iter().chain(&claim.paths).cloned().collect::<Vec<_>>().join(" ");
            vec![strong(&claim.agent_id), place(held), dim("until"), when(&claim.until), plain(&claim.reason)]
        });
        shown::section(page, "Held by others", held);
        let waiting = context.handoffs.iter().map(|handoff| vec![dim(&handoff.id), plain(&handoff.source_agent), strong(&handoff.summary)]);
        shown::section(page, "Waiting to be taken over", waiting);
        if context.omitted_count > 0 {
            page.heading(format!("{} left out for want of room", count(context.omitted_count, "record")));
            page.table(2, &context.omitted.iter().map(|left| vec![dim(&left.id), dim(&left.summary)]).collect::<Vec<_>>());
        }
        shown::embedding(page, context.mode, context.not_yet_embedded);
    }
}

fn show_entries(heading: &str, entries: &[ContextEntry], style: fn(String) -> Cell, page: &mut Page) {
    if !entries.is_empty() {
        page.heading(heading);
    }
    for entry in entries {
        page.table(2, &[vec![dim(&entry.id), place(&entry.scope), style(entry.summary.clone())]]);
        page.block(4, entry.detail.as_deref().unwrap_or_default());
    }
}
