//! The sections of a prompt in Markdown. Every stored text goes through [`one_line`].

use std::collections::BTreeMap;

use twining_model::{Turn, text};

use crate::fields;
use crate::governance::gates::GateProfile;
use crate::governance::modes::ModeAdvice;
use crate::governance::prompt::builder::PromptRecord;
use crate::governance::roles::Role;

/// Characters of one line about an earlier turn.
const EARLIER_CHARS: usize = 100;
/// Characters of one piece of advice.
const ADVICE_CHARS: usize = 160;
/// Characters of a record's line.
const SUMMARY_CHARS: usize = 200;
/// Characters of what is said of a record's code.
const CODE_CHARS: usize = 140;
/// Characters of a record's reasons.
const DETAIL_CHARS: usize = 240;

/// A stored text on one line, nothing hidden in it.
fn one_line(stored: &str, chars: usize) -> String {
    // Cut before it is looked through, because it may be long.
    let short = fields::shorten(stored, chars);
    let shown = text::visible(&short);
    // Whatever acts is shown by more characters than it had.
    if shown.len() == short.len() { shown } else { fields::shorten(&shown, chars) }
}

/// What holds for the role; at most three eighths of the sheet.
pub(super) fn role(role: &Role, tokens: usize) -> String {
    let lists = [
        ("You MUST", &role.must_do),
        ("You MUST NOT", &role.must_not_do),
        ("ASK before", &role.ask_before),
        ("ESCALATE when", &role.escalate_when),
    ];
    let filled = lists.iter().filter(|(_, items)| !items.is_empty()).count().max(1);
    let mut section = format!("## Your role: {}\n", one_line(&role.role, 64));
    for (label, items) in lists.iter().filter(|(_, items)| !items.is_empty()) {
        section.push_str(&format!("{label}: {}\n", joined(items, tokens * 3 / 2 / filled)));
    }
    section
}

/// Items between bars, as many as fit.
fn joined(items: &[String], chars: usize) -> String {
    let mut line = String::new();
    for (n, item) in items.iter().enumerate() {
        let item = one_line(item, chars / 2);
        let gap = if n == 0 { "" } else { " | " };
        if line.chars().count() + gap.len() + item.chars().count() > chars.saturating_sub(40) {
            line.push_str(&format!("{gap}and {} more, see twining_role", items.len() - n));
            break;
        }
        line.push_str(gap);
        line.push_str(&item);
    }
    line
}

/// The bar, and that it stays where it is.
pub(super) fn gates(profile: &GateProfile, complexity: u8) -> String {
    let bar = |required: bool, threshold: Option<String>| match (required, threshold) {
        (true, Some(threshold)) => format!("required (threshold: {threshold})"),
        (true, None) => "required".to_owned(),
        (false, _) => "not required".to_owned(),
    };
    let tests = match (profile.tests_required, profile.tests_must_pass) {
        (true, true) => "required, must pass",
        (true, false) => "required",
        (false, _) => "not required",
    };
    format!(
        "## Quality gates for this task\nTask type: {} | Complexity: {complexity} | Profile: {}\nArchitecture review: {}\nCoverage: {}\nTests: {tests}\nDO NOT adjust these thresholds during this session.\n",
        one_line(&profile.task_type, 64),
        one_line(&profile.id, 80),
        bar(
            profile.arch_review_required,
            profile.arch_review_threshold.map(|threshold| threshold.to_string())
        ),
        bar(
            profile.coverage_required,
            profile.coverage_threshold.map(|threshold| threshold.to_string())
        ),
    )
}

/// A turn whose texts take a quarter of the sheet at most.
pub(super) fn shortened(turn: &Turn, tokens: usize) -> Turn {
    let chars = tokens / 8;
    let short = |text: &str| one_line(text, chars);
    let some =
        |items: &[String]| items.iter().take(5).map(|item| one_line(item, chars / 3)).collect();
    let criteria: BTreeMap<String, String> = turn
        .acceptance_criteria_status
        .iter()
        .take(20)
        .map(|(name, status)| (one_line(name, 60), one_line(status, 20)))
        .collect();
    Turn {
        player_decision: short(&turn.player_decision),
        player_summary: short(&turn.player_summary),
        coach_decision: one_line(&turn.coach_decision, 20),
        coach_feedback: short(&turn.coach_feedback),
        progress_summary: short(&turn.progress_summary),
        what_to_try_next: short(&turn.what_to_try_next),
        blockers_found: some(&turn.blockers_found),
        lessons_from_turn: some(&turn.lessons_from_turn),
        files_modified: some(&turn.files_modified),
        acceptance_criteria_status: criteria,
        quality_gate_results: None,
        origin: None,
        ..turn.clone()
    }
}

