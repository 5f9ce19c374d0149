//! Rule 1: nothing is brought in that a decision or the knowledge of the base rules out.

use std::collections::HashSet;

use twining_model::{Decision, text};

use crate::binding::{clause_of_bond, clause_of_decision};
use crate::guards::{Clause, Guards, Level, Use};
use crate::knowledge::{Knowledge, KnowledgeFacts};
use crate::verify::finding::{CiFinding, Severity};
use crate::verify::pull_request::{ChangedFile, MEMORY, PullRequest};

const RULE: &str = "clauses";
/// Characters of a reason that a finding repeats.
const REASON: usize = 120;

pub(in crate::verify) fn check(request: &PullRequest<'_>) -> Vec<CiFinding> {
    let (clauses, reasons) = in_force(request);
    if clauses.is_empty() {
        return Vec::new();
    }
    let guards = Guards::of_clauses(&clauses);
    let mut findings = Vec::new();
    for file in request.changed.iter().filter(|file| !file.name().starts_with(MEMORY)) {
        let (Some(path), Some(after)) = (file.path.as_deref(), file.text_after()) else { continue };
        if !guards.rules_out_in(path) {
            continue;
        }
        let known: HashSet<String> = file.text_before().map(|before| rulings(&guards, path, before)).unwrap_or_default();
        for used in guards.uses(path, after).into_iter().filter(|used| !known.contains(&used.ruling)) {
            findings.push(finding(request, &guards, &used, path, after, &reasons));
        }
    }
    findings
}

/// The clauses of the base, and why the decision behind each was made.
fn in_force(request: &PullRequest<'_>) -> (Vec<Clause>, Vec<(String, String)>) {
    let (mut clauses, mut reasons) = (Vec::new(), Vec::new());
    for (path, bytes) in &request.base_files {
        if !path.starts_with(".twining/decisions/") {
            continue;
        }
        let Ok(decision) = serde_json::from_slice::<Decision>(bytes) else { continue };
        if let Some(clause) = Some(&decision).filter(|decision| decision.status.binds()).and_then(clause_of_decision) {
            reasons.push((clause.id.clone(), decision.rationale));
            clauses.push(clause);
        }
    }
    if let Some(bytes) = request.base_files.get(&request.knowledge_path()) {
        let facts = KnowledgeFacts::of(&Knowledge::read(bytes));
        clauses.extend(facts.must_not_use.iter().filter_map(clause_of_bond));
    }
    (clauses, reasons)
}

fn rulings(guards: &Guards, path: &str, text: &str) -> HashSet<String> {
    guards.uses(path, text).into_iter().map(|used| used.ruling).collect()
}

fn finding(request: &PullRequest<'_>, guards: &Guards, used: &Use, path: &str, after: &str, reasons: &[(String, String)]) -> CiFinding {
    let reason = reasons.iter().find(|(id, _)| *id == used.guard).map(|(_, reason)| text::excerpt(reason, REASON)).unwrap_or_default();
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let source = used.guard.replace("decision-", "decision ").replace("knowledge-", "knowledge ");
    let moved = moved_from(request, guards, used, after);
    let (severity, way) = match &moved {
        Some(from) => (Severity::Note, format!("The code came from `{from}`.")),
        None if used.level < Level::Block => (Severity::Warning, "The decision is contested; settle it.".to_owned()),
        None => {
            let way = "Use what the decision names instead, or have it overridden in a pull request of its own.";
            (Severity::Error, way.to_owned())
        }
    };
    let message = format!("`{}` is used, and {source} rules it out ({}{why}). {way}", used.item, text::excerpt(&used.say, REASON));
    CiFinding::at(RULE, severity, path, &message).on(used.line)
}

/// The file that most of a new file's lines were taken from, if that one used the
/// same before: whoever splits a file brings nothing in.
fn moved_from(request: &PullRequest<'_>, guards: &Guards, used: &Use, after: &str) -> Option<String> {
    let lines = |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let wanted = lines(after);
    let gave = |file: &&ChangedFile| {
        let (Some(path), Some(before)) = (file.old_path.as_deref(), file.text_before()) else { return false };
        if !rulings(guards, path, before).contains(&used.ruling) {
            return false;
        }
        let kept: HashSet<String> = lines(file.text_after().unwrap_or_default()).into_iter().collect();
        let taken: HashSet<String> = lines(before).into_iter().filter(|line| !kept.contains(line)).collect();
        wanted.iter().filter(|line| taken.contains(*line)).count() * 2 >= wanted.len()
    };
    request.changed.iter().find(gave).and_then(|file| file.old_path.clone())
}
