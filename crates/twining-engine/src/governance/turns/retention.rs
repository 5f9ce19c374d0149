//! Retention: which turns leave when there are too many.
//!
//! Of a completed feature the last 50 stay; of a project the last 200, as far as
//! completed features can make room. What is in progress is never touched, and
//! neither is the turn that is being written.
//!
//! Whether a feature is completed is for the caller to say: its latest turn does,
//! or the feature list.

use std::collections::{BTreeMap, BTreeSet};

use twining_model::limits;
use twining_store::Slot;

/// A turn, as far as keeping it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RetentionCandidate {
    pub(crate) slot: Slot,
    /// When it was recorded, in milliseconds since 1970.
    pub(crate) at: i64,
    /// Whether its feature is completed.
    pub(crate) completed: bool,
    /// Whether this is the one being written.
    pub(crate) is_new: bool,
}

/// The turns that leave, oldest first.
pub(crate) fn turns_to_delete(turns: &[RetentionCandidate]) -> Vec<Slot> {
    let mut free: Vec<&RetentionCandidate> = turns.iter().filter(|turn| !turn.is_new && turn.completed).collect();
    free.sort_by_key(|turn| (turn.at, &turn.slot));
    let mut of_feature: BTreeMap<&str, usize> = BTreeMap::new();
    turns.iter().for_each(|turn| *of_feature.entry(&turn.slot.feature).or_default() += 1);
    let mut total = turns.len();
    let mut left = BTreeSet::new();
    for turn in &free {
        let count = of_feature.entry(&turn.slot.feature).or_default();
        if *count > limits::TURNS_OF_FEATURE {
            *count -= 1;
            total -= 1;
            left.insert(&turn.slot);
        }
    }
    for turn in &free {
        if total > limits::TURNS_OF_PROJECT && left.insert(&turn.slot) {
            total -= 1;
        }
    }
    free.iter().filter(|turn| left.contains(&turn.slot)).map(|turn| turn.slot.clone()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn turn(feature: &str, number: u32, at: i64, completed: bool) -> RetentionCandidate {
        RetentionCandidate { slot: Slot { feature: feature.into(), task: "T".into(), number }, at, completed, is_new: false }
    }

    fn feature(name: &str, from: i64, turns: u32, completed: bool) -> Vec<RetentionCandidate> {
        (1..=turns).map(|n| turn(name, n, from + i64::from(n), completed)).collect()
    }

    #[test]
    fn the_51st_turn_of_a_completed_feature_drops_its_oldest() {
        assert_eq!(turns_to_delete(&feature("DONE", 0, 50, true)), []);
        let left = turns_to_delete(&feature("DONE", 0, 51, true));
        assert_eq!(left.iter().map(|slot| slot.number).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn the_201st_turn_of_a_project_drops_from_completed_features_first() {
        let mut turns = feature("RUNNING", 0, 150, false);
        turns.extend(feature("DONE-A", 1000, 25, true));
        turns.extend(feature("DONE-B", 500, 26, true));
        let left = turns_to_delete(&turns);
        assert_eq!(left.iter().map(|slot| (slot.feature.as_str(), slot.number)).collect::<Vec<_>>(), [("DONE-B", 1)]);
    }

    #[test]
    fn what_is_in_progress_stays_however_much_there_is() {
        assert_eq!(turns_to_delete(&feature("RUNNING", 0, 500, false)), []);
    }

    #[test]
    fn the_turn_being_written_is_never_the_one_to_go() {
        let mut turns = feature("DONE", 1000, 51, true);
        turns[0].is_new = true;
        turns[0].at = 0;
        assert_eq!(turns_to_delete(&turns).iter().map(|slot| slot.number).collect::<Vec<_>>(), [2]);
    }

    proptest! {
        #[test]
        fn room_is_made_as_ruled(spread in prop::collection::vec((0..6_u8, 0..300_i64), 0..320)) {
            let number = |n: usize| u32::try_from(n).expect("few") + 1;
            let turns: Vec<RetentionCandidate> =
                spread.iter().enumerate().map(|(n, (feature, at))| turn(&format!("F{feature}"), number(n), *at, feature % 2 == 0)).collect();
            let left = turns_to_delete(&turns);
            let gone: BTreeSet<&Slot> = left.iter().collect();
            prop_assert_eq!(gone.len(), left.len());
            let stay: Vec<RetentionCandidate> = turns.iter().filter(|turn| !gone.contains(&turn.slot)).cloned().collect();
            let done: BTreeSet<&str> = turns.iter().filter(|turn| turn.completed).map(|turn| turn.slot.feature.as_str()).collect();
            // Nothing in progress goes.
            prop_assert!(left.iter().all(|slot| done.contains(slot.feature.as_str())));
            // No completed feature keeps too many, and the project only what it must.
            for feature in &done {
                prop_assert!(stay.iter().filter(|turn| turn.slot.feature == *feature).count() <= limits::TURNS_OF_FEATURE);
            }
            let in_progress = turns.iter().filter(|turn| !done.contains(turn.slot.feature.as_str())).count();
            prop_assert!(stay.len() <= limits::TURNS_OF_PROJECT.max(in_progress));
            // Of a feature the oldest go: what stays is no older than what went.
            for slot in &left {
                let at = turns.iter().find(|turn| turn.slot == *slot).map_or(0, |turn| turn.at);
                prop_assert!(stay.iter().filter(|turn| turn.slot.feature == slot.feature).all(|turn| turn.at >= at));
            }
            // Nothing goes without need.
            if turns.len() <= limits::TURNS_OF_FEATURE {
                prop_assert!(left.is_empty());
            }
        }
    }
}
