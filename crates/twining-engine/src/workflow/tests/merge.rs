//! Two branches work on one list.

use proptest::prelude::*;
use serde_json::{Value, json};
use twining_store::merge::Versions;
use twining_testcases::each;

use crate::workflow::feature_list_merge::{merge_features, one_list};
use crate::workflow::{FeatureList, FeatureStatus};

fn merged(base: &str, ours: &str, theirs: &str) -> FeatureList {
    let merge = |ours: &str, theirs: &str| {
        let versions =
            Versions { base: base.as_bytes(), ours: ours.as_bytes(), theirs: theirs.as_bytes() };
        String::from_utf8(merge_features(&versions).expect("merges").text).expect("is UTF-8")
    };
    let text = merge(ours, theirs);
    assert_eq!(text, merge(theirs, ours), "it does not matter who merges");
    FeatureList::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

fn standing(list: &FeatureList) -> Vec<(&str, FeatureStatus, bool)> {
    list.features
        .iter()
        .map(|feature| (feature.id.as_str(), feature.status, feature.tested))
        .collect()
}

#[test]
fn each_side_adds_and_advances_in_every_shape() {
    each(
        [
            r#"[{"id": "A", "status": "pending"}]"#,
            r#"{"project": "x", "features": [{"id": "A", "status": "pending"}]}"#,
            r#"{"features": {"A": {"description": "a", "status": "pending"}}}"#,
            r#"{"phases": [{"name": "one", "features": [{"id": "A", "status": "pending"}]}]}"#,
            r#"{"categories": {"ui": {"features": [{"id": "A", "status": "pending"}]}}}"#,
            r#"{"A": {"status": "pending"}}"#,
        ],
        |shape| {
            let add = |text: &str, id: &str| {
                let fields = json!({"id": id, "description": id, "status": "pending"})
                    .as_object()
                    .cloned()
                    .expect("an object");
                FeatureList::parse(text).expect("is a list").with_feature(id, &fields)
            };
            let ours = add(&shape.replace("pending", "in_progress"), "B");
            let list = merged(shape, &ours, &add(shape, "C"));
            let expected = [
                ("A", FeatureStatus::InProgress, false),
                ("B", FeatureStatus::Pending, false),
                ("C", FeatureStatus::Pending, false),
            ];
            assert_eq!(standing(&list), expected, "{shape}");
            assert_eq!(list.problems, Vec::<String>::new(), "{shape}");
        },
    );
}

#[test]
fn a_feature_is_tested_only_if_both_sides_that_worked_on_it_say_so() {
    let base = r#"[{"id":"A","status":"completed","tested":false,"files":["a.rs"],"priority":2}]"#;
    let tested = base.replace("completed", "tested").replace("\"tested\":false", "\"tested\":true");
    let reworked = base.replace("a.rs\"", "a.rs\",\"b.rs\"");
    assert_eq!(
        standing(&merged(base, &tested, &reworked)),
        [("A", FeatureStatus::Completed, false)]
    );
    let list = merged(base, &tested, &tested.replace("priority\":2", "priority\":1"));
    assert_eq!(standing(&list), [("A", FeatureStatus::Tested, true)], "both say so");
    let list = merged(base, &tested, &base.replace("priority\":2", "priority\":1"));
    assert_eq!(
        standing(&list),
        [("A", FeatureStatus::Tested, true)],
        "a priority says nothing about it"
    );
    assert_eq!(list.features[0].priority, 1);
    let passes = r#"[{"id":"A","status":"completed","passes":false,"files":["a.rs"]}]"#;
    let list = merged(passes, &passes.replace("false", "true"), &passes.replace("a.rs", "c.rs"));
    assert_eq!(
        standing(&list),
        [("A", FeatureStatus::Completed, false)],
        "under any name of the flag"
    );
}

#[test]
fn of_two_states_the_lesser_holds_and_evidence_of_both_is_kept() {
    let base = r#"[{"id":"A","status":"pending","evidence":[],"retries":0}]"#;
    let ours = r#"[{"id":"A","status":"completed","evidence":["run-1"],"retries":1}]"#;
    let theirs = r#"[{"id":"A","status":"blocked","evidence":["run-2"],"retries":2}]"#;
    let versions =
        Versions { base: base.as_bytes(), ours: ours.as_bytes(), theirs: theirs.as_bytes() };
    let text = merge_features(&versions).expect("merges");
    let value: Value = serde_json::from_slice(&text.text).expect("is JSON");
    assert_eq!(
        value,
        json!([{"id": "A", "status": "blocked", "evidence": ["run-1", "run-2"], "retries": 2}])
    );
}

#[test]
fn a_feature_moved_between_buckets_and_edited_stands_once() {
    let base = r#"{"pending": [{"id": "A", "note": "x"}], "in_progress": [], "completed": [], "blocked": []}"#;
    let moved = r#"{"pending": [], "in_progress": [], "completed": [{"id": "A", "note": "x"}], "blocked": []}"#;
    let edited = base.replace("\"x\"", "\"y\"");
    let list = merged(base, moved, &edited);
    assert_eq!(standing(&list), [("A", FeatureStatus::Completed, false)]);
    assert_eq!(list.problems, Vec::<String>::new());
    let begun = r#"{"pending": [], "in_progress": [{"id": "A", "note": "x"}], "completed": [], "blocked": []}"#;
    assert_eq!(
        standing(&merged(base, moved, begun)),
        [("A", FeatureStatus::InProgress, false)],
        "moved twice, the lesser place"
    );
}

#[test]
fn what_one_side_dropped_and_the_other_worked_on_stays() {
    let base = r#"{"groups": [{"name": "g", "features": [{"id": "A", "status": "pending"}]}, {"name": "h", "features": [{"id": "B"}]}]}"#;
    let dropped = r#"{"groups": [{"name": "h", "features": [{"id": "B"}]}]}"#;
    let list = merged(base, dropped, &base.replace("pending", "in_progress"));
    let mut found = standing(&list);
    found.sort();
    assert_eq!(
        found,
        [("A", FeatureStatus::InProgress, false), ("B", FeatureStatus::Pending, false)]
    );
    assert_eq!(
        standing(&merged(base, dropped, &base.replace("\"B\"", "\"B\", \"note\": 1"))),
        [("B", FeatureStatus::Pending, false)]
    );
}

#[test]
fn a_list_with_gits_markers_is_read_as_the_merge_git_could_not_do() {
    let text = "[\n<<<<<<< HEAD\n{\"id\":\"A\",\"status\":\"completed\"}\n=======\n{\"id\":\"A\",\"status\":\"in_progress\"},\n{\"id\":\"B\"}\n>>>>>>> feature\n]\n";
    let list =
        FeatureList::parse(&one_list(text).expect("both sides are lists")).expect("is a list");
    assert_eq!(
        standing(&list),
        [("A", FeatureStatus::InProgress, false), ("B", FeatureStatus::Pending, false)]
    );
    assert_eq!(one_list("<<<<<<< HEAD\n{\n=======\n[\n>>>>>>> x\n"), None);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_no_feature_is_lost(
        base in prop::collection::vec(("[A-D]", 0_usize..5), 0..4),
        ours in prop::collection::vec(("[A-F]", 0_usize..5), 0..4),
        theirs in prop::collection::vec(("[A-F]", 0_usize..5), 0..4),
        garbage in "[\\[\\]{},\":id@1\\\\\n<=> ]{0,60}",
    ) {
        let text = |features: &[(String, usize)]| {
            let mut seen = std::collections::BTreeSet::new();
            let remaining = features.iter().filter(|(id, _)| seen.insert(id.clone()));
            json!({ "features": remaining.map(|(id, status)| json!({"id": id, "status": FeatureStatus::ALL[*status].as_str()})).collect::<Vec<_>>() }).to_string()
        };
        let [b, o, t] = [&base, &ours, &theirs].map(|features| text(features));
        let list = merged(&b, &o, &t);
        let before = FeatureList::parse(&b).expect("is a list");
        for side in [&o, &t] {
            for feature in FeatureList::parse(side).expect("is a list").features {
                if before.get(&feature.id) != Some(&feature) {
                    prop_assert!(list.get(&feature.id).is_some(), "{} is lost", feature.id);
                }
            }
        }
        let hostile = Versions { base: b.as_bytes(), ours: garbage.as_bytes(), theirs: t.as_bytes() };
        drop(merge_features(&hostile));
        drop(one_list(&garbage));
    }
}
