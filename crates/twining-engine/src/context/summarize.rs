//! Summarizes the state of a scope in one paragraph, as a colleague would: warnings, disputes,
//! decisions, open items, findings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    Decision, DecisionStatus, Entry, EntryType, InvalidInput, ProjectRoot, Scope, Time,
};
use twining_store::{DecisionState, EntryFilter, Page, StoreError, View};

use crate::blackboard::is_report;
use crate::context::changes::{changes_since, touched_since};
use crate::decisions::contesting;
use crate::failure::Failure;
use crate::fields::{self, DAY_MS};

/// How far back counts as recent.
const RECENT_DAYS: i64 = 7;
/// Records that are named of each kind.
const NAMED: usize = 3;
/// Decisions that are looked at to find a dispute.
const LOOKED_AT: usize = 50;
/// Characters of a record's line.
const LINE: usize = 120;

/// Which part of the project.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummarizeInput {
    /// Default `project`
    ///
    /// File, directory or module; a path is relative to the project
    pub scope: Option<String>,
}

/// The state of a scope.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScopeSummary {
    /// Which scope.
    pub scope: String,
    /// Decisions in force.
    pub active_decisions: u64,
    /// Provisional decisions.
    pub provisional_decisions: u64,
    /// Unmet needs.
    pub open_needs: u64,
    /// Unresolved warnings.
    pub active_warnings: u64,
    /// Unanswered questions.
    pub unanswered_questions: u64,
    /// The most important first.
    pub recent_activity_summary: String,
}

impl SummarizeInput {
    /// Checks the scope.
    pub(crate) fn scope(&self, root: &ProjectRoot) -> Result<Scope, InvalidInput> {
        fields::scope_or_project(self.scope.as_deref(), root)
    }
}

/// Sums a scope up.
pub fn summarize(view: &View<'_>, scope: &Scope) -> Result<ScopeSummary, Failure> {
    let bearing = view.decisions().count_in_scope(scope)?;
    let open = |kind: EntryType| {
        let filter = EntryFilter {
            types: vec![kind.as_str().to_owned()],
            only_open: true,
            ..EntryFilter::default()
        };
        view.entries().about_scope(scope, &filter, NAMED)
    };
    let (warnings, needs, questions) =
        (open(EntryType::Warning)?, open(EntryType::Need)?, open(EntryType::Question)?);

    let since = fields::earlier(view.now(), RECENT_DAYS * DAY_MS);
    let (changed, _) = touched_since(view, scope, since)?;
    let filter = EntryFilter {
        types: vec![EntryType::Finding.as_str().to_owned()],
        since: Some(since),
        ..EntryFilter::default()
    };
    let mut findings = view.entries().about_scope(scope, &filter, NAMED * 8)?;
    let listed = findings.items.len();
    findings.items.retain(|entry| !is_report(entry));
    findings.total -= (listed - findings.items.len()) as u64;
    findings.items.truncate(NAMED);
    let rows = view.decisions().nearest(scope, DecisionState::InForce, LOOKED_AT)?;
    let mut writer = SummaryWriter { now: view.now(), sentences: Vec::new() };
    writer.open("warning", &warnings);
    writer.disputes(view, rows.iter().map(|row| &row.id))?;
    writer.decided(&changed, since);
    writer.given_up(&changed, since);
    writer.open("need", &needs);
    writer.open("question", &questions);
    writer.entries("Recent findings", &findings);
    Ok(ScopeSummary {
        scope: scope.to_string(),
        active_decisions: bearing.active,
        provisional_decisions: bearing.provisional,
        open_needs: needs.total,
        active_warnings: warnings.total,
        unanswered_questions: questions.total,
        recent_activity_summary: writer
            .finish(bearing.active + bearing.provisional, last_activity(view, scope)?),
    })
}

fn last_activity(view: &View<'_>, scope: &Scope) -> Result<Option<Time>, StoreError> {
    let newest = view.entries().about_scope(scope, &EntryFilter::default(), 1)?;
    Ok(newest.items.first().and_then(|entry| Time::read(&entry.timestamp)))
}

/// The sentences so far.
struct SummaryWriter {
    now: Time,
    sentences: Vec<String>,
}

impl SummaryWriter {
    fn open(&mut self, noun: &str, page: &Page<Entry>) {
        let heading = fields::count(page.total, &format!("open {noun}"), &format!("open {noun}s"));
        self.entries(&heading, page);
    }

