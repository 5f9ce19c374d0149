//! Lifecycle: the health of the memory.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, Command, ValueHint, value_parser};
use schemars::JsonSchema;
use serde::Serialize;
use twining_engine::{
    ArchiveInput, ArchiveOutcome, CheckStatus, ExportInput, ExportOutcome, ExportSize, Failure,
    KnowledgeMetrics, StatusInput, StatusReport, StatusWarning, TeamExchange, VerifyInput,
    VerifyOutcome,
};
use twining_model::InvalidInput;

use super::agents::claim_row;
use super::rows;
use crate::allowances::PersonAllowances;
use crate::args;
use crate::link::{sync_warnings, team_exchange};
use crate::project::CommandContext;
use crate::render::command_error::ExitStatus;
use crate::render::text_page::{
    StyledText, TextPage, bad, count, dim, good, place, plain, strong, warn, when,
};
use crate::verbs::tool_names::with_command_names;
use crate::verbs::verb::{Effect, Verb};

impl Verb for ArchiveInput {
    const NAME: &'static str = "archive";
    const ABOUT: &'static str = "Move old entries off the blackboard into the archive. Decisions and open needs, questions and warnings stay.";
    const EXAMPLE: &'static str = "twining archive --before 2026-11-01";
    const EFFECT: Effect = Effect::Removes;
    const DESCRIBED: &'static [&'static str] = &["before", "summarize", "agent_id"];

    type Output = ArchiveOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ArchiveOutcome, Failure> {
        ctx.engine.archive(&ctx.caller, self)
    }

    fn show(outcome: &ArchiveOutcome, page: &mut TextPage) {
        if outcome.archived_count == 0 {
            page.line([dim("nothing to archive")]);
        } else {
            page.line([
                good("archived"),
                dim(count(outcome.archived_count, "entry")),
                dim("to"),
                place(&outcome.archive_file),
            ]);
        }
        if outcome.kept_open > 0 {
            page.line([dim(format!(
                "{} still open, not archived",
                count(outcome.kept_open, "entry")
            ))]);
        }
        for text in outcome.summary.iter().chain(&outcome.note) {
            page.block(2, text);
        }
    }
}

impl Verb for StatusInput {
    const NAME: &'static str = "status";
    const ABOUT: &'static str = "Counts, health and what needs attention.";
    const EXAMPLE: &'static str = "twining status";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["scope"];

    type Output = StatusReport;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<StatusReport, Failure> {
        let mut report = match &self.scope {
            Some(scope) => ctx.engine.status_in(scope)?,
            None => ctx.engine.status()?,
        };
        let allowed = PersonAllowances::read(ctx.engine.store());
        let now = ctx.engine.store().ids().now();
        report.warnings.extend(allowed.lifted(now).map(|bypass| StatusWarning {
            code: "guard_lifted".to_owned(),
            message: format!("the guard `{}` is {}", bypass.subject, bypass.as_bypass().summary()),
            hint: format!("a person ends it: `twining guard bypass --end {}`", bypass.subject),
        }));
        report.warnings.extend(sync_warnings(ctx.engine.store()));
        report.team = team_exchange(ctx.engine.store());
        if self.metrics {
            report.metrics = Some(ctx.engine.knowledge_metrics()?);
        }
        Ok(report)
    }

    fn flags(command: Command) -> Command {
        args::with_as_of(command)
    }

    fn show(report: &StatusReport, page: &mut TextPage) {
        page.line([strong(format!("{}:", report.project)), plain(&report.summary)]);
        let counts = [
            ("entries", report.blackboard_entries),
            ("open needs", report.open_needs),
            ("unanswered questions", report.unanswered_questions),
            ("open warnings", report.open_warnings),
            ("active decisions", report.active_decisions),
            ("provisional decisions", report.provisional_decisions),
            ("superseded decisions", report.superseded_decisions),
            ("overridden decisions", report.overridden_decisions),
            ("entities", report.graph_entities),
            ("relations", report.graph_relations),
            ("agents at work", report.active_agents),
            ("handoffs to take over", report.open_handoffs),
        ];
        let last = (!report.last_activity.is_empty())
            .then(|| vec![dim("last activity"), when(&report.last_activity)]);
        let counted =
            counts.into_iter().map(|(name, number)| vec![dim(name), plain(number.to_string())]);
        let code = report.code.as_ref().map(|code| vec![dim("code"), plain(code.summary())]);
        let team = report.team.iter().flat_map(team_rows);
        page.table(2, counted.chain(code).chain(last).chain(team));
        rows::section(page, "Held", report.claims.iter().map(claim_row));
        if !report.warnings.is_empty() {
            page.heading("Needs attention");
        }
        for warning in &report.warnings {
            page.table(2, [vec![warn(with_command_names(&warning.message))]]);
            page.block(4, &with_command_names(&warning.hint));
        }
        if let Some(metrics) = &report.metrics {
            show_metrics(metrics, page);
        }
        rows::section(
            page,
            "Could not be read",
            report.unreadable.iter().map(|unreadable| {
                let line = unreadable.line.map_or_else(String::new, |line| format!(":{line}"));
                vec![bad(format!("{}{line}", unreadable.file)), plain(&unreadable.why)]
            }),
        );
    }
}

/// When the team's log last answered, and what waits for it.
fn team_rows(team: &TeamExchange) -> Vec<Vec<StyledText>> {
    let answered = team.answered_at.as_deref().map_or_else(|| warn("never"), when);
    let unsent = vec![dim("not sent to the team"), plain(team.unsent.to_string())];
    let oldest = team.unsent_since.iter().map(|since| vec![dim("oldest of them"), when(since)]);
    [vec![dim("team's log answered"), answered], unsent].into_iter().chain(oldest).collect()
}

