//! Rule 1: nothing is brought in that a decision or the knowledge of the base rules out.

use std::collections::HashSet;

use twining_guard::checks::forbidden_use::contains_half;
use twining_guard::{Clause, ForbiddenUse, GuardSet, Verdict};
use twining_model::{Decision, text};

use crate::decisions::{clause_of_decision, clause_of_edge};
use crate::knowledge::{KnowledgeFacts, KnowledgeGraph};
use crate::verify::ci::pull_request::{ChangedFile, PullRequest};
use crate::verify::ci::report::{CiFinding, Severity};

const RULE: &str = "clauses";
/// Characters of a reason that a finding repeats.
const REASON: usize = 160;

pub(in crate::verify) fn check(request: &PullRequest<'_>) -> Vec<CiFinding> {
    let guards = GuardSet::of_clauses(&in_force(request));
    if !guards.has_clauses() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for file in &request.changed {
        let (Some(path), Some(after)) = (file.path.as_deref(), file.text_after()) else { continue };
        if guards.rules_out_in(path) {
            let before: Vec<&str> = file.text_before().into_iter().collect();
            findings.extend(
                guards
                    .new_uses(path, &before, after)
                    .iter()
                    .map(|used| finding(request, &guards, used, path, after)),
            );
        }
    }
    findings
}

/// The clauses of the base.
fn in_force(request: &PullRequest<'_>) -> Vec<Clause> {
    let decisions =
        request.base_files.iter().filter(|(path, _)| path.starts_with(".twining/decisions/"));
    let decisions =
        decisions.filter_map(|(_, bytes)| serde_json::from_slice::<Decision>(bytes).ok());
    let mut clauses: Vec<Clause> = decisions
        .filter(|decision| decision.status.binds())
        .filter_map(|decision| clause_of_decision(&decision))
        .collect();
    if let Some(bytes) = request.base_files.get(&request.knowledge_path()) {
        let facts = KnowledgeFacts::of(&KnowledgeGraph::read(bytes));
        clauses.extend(facts.must_not_use.iter().filter_map(clause_of_edge));
    }
    clauses
}

fn finding(
    request: &PullRequest<'_>,
    guards: &GuardSet,
    used: &ForbiddenUse,
    path: &str,
    after: &str,
) -> CiFinding {
    let source = used.guard.replace("decision-", "decision ").replace("knowledge-", "knowledge ");
    let (severity, way) = match moved_from(request, guards, used, after) {
        Some(from) => (Severity::Note, format!("The code came from `{from}`.")),
        None if used.level < Verdict::Block => {
            (Severity::Warning, "The decision is contested; settle it.".to_owned())
        }
        None => (
            Severity::Error,
            "Write it without that, or have the decision overridden in a separate pull request."
                .to_owned(),
        ),
    };
    let message = format!(
        "`{}` is used, but {source} rules it out: {}. {way}",
        used.item,
        text::excerpt(&used.why, REASON)
    );
    CiFinding::at(RULE, severity, path, &message).on(used.line)
}

/// The changed file that half of a file's lines come from, if it had the same use before: splitting
/// a file introduces nothing new.
fn moved_from(
    request: &PullRequest<'_>,
    guards: &GuardSet,
    used: &ForbiddenUse,
    after: &str,
) -> Option<String> {
    let gave = |file: &&ChangedFile| {
        let (Some(path), Some(before)) = (file.old_path.as_deref(), file.text_before()) else {
            return false;
        };
        let remaining_lines: HashSet<&str> =
            file.text_after().unwrap_or_default().lines().map(str::trim).collect();
        let taken: Vec<&str> =
            before.lines().filter(|line| !remaining_lines.contains(line.trim())).collect();
        contains_half(&taken.join("\n"), after)
            && guards.uses(path, before).iter().any(|known| known.item == used.item)
    };
    request.changed.iter().find(gave).and_then(|file| file.old_path.clone())
}
