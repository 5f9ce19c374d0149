//! Weakened policy or host wiring. A person may have intended it, so it is reported and never
//! blocks.

use twining_guard::checks::wiring::unwired;
use twining_guard::policy::PROJECT_FILE;
use twining_guard::policy::builtin::{POLICY, WIRING, WIRING_FILES};
use twining_guard::policy::policy_weakened;

use super::comparison::{CheckNotice, NoticeLevel, TreeComparison};

/// What the newest version before stops and this one does not.
pub(super) fn check(comparison: &TreeComparison<'_>) -> Vec<CheckNotice> {
    let watched = comparison
        .changed
        .iter()
        .filter(|path| *path == PROJECT_FILE || WIRING_FILES.split(' ').any(|file| file == *path));
    let milder = watched.filter_map(|path| {
        let before = comparison.versions_before(path).into_iter().next()?;
        let after = comparison.text_after(path).unwrap_or_default();
        let is_policy = path == PROJECT_FILE;
        let how = if is_policy { policy_weakened(&before, &after) } else { unwired(path, &before, &after) }?;
        let text = format!("`{path}` changed: {how}. Tell the person, unless they asked for it; CI will ask a code owner.");
        let rule = if is_policy { POLICY } else { WIRING };
        Some(CheckNotice { rule: rule.to_owned(), path: Some(path.clone()), weight: NoticeLevel::Tell, text })
    });
    milder.collect()
}
