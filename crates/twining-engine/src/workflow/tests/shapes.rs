//! Every shape of list that was met, read and changed in place.

use serde_json::json;
use twining_testcases::each;

use super::{list, say};
use crate::workflow::{Feature, FeatureList, FeatureStatus};

fn ids(text: &str) -> Vec<String> {
    list(text).features.into_iter().map(|feature| feature.id).collect()
}

#[test]
fn every_shape_in_use_is_read() {
    each(
        [
            r#"[{"id": "A", "status": "pending"}, {"id": "B", "status": "completed"}]"#,
            r#"{"project": "x", "features": [{"id": "A"}, {"id": "B", "status": "implemented"}]}"#,
            r#"{"features": {"A": {"description": "a"}, "B": {"description": "b", "status": "completed", "tested": false}}}"#,
            r#"{"metadata": {"features": [{"id": "no"}]}, "categories": {"ui": {"features": [{"id": "A"}]}, "api": {"name": "API", "features": [{"id": "B", "status": "done"}]}}}"#,
            r#"{"phases": [{"name": "one", "features": [{"id": "A"}]}, {"name": "two", "features": [{"id": "B", "status": "completed"}]}]}"#,
            r#"{"pending": [{"id": "A"}], "completed": [{"id": "B"}]}"#,
            r#"{"features": {"pending": [{"id": "A"}], "completed": [{"id": "B"}]}}"#,
            r#"{"A": {"description": "a", "status": "backlog"}, "B": {"status": "completed"}, "metadata": {"status": "ok"}}"#,
            "\u{FEFF}[{\"id\": \"A\"}, {\"id\": \"B\", \"status\": \"completed\"}]",
            r#"{"features": [{"name": "group", "features": [{"id": "A"}, {"id": "B", "status": "completed"}]}]}"#,
        ],
        |text| {
            assert_eq!(ids(text), ["A", "B"], "{text}");
            let list = list(text);
            assert_eq!(list.problems, Vec::<String>::new(), "{text}");
            assert_eq!(
                (list.features[0].status, list.features[1].status),
                (FeatureStatus::Pending, FeatureStatus::Completed),
                "{text}"
            );
            assert_eq!(say(text), "test B", "{text}");
        },
    );
}

#[test]
fn names_that_differ_between_lists_mean_the_same() {
    let list = list(
        r#"[{"feature_id": 7, "title": "Login", "acceptance": "tokens expire", "priority": "P0", "dependencies": "x", "retry_count": 1},
            {"id": "B", "name": "Logout", "acceptance_criteria": ["a", "b"], "priority": "mvp"},
            {"id": "C", "description": "c", "priority": 5}]"#,
    );
    let [a, b, c] = &list.features[..] else { panic!("three") };
    assert_eq!(
        (a.id.as_str(), a.description.as_str(), a.retries, a.priority),
        ("7", "Login", 1, 0)
    );
    assert_eq!(
        (&a.acceptance_criteria[..], &a.depends_on[..]),
        (&["tokens expire".to_owned()][..], &["x".to_owned()][..])
    );
    assert_eq!((b.description.as_str(), b.priority, b.acceptance_criteria.len()), ("Logout", 0, 2));
    assert_eq!(c.priority, 5);
}

#[test]
fn a_list_without_ids_is_worked_through_by_its_descriptions() {
    let text = r#"[{"category": "ui", "description": "New chat button makes a chat", "steps": ["click"], "passes": false}]"#;
    let list = list(text);
    assert_eq!(list.features[0].id, "new-chat-button-makes-a-chat");
    assert!(!list.features[0].tested && list.problems.len() == 1, "{:?}", list.problems);
    let after = list
        .with_fields("new-chat-button-makes-a-chat", &[("tested", json!(true))])
        .expect("is there");
    assert_eq!(after, text.replace("false", "true"), "the flag keeps the name it has there");
}

