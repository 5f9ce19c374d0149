//! Records that are gone, say something else, or can no longer be read.

use twining_store::integrity::{
    Difference, DifferenceKind, RecordKind, RecordTree, compare_changed,
};

use super::comparison::{CheckNotice, NoticeLevel, TreeComparison};
use crate::project::Project;

/// The rule that these notices are about.
const RULE: &str = "records";
/// Files that a person merges: nothing joins both sides of them.
const BY_HAND: [&str; 2] = ["policy.yml", "config.yml"];
/// Differences that are named one by one.
const MAX_NAMED: usize = 5;

/// Compares the working tree with HEAD and with the merge base. The author of a change is unknown,
/// so nothing blocks.
pub(super) fn in_working_tree(comparison: &TreeComparison<'_>) -> Vec<CheckNotice> {
    let located = &comparison.project.located;
    let is_compared = located.checkout == located.place.project && comparison.base.is_none();
    // Most turns change no record, and git need not be asked again.
    if is_compared && !comparison.changed.iter().any(|path| path.starts_with(".twining/")) {
        return Vec::new();
    }
    let base = comparison.base.as_deref();
    let Project { engine, history, .. } = comparison.project;
    let differences = engine.store().documents().changed_records(history, base).unwrap_or_default();
    // What is committed already comes back from where the branch left.
    let source = |path: &str| {
        let is_committed =
            comparison.text_after(path) == comparison.versions_on(&["HEAD".to_owned()], path).pop();
        base.filter(|_| is_committed)
            .map_or_else(|| "HEAD".to_owned(), |base| base.chars().take(12).collect())
    };
    notices(&differences, &source, |_| NoticeLevel::Tell)
}

/// Compares what is staged with HEAD. What nobody could read any more is refused.
pub(super) fn staged(comparison: &TreeComparison<'_>) -> Vec<CheckNotice> {
    let is_record = |path: &&String| {
        path.strip_prefix(".twining/").is_some_and(|inside| RecordKind::of(inside).is_some())
    };
    let mut paths: Vec<String> = comparison.changed.iter().filter(is_record).cloned().collect();
    let store = comparison.project.engine.store();
    let is_linked = store.outbox().is_linked().unwrap_or(false);
    if is_linked || store.installation().are_records_ignored().unwrap_or(false) {
        // `twining link` takes the records out of git, also in a clone that merges its commit and
        // is not linked yet: the team's log has them.
        paths.retain(|path| comparison.stored("", path).is_some());
    }
    if paths.is_empty() {
        return Vec::new();
    }
    comparison.prefetch(&paths);
    let bytes =
        |side: &str| paths.iter().map(|path| comparison.stored(side, path)).collect::<Vec<_>>();
    let (before, after) = (bytes("HEAD"), bytes(""));
    let (base, head) = (tree(&paths, &before), tree(&paths, &after));
    // Files that are not staged are in both.
    let is_in_both =
        |path: &str| !paths.iter().any(|staged| staged.trim_start_matches(".twining/") == path);
    notices(
        &compare_changed(base, head, &is_in_both),
        &|_| "HEAD".to_owned(),
        |change| match change {
            DifferenceKind::Unparsable(_) | DifferenceKind::ConflictMarkers => NoticeLevel::Refuse,
            _ => NoticeLevel::Tell,
        },
    )
}

fn tree<'t>(paths: &'t [String], versions: &'t [Option<Vec<u8>>]) -> RecordTree<'t> {
    let present =
        paths.iter().zip(versions).filter_map(|(path, bytes)| Some((path, bytes.as_ref()?)));
    present.map(|(path, bytes)| (path.trim_start_matches(".twining/"), bytes.as_slice())).collect()
}

/// `source` names the commit that has a file as it was.
fn notices(
    differences: &[Difference],
    source: &dyn Fn(&str) -> String,
    weight: impl Fn(&DifferenceKind) -> NoticeLevel,
) -> Vec<CheckNotice> {
    let mut notices: Vec<CheckNotice> = Vec::new();
    for difference in differences.iter().take(MAX_NAMED) {
        let path = format!(".twining/{}", difference.path);
        let instead = match difference.change {
            DifferenceKind::ConflictMarkers if BY_HAND.contains(&difference.path.as_str()) => {
                format!("keep one side of the conflict, then `git add {path}`")
            }
            DifferenceKind::ConflictMarkers => {
                format!("`twining doctor --fix` joins both sides, then `git add {path}`")
            }
            _ => format!(
                "`git restore --source={} --staged --worktree {path}` restores it",
                source(&path)
            ),
        };
        let lead = if difference.change == DifferenceKind::ConflictMarkers {
            "Do instead"
        } else {
            "If this was not intended"
        };
        let text = format!("{difference}. {lead}: {instead}.");
        notices.push(CheckNotice {
            rule: RULE.to_owned(),
            path: Some(path),
            weight: weight(&difference.change),
            text,
        });
    }
    if differences.len() > MAX_NAMED {
        let text = format!(
            "{} more records were removed or changed; `git diff HEAD -- .twining` shows them.",
            differences.len() - MAX_NAMED
        );
        notices.push(CheckNotice {
            rule: RULE.to_owned(),
            path: Some(".twining".to_owned()),
            weight: NoticeLevel::Tell,
            text,
        });
    }
    notices
}
