//! Context: what a task needs to know.

use clap::Command;
use twining_engine::{
    AssembleInput, AssembledContext, BaseRecords, ChangedDecision, ContextEntry, EndedDecision,
    Failure, OmissionReason, OmittedRecord, ScopeSummary, SummarizeInput, WhatChangedInput,
    WhatChangedOutcome,
};

use twining_model::{InvalidInput, Scope, Time, text};
use twining_store::git::GitRange;

use super::anchors::code_line;
use super::rows;
use crate::args;
use crate::project::CommandContext;
use crate::render::text_page::{
    StyledText, TextPage, bad, count, dim, kind, place, plain, standing, strong, warn, when,
};
use crate::verbs::verb::{Effect, Verb};

impl Verb for AssembleInput {
    const NAME: &'static str = "assemble";
    const ABOUT: &'static str = "What the team knows for a task, within a token budget: decisions to follow, warnings, open needs, findings. Call first.";
    const EXAMPLE: &'static str = "twining assemble \"add refresh tokens\" src/auth/";
    const EFFECT: Effect = Effect::Reads;
    const ALWAYS_LOADED: bool = true;
    const WORDS: &'static [&'static str] = &["task", "scope"];
    const DESCRIBED: &'static [&'static str] = &["task", "scope", "max_tokens", "host", "agent_id"];

    type Output = AssembledContext;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<AssembledContext, Failure> {
        ctx.engine.assemble(&ctx.caller, self)
    }

    fn flags(command: Command) -> Command {
        args::with_as_of(command)
    }

    fn show(context: &AssembledContext, page: &mut TextPage) {
        page.line([
            strong(&context.task),
            dim("in"),
            place(&context.scope),
            dim(format!("({} tokens)", context.token_estimate)),
        ]);
        if !context.active_decisions.is_empty() {
            page.heading("Decisions to follow");
        }
        for decision in &context.active_decisions {
            let standing = standing(decision.status);
            page.table(
                2,
                [vec![
                    dim(&decision.id),
                    standing,
                    plain(decision.confidence.as_str()),
                    strong(&decision.summary),
                ]],
            );
            page.block(4, decision.rationale.as_deref().unwrap_or_default());
            if !decision.contested_by.is_empty() {
                let ids: Vec<&str> = decision.contested_by.iter().map(|id| id.as_str()).collect();
                page.line([bad(format!("    contested by {}", ids.join(", ")))]);
            }
            if let Some(note) = &decision.code {
                page.table(4, [code_line(note)]);
            }
        }
        show_entries("Warnings", &context.active_warnings, bad, page);
        show_entries("Open needs", &context.open_needs, warn, page);
        show_entries("Questions", &context.recent_questions, plain, page);
        show_entries("Findings", &context.recent_findings, plain, page);
        rows::section(
            page,
            "Entities",
            context.related_entities.iter().map(|entity| {
                vec![strong(&entity.name), dim(&entity.kind), dim(entity.relations.join(", "))]
            }),
        );
        let overridden = context.overridden.iter().map(|lost| {
            vec![
                dim(&lost.id),
                strong(&lost.summary),
                dim("by"),
                plain(&lost.by),
                plain(&lost.reason),
            ]
        });
        rows::section(page, "Your decisions that were overridden", overridden);
        let held = context.claims.iter().map(|claim| {
            let held =
                claim.feature.iter().chain(&claim.paths).cloned().collect::<Vec<_>>().join(" ");
            vec![
                strong(&claim.agent_id),
                place(held),
                dim("until"),
                when(&claim.until),
                plain(&claim.reason),
            ]
        });
        rows::section(page, "Claimed by others", held);
        let waiting = context.handoffs.iter().map(|handoff| {
            vec![dim(&handoff.id), plain(&handoff.source_agent), strong(&handoff.summary)]
        });
        rows::section(page, "Open handoffs", waiting);
        let (without_code, over_budget): (Vec<_>, Vec<_>) =
            context.omitted.iter().partition(|left| left.code.is_some());
        let gone = without_code.iter().map(|left| omitted_row(left));
        rows::section(page, "Their code is gone, or on another branch", gone);
        let over = context.omitted_count - without_code.len() as u64;
        if over > 0 {
            page.heading(format!("{} left out to fit the token budget", count(over, "record")));
            page.table(2, over_budget.into_iter().map(omitted_row));
        }
        let costs = context.sections.iter().map(|section| {
            let name = section.section.replace('_', " ");
            let records = match section.records {
                0 => String::new(),
                records => count(records, "record"),
            };
            vec![plain(name), dim(records), dim(count(section.tokens, "token"))]
        });
        rows::section(page, "Tokens", costs);
        rows::embedding(page, context.mode, context.not_yet_embedded);
    }
}

/// A record that is left out, and why where that was asked for.
fn omitted_row(left: &OmittedRecord) -> Vec<StyledText> {
    let mut row = vec![dim(&left.id), dim(&left.summary)];
    row.extend(left.code.map(|state| warn(state.as_str())));
    if let Some(explained) = &left.explained {
        let because = match explained.because {
            OmissionReason::LessRelevant => "less relevant",
            OmissionReason::OverBudget => "over budget",
            OmissionReason::Superseded => "superseded",
            OmissionReason::Overridden => "overridden",
            OmissionReason::Repeats => "says the same as another",
            OmissionReason::Code => "its code is gone, or on another branch",
        };
        row.push(dim(if explained.listed { "by a line" } else { "not told" }));
        row.push(plain(format!("{because}, {:.2}", explained.score)));
    }
    row
}