#[test]
fn what_is_odd_is_told_and_never_taken_for_finished() {
    let list = list(
        r#"{"features": [{"id": "A", "status": "sideways"}, "B", {"id": "A"}, {"id": "C", "status": "tested", "tested": false},
            {"id": "D", "status": "pending", "tested": true}, {"id": "E", "tested": false, "tested": true}, 5, {"id": "F", "priority": {}}]}"#,
    );
    let standing: Vec<(&str, FeatureStatus, bool)> =
        list.features.iter().map(|f| (f.id.as_str(), f.status, f.tested)).collect();
    assert_eq!(
        standing,
        [
            ("A", FeatureStatus::Pending, false),
            ("C", FeatureStatus::Completed, false),
            ("D", FeatureStatus::Pending, false),
            ("E", FeatureStatus::Tested, true),
            ("F", FeatureStatus::Pending, false)
        ]
    );
    assert_eq!(list.problems.len(), 8, "{:#?}", list.problems);
}

#[test]
fn text_that_is_no_list_is_an_error_and_never_an_empty_list() {
    each(
        ["{", "[1,", "5", "\"features\"", "<<<<<<< HEAD\n[]\n=======\n[]\n>>>>>>> main\n"],
        |text| {
            assert!(FeatureList::parse(text).is_err(), "{text}");
        },
    );
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    drop(FeatureList::parse(&deep));
    let nested = format!("{}1{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000));
    drop(FeatureList::parse(&nested));
}

#[test]
fn a_change_touches_its_own_bytes_only() {
    let text = "{\r\n  \"version\": 1.10,\r\n  \"categories\": {\r\n    \"ui\": { \"features\": [\r\n      {\"id\":\"A\",   \"status\":\"pending\", \"note\": 12345678901234567890123}\r\n    ] }\r\n  }\r\n}\r\n";
    let after = list(text)
        .with_fields("A", &[("status", json!("in_progress")), ("retries", json!(1))])
        .expect("is there");
    let expected =
        text.replace("\"pending\"", "\"in_progress\"").replace("123}", "123, \"retries\": 1}");
    assert_eq!(after, expected);
    assert_eq!(list(&after).features[0].retries, 1);
}

#[test]
fn a_new_feature_goes_where_the_others_are() {
    let feature = json!({"id": "N", "status": "pending"}).as_object().cloned().expect("an object");
    each(
        [
            "",
            "[]",
            "{}",
            r#"{"features": []}"#,
            r#"{"features": {}}"#,
            r#"{"metadata": {"a": 1}}"#,
            r#"[{"id": "A"}]"#,
            r#"{"categories": {"ui": {"features": [{"id": "A"}]}}}"#,
            r#"{"completed": [{"id": "A"}], "pending": []}"#,
            r#"{"A": {"status": "pending"}}"#,
            r#"{"features": {"A": {"status": "pending"}}, "x": 1}"#,
        ],
        |text| {
            let before = list(text);
            let after = before.with_feature("N", &feature);
            let read = list(&after);
            assert_eq!(
                read.get("N").map(|feature| feature.status),
                Some(FeatureStatus::Pending),
                "{text} -> {after}"
            );
            assert_eq!(read.features.len(), before.features.len() + 1, "{after}");
            assert_eq!(read.problems, Vec::<String>::new(), "{after}");
        },
    );
}

#[test]
fn the_evidence_of_an_older_list_is_somebody_s_word() {
    let list = list(
        r#"[{"id": "A", "status": "tested", "verified_by": {"run": "r", "at": "2026-01-01T00:00:00.000Z", "command": "pytest", "tests": {"run": 3, "passed": 3, "failed": 0}}},
            {"id": "B", "status": "tested", "verified_by": {"source": "ci", "tests": {"run": 2, "passed": 2, "failed": 0}, "note": "1 test skipped"}},
            {"id": "C", "status": "tested", "verified_by": "me"}, {"id": "D", "status": "tested", "test_files": "tests/d.py"}, {"id": "E", "tests": 12}]"#,
    );
    let shown: Vec<String> = list.features.iter().map(Feature::standing).collect();
    assert_eq!(
        shown,
        [
            "tested (told: 3 passed, `pytest`)",
            "tested (ci: 2 passed, 1 test skipped)",
            "tested",
            "tested",
            "pending"
        ]
    );
    assert_eq!(
        (list.features[3].tests.as_slice(), list.features[4].tests.len()),
        (&["tests/d.py".to_owned()][..], 0)
    );
}
