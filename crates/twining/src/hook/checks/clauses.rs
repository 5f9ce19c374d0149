//! What decisions and knowledge rule out, brought in by a way that no tool call showed.

use twining_engine::CodeState;
use twining_guard::checks::forbidden_use::contains_half;
use twining_guard::{ForbiddenUse, Verdict};
use twining_model::text;

use super::comparison::{CheckNotice, NoticeLevel, Stage, TreeComparison};
use crate::hook::decision_labels::code_of;

/// Files that are looked into.
const MAX_FILES: usize = 2_000;
/// Uses that are named.
const MAX_NAMED: usize = 8;
/// Files that a new one may have been renamed or cut out of.
const MAX_SOURCES: usize = 200;

/// Uses that are in none of the versions before.
pub(super) fn check(comparison: &TreeComparison<'_>) -> Vec<CheckNotice> {
    let guards = comparison.guards;
    let judged: Vec<String> = comparison
        .changed
        .iter()
        .filter(|path| guards.rules_out_in(path))
        .take(MAX_FILES)
        .cloned()
        .collect();
    // Only files that use something now are read as they were.
    let after = |path: &String| Some((path.clone(), comparison.text_after(path)?));
    let suspects: Vec<(String, String)> = judged
        .iter()
        .filter_map(after)
        .filter(|(path, text)| !guards.uses(path, text).is_empty())
        .collect();
    if suspects.is_empty() {
        return Vec::new();
    }
    comparison.prefetch(&judged);
    let mut notices = Vec::new();
    for (path, after) in &suspects {
        let new_since = |sides: &[String]| {
            let before = versions(comparison, sides, path, after);
            guards.new_uses(path, &before.iter().map(String::as_str).collect::<Vec<_>>(), after)
        };
        let new = new_since(&comparison.before);
        notices.extend(new.iter().filter_map(|used| notice(comparison, path, used)));
        // Reports what this turn committed until upstream has it.
        if let Some(base) = comparison.work_base().filter(|_| (comparison.changed_this_turn)(path))
        {
            let committed = new_since(std::slice::from_ref(base))
                .into_iter()
                .filter(|used| !new.contains(used));
            notices.extend(committed.filter_map(|used| {
                let notice = notice(comparison, path, &used)?;
                Some(CheckNotice { weight: NoticeLevel::Tell, ..notice })
            }));
        }
    }
    notices.truncate(MAX_NAMED);
    notices
}

/// A file as it was; where it is new, the files it was renamed or cut out of.
fn versions(
    comparison: &TreeComparison<'_>,
    sides: &[String],
    path: &str,
    after: &str,
) -> Vec<String> {
    let before = comparison.versions_on(sides, path);
    if !before.is_empty() {
        return before;
    }
    let others = comparison
        .changed
        .iter()
        .filter(|other| *other != path)
        .take(MAX_SOURCES)
        .flat_map(|other| comparison.versions_on(sides, other));
    others.filter(|other| contains_half(other, after)).collect()
}

/// What is said of a use; nothing if its decision is not of this branch.
fn notice(comparison: &TreeComparison<'_>, path: &str, used: &ForbiddenUse) -> Option<CheckNotice> {
    let code = code_of(comparison.project, &used.guard);
    let code = code.filter(|note| note.state >= CodeState::Drifted);
    if code.as_ref().is_some_and(|note| note.state == CodeState::Elsewhere) {
        return None;
    }
    let code = code.map(|note| format!(" Its code: {}.", note.brief())).unwrap_or_default();
    let is_ours = comparison.stage == Stage::Commit || (comparison.changed_this_turn)(path);
    let weight = if used.level == Verdict::Block && is_ours {
        NoticeLevel::Refuse
    } else {
        NoticeLevel::Tell
    };
    let item = text::excerpt(&used.item, 60);
    let why = text::excerpt(&used.why, 160);
    let text = format!(
        "`{path}` line {} uses `{item}`. Why: {}.{code} Do instead: remove `{item}`. If you must: {}.",
        used.line,
        why.trim_end_matches('.'),
        used.otherwise
    );
    Some(CheckNotice { rule: used.guard.clone(), path: Some(path.to_owned()), weight, text })
}
