//! Features that a list calls tested and no recorded run shows to work.

use twining_guard::checks::feature_list::newly_tested;
use twining_guard::policy::builtin::{FEATURE_LISTS, TESTED};
use twining_guard::{EvidenceLookup, FeatureProof};
use twining_model::text;

use super::comparison::{CheckNotice, NoticeLevel, Stage, TreeComparison};

/// Features of each list that changed.
pub(super) fn check(comparison: &TreeComparison<'_>) -> Vec<CheckNotice> {
    let is_on = comparison.guards.blocks(TESTED);
    let lists =
        comparison.changed.iter().filter(|path| is_on && FEATURE_LISTS.contains(&path.as_str()));
    lists.filter_map(|path| of_list(comparison, path)).collect()
}

fn of_list(comparison: &TreeComparison<'_>, path: &str) -> Option<CheckNotice> {
    let after = comparison.text_after(path)?;
    let mut new = newly_tested("", &after).ok()?;
    for before in comparison.versions_before(path) {
        new.retain(|feature| newly_tested(&before, &after).is_ok_and(|new| new.contains(feature)));
    }
    let missing = |feature: &String| match comparison.runs.proof_of(feature) {
        FeatureProof::Missing(why) if !comparison.runs.was_proven(feature) => {
            Some((feature.clone(), why))
        }
        _ => None,
    };
    let (feature, why) = new.iter().find_map(missing)?;
    let feature = text::excerpt(&feature, 60);
    let weight = if comparison.stage == Stage::TurnEnd && (comparison.changed_this_turn)(path) {
        NoticeLevel::Refuse
    } else {
        NoticeLevel::Tell
    };
    let text = format!(
        "`{path}` marks `{feature}` as tested, but {}. Do instead: run its tests, then `twining report {feature} --role tester --outcome passed`; or reset its status.",
        why.trim_end_matches('.')
    );
    Some(CheckNotice { rule: TESTED.to_owned(), path: Some(path.to_owned()), weight, text })
}
