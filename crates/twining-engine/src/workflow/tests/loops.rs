//! The loop always ends, says the same of the same list, and copes with any.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::workflow::{
    FeatureEvent, FeatureList, FeatureState, FeatureStatus, NextAction, NextBrief, advance, next,
};

fn any_feature(ids: usize) -> impl Strategy<Value = Value> {
    let status = prop::sample::select(vec![
        "pending",
        "in_progress",
        "completed",
        "tested",
        "blocked",
        "backlog",
        "sideways",
    ]);
    (0..ids, status, any::<Option<bool>>(), -2_i64..5, prop::collection::vec(0..ids, 0..3), 0_u32..4).prop_map(
        |(id, status, tested, priority, depends_on, retries)| {
            let depends_on: Vec<String> = depends_on.into_iter().map(|id| format!("F{id}")).collect();
            json!({"id": format!("F{id}"), "status": status, "tested": tested, "priority": priority, "depends_on": depends_on, "retries": retries})
        },
    )
}

proptest! {
    #[test]
    fn any_list_and_any_outcomes_end_in_done_or_blocked(
        features in prop::collection::vec(any_feature(8), 0..10),
        outcomes in prop::collection::vec(0_u8..4, 1..20),
        most in 1_u32..4,
    ) {
        let mut text = Value::Array(features).to_string();
        let mut rounds = 0;
        loop {
            let list = FeatureList::parse(&text).expect("stays a list");
            let shown = next(Some(&list));
            prop_assert_eq!(&shown, &next(Some(&list)), "the same list, the same answer");
            if !shown.action.is_work() {
                prop_assert!(matches!(shown.action, NextAction::Done | NextAction::Blocked));
                let open = list.features.iter().any(|feature| feature.status != FeatureStatus::Tested);
                prop_assert_eq!(shown.action == NextAction::Blocked, open);
                break;
            }
            let feature = shown.feature.expect("work is on a feature").clone();
            let outcome = outcomes[rounds % outcomes.len()];
            let event = match (shown.action, outcome) {
                (NextAction::Test, 0 | 1) => FeatureEvent::Passed,
                (NextAction::Test, 2) => FeatureEvent::Failed,
                (_, 3) => FeatureEvent::GaveUp,
                _ => FeatureEvent::Completed,
            };
            let at = FeatureState { status: feature.status, retries: feature.retries };
            let to = advance(&feature.id, at, event, most).expect("what next asks for can be reported");
            let fields = [("status", json!(to.status.as_str())), ("tested", json!(to.status == FeatureStatus::Tested)), ("retries", json!(to.retries))];
            text = list.with_fields(&feature.id, &fields).expect("is there");
            rounds += 1;
            // A feature is coded and tested once for each failure that is allowed, and once more.
            prop_assert!(rounds <= 8 * (2 * (most as usize + 1) + 1), "it goes round and round: {}", text);
        }
    }

    #[test]
    fn any_json_gets_an_answer(text in "\\PC{0,40}|[\\[\\]{}\",:a-c0-9 ]{0,60}") {
        if let Ok(list) = FeatureList::parse(&text) {
            drop(NextBrief::of(&next(Some(&list))));
            let after = list.with_feature("N", &json!({"id": "N"}).as_object().cloned().expect("an object"));
            let read = FeatureList::parse(&after).expect("an edit leaves JSON");
            prop_assert!(read.get("N").is_some(), "{} -> {}", text, after);
        }
    }
}
