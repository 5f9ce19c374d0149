//! `status`: counts, health, and what wants attention.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, KnowledgeMetrics, StatusReport};

use super::agents::claim_row;
use super::shown;
use crate::commands::at_a_prompt;
use crate::desk::Desk;
use crate::page::{Page, bad, dim, plain, strong, warn, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Status;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(
        help = "Also what knowledge is used for and costs, as counted on this machine",
        long,
        num_args = 0,
        default_missing_value = "true"
    )]
    metrics: Option<bool>,
}

impl Verb for Status {
    const NAME: &'static str = "status";
    const GROUP: Group = Group::Lifecycle;
    const TITLE: &'static str = "Status";
    const ABOUT: &'static str = "Counts, health and what wants attention.";
    const EXAMPLE: &'static str = "twining status";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = StatusReport;

    fn run(desk: &Desk<'_>, Input { metrics }: Input) -> Result<StatusReport, Failure> {
        let mut report = desk.engine.status()?;
        if metrics == Some(true) {
            report.metrics = Some(desk.engine.knowledge_metrics()?);
        }
        Ok(report)
    }

    fn show(report: &StatusReport, page: &mut Page) {
        page.line([strong(&report.project), plain(&report.summary)]);
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
        let last = (!report.last_activity.is_empty()).then(|| vec![dim("last activity"), when(&report.last_activity)]);
        let counted = counts.into_iter().map(|(name, number)| vec![dim(name), plain(number.to_string())]);
        page.table(2, &counted.chain(last).collect::<Vec<_>>());
        shown::section(page, "Held", report.claims.iter().map(claim_row));
        if !report.warnings.is_empty() {
            page.heading("Wants attention");
        }
        for warning in &report.warnings {
            page.table(2, &[vec![warn(at_a_prompt(&warning.message))]]);
            page.block(4, &at_a_prompt(&warning.hint));
        }
        if let Some(metrics) = &report.metrics {
            show_metrics(metrics, page);
        }
        shown::section(
            page,
            "Could not be read",
            report.unreadable.iter().map(|unreadable| {
                let line = unreadable.line.map_or_else(String::new, |line| format!(":{line}"));
                vec![bad(format!("{}{line}", unreadable.file)), plain(&unreadable.why)]
            }),
        );
    }
}

fn show_metrics(metrics: &KnowledgeMetrics, page: &mut Page) {
    page.heading("Knowledge, as counted on this machine");
    let rows = [
        ("packs made", metrics.packs_built.to_string()),
        ("packs reused", metrics.packs_reused.to_string()),
        ("largest pack", format!("{} nodes, {} bytes", metrics.largest_pack_nodes, metrics.largest_pack_bytes)),
        ("time to make one", format!("{} ms in the middle, {} ms at most", metrics.median_pack_ms, metrics.slowest_pack_ms)),
        ("edits of the graph", metrics.knowledge_changes.to_string()),
        ("nodes added", metrics.nodes_added.to_string()),
        ("reviews", metrics.reviews.to_string()),
        ("merges", format!("{}, {} with conflicts", metrics.merges, metrics.merges_with_conflicts)),
    ];
    page.table(2, &rows.map(|(name, value)| vec![dim(name), plain(value)]));
    let stories = metrics.stories.iter().map(|(id, story)| {
        let counts = format!(
            "{} packs, {} reviews, {} edits, {} nodes added",
            story.packs, story.reviews, story.knowledge_changes, story.nodes_added
        );
        vec![strong(id), plain(counts)]
    });
    shown::section(page, "By story", stories);
}
