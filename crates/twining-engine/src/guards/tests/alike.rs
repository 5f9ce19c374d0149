//! The quick way through an edited list and the whole way answer alike, whatever
//! the list and whatever the edit.

use proptest::prelude::*;

use crate::guards::{edited_list, features};
use crate::workflow::{FeatureList, look_up};

/// Words that mean something in lists, and some that do not.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => prop::sample::select(vec![
            "F1", "F2", "F10", "a-b", "log-out", "Log out", "tested", "TESTED", "verified", "passed", "pending", "completed", "true", "yes", "1", "",
            " F1 ", "x\\ny", "\\u0046\\u0031", "caf\\u00e9", "\\nF1", "F1\\t", "\\u00a0F1", "é", "passed on", "a \\\"F1\\\" b", "\\ud800", "features",
        ]).prop_map(str::to_owned),
        1 => "[a-z]{1,12}",
    ]
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => word().prop_map(|word| format!("\"{word}\"")),
        4 => prop::sample::select(vec!["true", "false", "null", "1", "0", "1.0", "1e0", "-3", "2.50", "12345678901234567890"]).prop_map(str::to_owned),
        1 => prop::collection::vec(word(), 0..3).prop_map(|words| format!("[{}]", words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "))),
    ]
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "id",
        "id",
        "tested",
        "tested",
        "status",
        "status",
        "description",
        "name",
        "title",
        "passes",
        "Tested",
        "state",
        "files",
        "feature_id",
        "key",
        "notes",
        "depends_on",
        "features",
        "completed",
        "test\\u0065d",
        "verified_by",
        "F1",
        "metadata",
        "feature",
    ])
}

fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec((key(), value), 0..6).prop_map(|members| {
        format!("{{{}}}", members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect::<Vec<_>>().join(", "))
    })
}

/// Objects, arrays and words, nested a little.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![scalar(), members(scalar())];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![members(inner.clone()), prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(",\n  "))),]
    })
}

/// A list as people have them, or anything.
fn list() -> impl Strategy<Value = String> {
    let feature = || members(scalar());
    let features = || prop::collection::vec(feature(), 0..6).prop_map(|items| format!("[\n  {}\n]", items.join(",\n  ")));
    prop_oneof![
        3 => features(),
        3 => features().prop_map(|list| format!("{{\"project\": \"p\", \"features\": {list}}}")),
        1 => (features(), features()).prop_map(|(one, other)| format!("{{\"completed\": {one}, \"pending\": {other}}}")),
        1 => features().prop_map(|list| format!("{{\"categories\": {{\"a\": {{\"features\": {list}}}}}}}")),
        1 => prop::collection::vec((word(), feature()), 0..4).prop_map(|members| {
            format!("{{{}}}", members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect::<Vec<_>>().join(","))
        }),
        1 => value(),
    ]
}

/// An edit as agents make them: one word for another, somewhere.
fn edited() -> impl Strategy<Value = (String, String)> {
    let spots = vec![
        "false",
        "true",
        "\"pending\"",
        "\"completed\"",
        "\"tested\"",
        "\"F1\"",
        "\"F2\"",
        "F10",
        "\"verified\"",
        "null",
        "\"id\"",
        "}",
        "]",
        "{",
        ", ",
        "\"",
        "1",
        "\"status\"",
        "\"Tested\"",
        "\"a-b\"",
        "\"files\"",
    ];
    (list(), prop::sample::select(spots), 0..8usize, prop_oneof![scalar(), word(), Just(String::new())]).prop_map(
        |(list, spot, nth, new)| {
            let places: Vec<usize> = list.match_indices(spot).map(|(at, _)| at).collect();
            let after = match places.get(nth % places.len().max(1)) {
                Some(at) => format!("{}{new}{}", &list[..*at], &list[*at + spot.len()..]),
                None => format!("{list} "),
            };
            (list, after)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_is_judged_alike_by_its_object_and_by_both_lists((before, after) in edited()) {
        if let Some(quick) = edited_list::newly_tested(&before, &after) {
            prop_assert_eq!(Ok(quick), features::newly_tested_in_all(&before, &after), "{} -> {}", before, after);
        }
    }

    #[test]
    fn a_feature_looked_up_is_the_one_the_list_has(list in list(), id in word()) {
        if let Some(quick) = look_up(&list, &id) {
            let whole = FeatureList::parse(&list).expect("what is looked up in is a list");
            prop_assert_eq!(Some(&quick), whole.named(&id), "{}", list);
        }
    }
}

#[test]
fn the_edits_agents_make_are_judged_without_reading_the_list() {
    let feature = |at: usize| {
        format!(
            r#"    {{"id": "F{at}", "description": "passed on \u2014 \"{at}\"", "status": "pending", "tested": {}, "files": ["src/a.rs"], "depends_on": ["F{}"]}}"#,
            at.is_multiple_of(2),
            at / 2
        )
    };
    let features = (0..50).map(feature).collect::<Vec<_>>().join(",\n");
    for list in [format!("[\n{features}\n]\n"), format!("{{\n  \"project\": \"x\",\n  \"features\": [\n{features}\n  ]\n}}\n")] {
        let quickly = |old: &str, new: &str| {
            assert!(list.contains(old), "{old}");
            edited_list::newly_tested(&list, &list.replacen(old, new, 1)).unwrap_or_else(|| panic!("{old} -> {new} is read whole"))
        };
        let seventh = r#""F7", "description": "passed on \u2014 \"7\"", "status": "pending", "tested": false"#;
        assert_eq!(quickly(seventh, &seventh.replace("false", "true")).into_iter().collect::<Vec<_>>(), ["F7"]);
        assert!(quickly(seventh, &seventh.replace("pending", "completed")).is_empty());
        assert!(quickly(r#"\"7\"""#, r#"seven""#).is_empty());
        assert!(quickly(r#"["src/a.rs"]"#, r#"["src/a.rs", "src/b.rs"]"#).is_empty());
        assert_eq!(look_up(&list, "F7").map(|feature| feature.files), Some(vec!["src/a.rs".to_owned()]));
    }
}
