//! `twining` alone: the current status, and what to do next.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use twining_engine::workflow::FeatureCounts;
use twining_engine::{Changes, StatusReport, WaitingInput, WaitingKind, WaitingOutcome};

use crate::commands::show_item;
use crate::output::{self, OutputFormat};
use crate::project::{self, Project};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{TextPage, count, dim, plain, strong};
use crate::verbs::verb::Verb;

/// What it suggests at once.
const SUGGESTIONS: usize = 3;

/// A command worth running now.
#[derive(Debug, Serialize)]
struct SuggestedCommand {
    command: &'static str,
    why: String,
}

/// Shows it for the project around the working directory, or the one that is named.
pub(crate) fn show(
    project: Option<PathBuf>,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let located = project::find(project.clone())?;
    if !located.place.project.join(".twining").exists() {
        return Ok(introduce(style));
    }
    let project = Project::open(project)?;
    let report = project.engine.status()?;
    let changed = project.history.changed_files("HEAD", None).unwrap_or_default();
    let is_code = |file: &&String| !file.starts_with(".twining/");
    // A list that cannot be read is reported by `doctor`.
    let list = project.engine.feature_list().ok().and_then(|(_, list)| list);
    let counts = list.map(|list| FeatureCounts::of(&list)).unwrap_or_default();
    let changed = changed.iter().filter(is_code).count() as u64;
    let waiting = waiting(&project)?;
    let features = counts.pending + counts.in_progress + counts.blocked;
    let steps = next_steps(&report, &waiting, changed, features);
    let to_json = || json!({ "project": report.project, "summary": report.summary, "waiting": waiting.total, "next": steps });
    let ending = output::answer(
        style,
        to_json,
        |page| {
            page.line([strong(format!("{}:", report.project)), plain(&report.summary)]);
            if !waiting.items.is_empty() {
                page.heading("Waiting for you");
                waiting.items.iter().for_each(|item| show_item(item, page));
            }
            suggest(&steps, page);
        },
        ExitStatus::Done,
    );
    project.finish_reads();
    Ok(ending)
}

/// What waits for a person, the gravest of it with its command.
fn waiting(project: &Project) -> Result<WaitingOutcome, CommandError> {
    let (caller, authority) = project::caller_at_cli(None);
    let input = WaitingInput { limit: Some(SUGGESTIONS), ..WaitingInput::default() };
    Ok(input.run(&project.context(caller, authority))?)
}

fn introduce(style: OutputFormat) -> ExitStatus {
    let about = [
        "Twining gives every coding agent on a repository the same memory: decisions with their reasons, warnings, and what depends on what.",
        "It is not set up here yet.",
    ];
    let steps = [
        SuggestedCommand {
            command: "twining init",
            why: "set it up in this repository".to_owned(),
        },
        SuggestedCommand {
            command: "twining tour",
            why: "see it at work on a throwaway one".to_owned(),
        },
    ];
    output::answer(
        style,
        || json!({ "summary": about.join(" "), "next": steps }),
        |page| {
            about.iter().for_each(|line| page.line([plain(*line)]));
            suggest(&steps, page);
        },
        ExitStatus::Done,
    )
}

fn suggest(steps: &[SuggestedCommand], page: &mut TextPage) {
    page.heading("Next");
    let rows = steps.iter().map(|step| vec![strong(step.command), dim(&step.why)]);
    page.table(2, rows);
}

/// What waits, the most urgent first; where nothing does, what is always of use.
fn next_steps(
    report: &StatusReport,
    waiting: &WaitingOutcome,
    changed: u64,
    features: u64,
) -> Vec<SuggestedCommand> {
    let shown = waiting.items.len() as u64;
    // Those that agents may still answer.
    let others = |all: u64, kind: WaitingKind| {
        let counted = waiting.counts.iter().find(|counted| counted.kind == kind);
        all.saturating_sub(counted.map_or(0, |counted| counted.count))
    };
    let questions = others(report.unanswered_questions, WaitingKind::Question);
    let needs = others(report.open_needs, WaitingKind::Need);
    let steps = [
        (waiting.total.saturating_sub(shown), "twining waiting", "settle", "more item"),
        (questions, "twining read --type question", "answer", "open question"),
        (needs, "twining read --type need", "look at", "open need"),
        (report.open_warnings, "twining read --type warning", "look at", "open warning"),
        (features, "twining next", "what to do about", "unfinished feature"),
        (changed, "twining why", "the decisions that bear on", "changed file"),
    ];
    let notice = report.warnings.first().map(|first| SuggestedCommand {
        command: "twining status",
        why: match report.warnings.len() {
            1 => first.message.clone(),
            all => format!("{}, and {} more", first.message, all - 1),
        },
    });
    let steps = steps.into_iter().filter(|(number, ..)| *number > 0).map(
        |(number, command, does, noun)| SuggestedCommand {
            command,
            why: format!("{does} {}", count(number, noun)),
        },
    );
    let always = [
        ("twining decide \"…\" --why \"…\"", "record a choice that others must follow"),
        if report.blackboard_entries == 0 {
            ("twining doctor", "check that your agents are set up")
        } else {
            ("twining recent", "what agents posted last")
        },
        ("twining --help", "every command"),
    ];
    let always = always.map(|(command, why)| SuggestedCommand { command, why: why.to_owned() });
    notice.into_iter().chain(steps).chain(always).take(SUGGESTIONS).collect()
}