/// The turn before at length, and those before it in a line each.
pub(super) fn previous(turn: &Turn, begins: u32, older: &[Turn], tokens: usize) -> String {
    let or_unknown =
        |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    let attempted =
        if turn.player_summary.is_empty() { &turn.progress_summary } else { &turn.player_summary };
    let verdict = or_unknown(&turn.coach_decision).to_uppercase();
    let verdict = if turn.coach_feedback.is_empty() {
        verdict
    } else {
        format!("{verdict}: {}", turn.coach_feedback)
    };
    let blockers = if turn.blockers_found.is_empty() {
        "none".to_owned()
    } else {
        turn.blockers_found.join(", ")
    };
    let mut section = format!("## Previous turn (turn {} of {begins})\n", turn.turn_number);
    let mut line = |label: &str, words: &str| section.push_str(&format!("{label}: {words}\n"));
    line("Attempted", &or_unknown(attempted));
    if !turn.player_summary.is_empty() && !turn.progress_summary.is_empty() {
        line("Progress", &turn.progress_summary);
    }
    line("Player decided", &or_unknown(&turn.player_decision));
    line("Coach decided", &verdict);
    line("Blockers", &blockers);
    if !turn.lessons_from_turn.is_empty() {
        line("Lessons", &turn.lessons_from_turn.join("; "));
    }
    if !turn.what_to_try_next.is_empty() {
        line("Try next", &turn.what_to_try_next);
    }
    if !turn.acceptance_criteria_status.is_empty() {
        line("Acceptance criteria", &criteria(&turn.acceptance_criteria_status, tokens / 2));
    }
    for turn in older {
        let words = format!(
            "Turn {}: {}, {}",
            turn.turn_number, turn.coach_decision, turn.progress_summary
        );
        section.push_str(&format!("{}\n", one_line(&words, EARLIER_CHARS)));
    }
    section
}

fn criteria(statuses: &BTreeMap<String, String>, chars: usize) -> String {
    let marked = statuses.iter().map(|(name, status)| {
        let mark = match status.as_str() {
            "verified" | "completed" => '✓',
            "rejected" | "failed" => '✗',
            _ => '○',
        };
        format!("{mark} {name} ({status})")
    });
    fields::shorten(&marked.collect::<Vec<_>>().join(", "), chars)
}

/// How much ceremony fits.
pub(super) fn mode(mode: &ModeAdvice) -> String {
    let some = |items: &[String], most: usize| {
        items
            .iter()
            .take(most)
            .map(|item| one_line(item, ADVICE_CHARS))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let mut section = format!(
        "## Suggested process\n{} (mode {}; advice only)\n",
        mode.ceremony.as_str(),
        one_line(&mode.mode, 64)
    );
    if !mode.when_to_use.is_empty() {
        section.push_str(&format!("Meant for: {}\n", some(&mode.when_to_use, 2)));
    }
    if !mode.pitfalls.is_empty() {
        section.push_str(&format!("Beware: {}\n", some(&mode.pitfalls, 3)));
    }
    section
}

/// A record on one line.
pub(super) fn line(record: &PromptRecord) -> String {
    let standing = if record.standing.is_empty() {
        String::new()
    } else {
        format!(" ({})", one_line(&record.standing, 20))
    };
    let detail = if record.detail.is_empty() {
        String::new()
    } else {
        format!(": {}", one_line(&record.detail, DETAIL_CHARS))
    };
    let code = record.code.as_ref().map_or_else(String::new, |note| {
        format!(" (code {})", one_line(&note.brief(), CODE_CHARS))
    });
    format!(
        "- {}{standing}{code}{detail} [{}]\n",
        one_line(&record.summary, SUMMARY_CHARS),
        one_line(&record.id, 40)
    )
}