fn show_metrics(metrics: &KnowledgeMetrics, page: &mut TextPage) {
    page.heading("Knowledge (counted on this machine)");
    let rows = [
        ("packs made", metrics.packs_built.to_string()),
        ("packs reused", metrics.packs_reused.to_string()),
        (
            "largest pack",
            format!("{} nodes, {} bytes", metrics.largest_pack_nodes, metrics.largest_pack_bytes),
        ),
        (
            "time per pack",
            format!("median {} ms, maximum {} ms", metrics.median_pack_ms, metrics.slowest_pack_ms),
        ),
        ("graph edits", metrics.knowledge_changes.to_string()),
        ("nodes added", metrics.nodes_added.to_string()),
        ("reviews", metrics.reviews.to_string()),
        ("merges", format!("{}, {} with conflicts", metrics.merges, metrics.merges_with_conflicts)),
    ];
    page.table(2, rows.map(|(name, value)| vec![dim(name), plain(value)]));
    let stories = metrics.stories.iter().map(|(id, story)| {
        let counts = format!(
            "{} packs, {} reviews, {} edits, {} nodes added",
            story.packs, story.reviews, story.knowledge_changes, story.nodes_added
        );
        vec![strong(id), plain(counts)]
    });
    rows::section(page, "By story", stories);
}

impl Verb for VerifyInput {
    const NAME: &'static str = "verify";
    const ABOUT: &'static str = "Check that decisions are tested, warnings heeded and code has not drifted from them. Call before you finish; posts the result.";
    const EXAMPLE: &'static str = "twining verify src/auth/ --check drift,warnings";
    const EFFECT: Effect = Effect::Adds;
    const WORDS: &'static [&'static str] = &["scope"];
    const DESCRIBED: &'static [&'static str] = &["agent_id"];

    type Output = VerifyOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<VerifyOutcome, Failure> {
        ctx.engine.verify(&ctx.caller, self, ctx.history)
    }

    fn show(outcome: &VerifyOutcome, page: &mut TextPage) {
        page.line([plain(&outcome.summary)]);
        let rows = outcome.checks.iter().map(|(name, check)| {
            let status = match check.status {
                CheckStatus::Pass => good("pass"),
                CheckStatus::Fail => bad("fail"),
                CheckStatus::Warn => warn("warn"),
                CheckStatus::Skip => dim("skip"),
            };
            vec![status, plain(name), plain(&check.message)]
        });
        page.table(2, rows);
        for (name, check) in &outcome.checks {
            rows::section(
                page,
                name,
                check.items.iter().map(|item| {
                    vec![
                        dim(&item.id),
                        place(item.file.as_deref().unwrap_or_default()),
                        plain(&item.summary),
                    ]
                }),
            );
        }
    }

    fn ending(outcome: &VerifyOutcome) -> ExitStatus {
        let failed = outcome.checks.values().any(|check| check.status == CheckStatus::Fail);
        if failed { ExitStatus::FoundProblems } else { ExitStatus::Done }
    }
}

const OUT: &str = "out";

/// The export and the files written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExportAnswer {
    #[serde(flatten)]
    outcome: ExportOutcome,
    /// Files that were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
}

impl Verb for ExportInput {
    const NAME: &'static str = "export";
    const ABOUT: &'static str = "The memory as one document, for people.";
    const EXAMPLE: &'static str = "twining export html --out memory.html";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["format"];

    type Output = ExportAnswer;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ExportAnswer, Failure> {
        let out = ctx.flags.and_then(|flags| flags.get_one::<PathBuf>(OUT));
        let extent = if out.is_some() { ExportSize::Whole } else { ExportSize::Answer };
        let mut outcome = ctx.engine.export(&Self { extent, ..self.clone() })?;
        let written = match out {
            Some(out) => write(&mut outcome, out)?,
            None => Vec::new(),
        };
        Ok(ExportAnswer { outcome, written })
    }

    /// Only at a command line: an agent has its own tools for files.
    fn flags(command: Command) -> Command {
        let out = Arg::new(OUT)
            .long(OUT)
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .value_hint(ValueHint::AnyPath);
        command.arg(out.help("Write to this file (madr: to this folder), without a size limit"))
    }

    fn show(exported: &ExportAnswer, page: &mut TextPage) {
        let outcome = &exported.outcome;
        for file in &exported.written {
            page.line([good("written"), place(file)]);
        }
        if !exported.written.is_empty() {
            return;
        }
        if outcome.files.is_empty() {
            page.verbatim(&outcome.content);
        }
        for file in &outcome.files {
            page.line([dim(format!("==> {} <==", file.name))]);
            page.verbatim(&file.content);
        }
    }
}

/// Writes the documents out, and takes them from the answer.
fn write(outcome: &mut ExportOutcome, out: &Path) -> Result<Vec<String>, Failure> {
    let failed = |path: &Path, error: &std::io::Error| {
        Failure::from(
            InvalidInput::new("out", "cannot be written")
                .because(format!("{}: {error}", path.display())),
        )
    };
    let mut written = Vec::new();
    let mut put = |path: PathBuf, content: &str| {
        fs::write(&path, content).map_err(|error| failed(&path, &error))?;
        written.push(path.display().to_string());
        Ok::<_, Failure>(())
    };
    if outcome.format == "madr" {
        fs::create_dir_all(out).map_err(|error| failed(out, &error))?;
        for file in &outcome.files {
            put(out.join(&file.name), &file.content)?;
        }
        put(out.join("index.md"), &outcome.content)?;
    } else {
        put(out.to_path_buf(), &outcome.content)?;
    }
    outcome.content.clear();
    outcome.files.clear();
    Ok(written)
}
