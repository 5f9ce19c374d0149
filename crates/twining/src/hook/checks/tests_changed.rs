//! Tests that became fewer, were skipped, edited or emptied. Visible, never a verdict.

use twining_guard::checks::tests_changed::{TestChanges, compare_files, is_test_file};

use super::comparison::{CheckNotice, NoticeLevel, Stage, TreeComparison};

/// The rule that these notices are about.
const RULE: &str = "tests-changed";
/// Files that are looked into.
const MAX_FILES: usize = 500;

/// What changed in tests since the oldest state before.
pub(super) fn check(comparison: &TreeComparison<'_>) -> Vec<CheckNotice> {
    let changes = changes(comparison);
    let Some(summary) = changes.summary() else { return Vec::new() };
    let text = format!("Tests changed: {summary}. Say why when you report the work.");
    vec![CheckNotice { rule: RULE.to_owned(), path: None, weight: NoticeLevel::Tell, text }]
}

/// The changes themselves.
pub(super) fn changes(comparison: &TreeComparison<'_>) -> TestChanges {
    let is_ours =
        |path: &&String| comparison.stage == Stage::Commit || (comparison.changed_this_turn)(path);
    let paths: Vec<String> = comparison
        .changed
        .iter()
        .filter(|path| is_test_file(path) || path.ends_with(".rs"))
        .filter(is_ours)
        .take(MAX_FILES)
        .cloned()
        .collect();
    comparison.prefetch(&paths);
    let since = comparison.work_base().unwrap_or(&comparison.before[0]);
    // A file without a version before has only new tests.
    let versions: Vec<(&str, Option<String>, Option<String>)> = paths
        .iter()
        .map(|path| {
            (
                path.as_str(),
                comparison.versions_on(std::slice::from_ref(since), path).pop(),
                comparison.text_after(path),
            )
        })
        .collect();
    compare_files(
        versions.iter().map(|(path, before, after)| (*path, before.as_deref(), after.as_deref())),
    )
}