    fn entries(&mut self, heading: &str, page: &Page<Entry>) {
        let lines: Vec<String> =
            page.items.iter().map(|entry| self.line(&entry.summary, &entry.timestamp)).collect();
        if !lines.is_empty() {
            self.sentences.push(format!("{heading}: {}.", listed(&lines, page.total)));
        }
    }

    fn disputes<'i>(
        &mut self,
        view: &View<'_>,
        ids: impl Iterator<Item = &'i twining_model::Id>,
    ) -> Result<(), StoreError> {
        let mut disputes: Vec<String> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for id in ids {
            let Some(decision) = view.decisions().get(id)? else { continue };
            for rival in view.decisions().contesters(&decision, contesting(decision.status), 1)? {
                if seen.contains(&rival) {
                    continue;
                }
                if let Some(rival) = view.decisions().get(&rival)? {
                    disputes.push(format!(
                        "{} against {}",
                        quoted(&decision.summary),
                        quoted(&rival.summary)
                    ));
                }
                seen.insert(id.clone());
            }
        }
        if !disputes.is_empty() {
            let total = disputes.len() as u64;
            disputes.truncate(NAMED);
            self.sentences.push(format!("In dispute: {}.", listed(&disputes, total)));
        }
        Ok(())
    }

    fn decided(&mut self, changed: &[Decision], since: Time) {
        let made = |decision: &&Decision| {
            decision.status.binds() && Time::read(&decision.timestamp).is_some_and(|at| at >= since)
        };
        let made: Vec<&Decision> = changed.iter().filter(made).collect();
        let lines: Vec<String> = made
            .iter()
            .take(NAMED)
            .map(|decision| {
                let doubt = if decision.status == DecisionStatus::Provisional {
                    ", provisional"
                } else {
                    ""
                };
                format!("{} ({}{doubt})", quoted(&decision.summary), self.ago(&decision.timestamp))
            })
            .collect();
        if !lines.is_empty() {
            self.sentences.push(format!(
                "Decided in the last {RECENT_DAYS} days: {}.",
                listed(&lines, made.len() as u64)
            ));
        }
    }

    fn given_up(&mut self, changed: &[Decision], since: Time) {
        let mut lines: Vec<String> = Vec::new();
        for decision in changed.iter().filter(|decision| decision.status != DecisionStatus::Active)
        {
            let Some(change) = changes_since(decision, since).next() else { continue };
            let reason = if change.reason.is_empty() {
                String::new()
            } else {
                format!(": {}", fields::shorten(&change.reason, LINE))
            };
            lines.push(format!("{} {}{reason}", quoted(&decision.summary), word(change.status)));
        }
        if !lines.is_empty() {
            let total = lines.len() as u64;
            lines.truncate(NAMED);
            self.sentences.push(format!("No longer active: {}.", listed(&lines, total)));
        }
    }

    fn finish(self, decisions: u64, last: Option<Time>) -> String {
        if !self.sentences.is_empty() {
            return self.sentences.join(" ");
        }
        match (decisions, last) {
            (0, None) => "Nothing is recorded here yet.".to_owned(),
            (0, Some(last)) => {
                format!("Quiet: nothing is open, and nothing happened since {}.", day(last))
            }
            (n, _) => format!(
                "Quiet: nothing is open, {} in force, and nothing changed in the last {RECENT_DAYS} days.",
                if n == 1 { "1 decision is".to_owned() } else { format!("{n} decisions are") }
            ),
        }
    }

    fn line(&self, summary: &str, timestamp: &str) -> String {
        format!("{} ({})", quoted(summary), self.ago(timestamp))
    }

    fn ago(&self, timestamp: &str) -> String {
        let Some(at) = Time::read(timestamp) else { return "undated".to_owned() };
        let minutes = (self.now.as_ms() - at.as_ms()) / 60_000;
        match minutes {
            ..0 => format!("dated {}", day(at)),
            0 => "just now".to_owned(),
            1..60 => format!("{minutes} min ago"),
            60..2880 => format!("{} h ago", minutes / 60),
            _ => format!("{} days ago", minutes / 1440),
        }
    }
}

fn word(status: DecisionStatus) -> &'static str {
    match status {
        DecisionStatus::Active => "active again",
        DecisionStatus::Provisional => "made provisional",
        DecisionStatus::Superseded => "superseded",
        DecisionStatus::Overridden => "overridden",
    }
}

fn quoted(summary: &str) -> String {
    format!("“{}”", fields::shorten(summary.trim_end_matches('.'), LINE))
}

fn day(at: Time) -> String {
    at.to_string().chars().take(10).collect()
}

fn listed(lines: &[String], total: u64) -> String {
    let more = total - lines.len() as u64;
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{rest}", lines.join("; "))
}