fn show_entries(
    heading: &str,
    entries: &[ContextEntry],
    style: fn(String) -> StyledText,
    page: &mut TextPage,
) {
    if !entries.is_empty() {
        page.heading(heading);
    }
    for entry in entries {
        page.table(2, [vec![dim(&entry.id), place(&entry.scope), style(entry.summary.clone())]]);
        page.block(4, entry.detail.as_deref().unwrap_or_default());
        if let Some(note) = &entry.code {
            page.table(4, [code_line(note)]);
        }
    }
}

impl Verb for SummarizeInput {
    const NAME: &'static str = "summarize";
    const ABOUT: &'static str = "The state of a scope in one paragraph: warnings, disputes, recent decisions, open items. Good for catching up.";
    const EXAMPLE: &'static str = "twining summarize src/auth/";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["scope"];
    const DESCRIBED: &'static [&'static str] = &["scope"];

    type Output = ScopeSummary;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ScopeSummary, Failure> {
        ctx.engine.summarize(self)
    }

    fn show(summary: &ScopeSummary, page: &mut TextPage) {
        page.line([strong("Summary of"), place(&summary.scope)]);
        let counts = [
            count(summary.active_decisions, "active decision"),
            format!("{} provisional", summary.provisional_decisions),
            count(summary.active_warnings, "open warning"),
            count(summary.open_needs, "open need"),
            count(summary.unanswered_questions, "unanswered question"),
        ];
        page.line([dim(counts.join(", "))]);
        page.line([plain("")]);
        page.block(0, &summary.recent_activity_summary);
    }
}

/// Adds the records whose code changed since a commit.
fn add_code(
    ctx: &CommandContext<'_>,
    input: &WhatChangedInput,
    commit: &str,
    outcome: &mut WhatChangedOutcome,
) -> Result<(), Failure> {
    let scope = match &input.scope {
        Some(scope) => Scope::parse("scope", scope, ctx.engine.store().root())?,
        None => Scope::project(),
    };
    outcome.changed_code = ctx.engine.drift_since(commit, &scope)?;
    outcome.total += outcome.changed_code.len() as u64;
    Ok(())
}

impl Verb for WhatChangedInput {
    const NAME: &'static str = "what_changed";
    const ABOUT: &'static str = "Decisions made, ended or reconsidered, entries posted since a time or a branch's base. Call on return.";
    const EXAMPLE: &'static str = "twining what-changed 2026-11-14 src/auth/";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["since", "scope"];
    const DESCRIBED: &'static [&'static str] = &["since", "base", "scope", "limit"];

    type Output = WhatChangedOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<WhatChangedOutcome, Failure> {
        let Some(base) = &self.base else {
            let mut outcome = ctx.engine.what_changed(self)?;
            let at = Time::parse("since", &outcome.since)?;
            if let Some(commit) = ctx.history.commit_before(at) {
                add_code(ctx, self, &commit, &mut outcome)?;
            }
            return Ok(outcome);
        };
        if !self.since.is_empty() {
            return Err(InvalidInput::new("base", "cannot be combined with `since`").into());
        }
        let base = text::name("base", base)?;
        let range = GitRange::open(ctx.checkout, &base, "HEAD").map_err(|error| {
            InvalidInput::new("base", "cannot be compared with")
                .because(format!("{error}; {}", error.hint()))
        })?;
        let mut outcome = ctx.engine.changed_from_base(self, &BaseRecords::read(&range))?;
        if let Some(commit) = outcome.merge_base.clone() {
            add_code(ctx, self, &commit, &mut outcome)?;
        }
        Ok(outcome)
    }

    fn show(outcome: &WhatChangedOutcome, page: &mut TextPage) {
        let changed = |decisions: &[ChangedDecision]| -> Vec<_> {
            decisions
                .iter()
                .map(|row| vec![dim(&row.id), when(&row.at), dim(&row.by), strong(&row.summary)])
                .collect()
        };
        let ended = |decisions: &[EndedDecision]| -> Vec<_> {
            decisions
                .iter()
                .map(|row| {
                    let summary = strong(&row.summary);
                    vec![dim(&row.id), when(&row.at), dim(&row.by), summary, plain(&row.reason)]
                })
                .collect()
        };
        let entries: Vec<_> = outcome
            .new_entries
            .iter()
            .map(|entry| {
                let (at, by) = (when(&entry.at), dim(&entry.by));
                vec![dim(&entry.id), at, by, kind(&entry.entry_type), plain(&entry.summary)]
            })
            .collect();
        let code: Vec<_> = outcome
            .changed_code
            .iter()
            .map(|found| {
                let became = warn(found.became.as_str());
                vec![dim(&found.id), became, place(&found.at), plain(&found.summary)]
            })
            .collect();
        let sections = [
            ("Decided", changed(&outcome.new_decisions)),
            ("Overridden", ended(&outcome.overridden_decisions)),
            ("Reconsidered", ended(&outcome.reconsidered_decisions)),
            ("Superseded", ended(&outcome.superseded_decisions)),
            ("Promoted", changed(&outcome.promoted_decisions)),
            ("Posted", entries),
            ("Code changed under", code),
        ];
        if sections.iter().all(|(_, rows)| rows.is_empty()) {
            page.line([dim("nothing changed")]);
        }
        for (heading, rows) in sections {
            rows::section(page, heading, rows.into_iter());
        }
        if outcome.omitted_count > 0 {
            let more = count(outcome.omitted_count, "change");
            let next = outcome.next_offset.map(|next| format!("; --offset {next} shows the next"));
            page.line([dim(format!("{more} not shown{}", next.unwrap_or_default()))]);
        }
    }
}
