//! Two branches, one file: nothing lost, and no matter who merges.

use std::collections::{BTreeMap, BTreeSet};
use twining_testcases::each;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::format::array::merge_array;

fn versions<'t>(base: &'t str, ours: &'t str, theirs: &'t str) -> Versions<'t> {
    Versions { base: base.as_bytes(), ours: ours.as_bytes(), theirs: theirs.as_bytes() }
}

fn text(merged: Merged) -> String {
    String::from_utf8(merged.text).expect("is UTF-8")
}

fn array(base: &str, ours: &str, theirs: &str) -> Vec<Value> {
    serde_json::from_str(&text(merge_array(&versions(base, ours, theirs)).expect("merges")))
        .expect("is JSON")
}

#[test]
fn lines_of_both_sides_follow_each_other_by_time() {
    let line = |id: &str, second: u32| {
        format!("{{\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:{second:02}.000Z\"}}\n")
    };
    let base = line("old", 1) + &line("archived", 2);
    let ours = line("old", 1) + &line("b", 20) + &line("d", 40);
    let theirs = base.clone() + &line("a", 10) + "torn {\n" + &line("c", 30);
    let merged = merge_lines(&versions(&base, &ours, &theirs));
    assert_eq!(merged.contested, Vec::<String>::new());
    assert_eq!(
        text(merged),
        line("old", 1)
            + &line("a", 10)
            + &line("b", 20)
            + &line("c", 30)
            + &line("d", 40)
            + "torn {\n"
    );
}

#[test]
fn an_array_that_was_cut_off_takes_nothing_away() {
    let base = "[\n{\"id\":\"a\"}\n,{\"id\":\"b\"}\n]\n";
    let ours = "[\n{\"id\":\"a\"}\n,{\"id\":\"b\"}\n,{\"id\":\"c\"}\n]\n";
    each(["[", "<<<<<<< x\n", "[\n{\"id\":\"a\"}\n", "{}", "{\"id\":\"a\"}\n]"], |cut| {
        for (ours, theirs) in [(ours, cut), (cut, ours)] {
            let refused = merge_array(&versions(base, ours, theirs)).expect_err("is damaged");
            assert!(matches!(refused, FileMergeError::Unreadable { .. }), "{cut}: {refused}");
        }
    });
}

#[test]
fn a_line_that_was_mended_on_one_side_does_not_bring_its_secret_back() {
    let base = "{\"id\":\"a\",\"detail\":\"secret\"}\n{\"id\":\"b\"}\n";
    let ours = "{\"id\":\"a\",\"detail\":\"[redacted]\"}\n{\"id\":\"b\"}\n";
    let theirs = format!("{base}{{\"id\":\"c\"}}\n");
    let merged = text(merge_lines(&versions(base, ours, &theirs)));
    assert!(
        !merged.contains("secret") && merged.contains("[redacted]") && merged.contains("\"c\""),
        "{merged}"
    );
}

#[test]
fn one_id_with_two_contents_is_kept_twice_and_told() {
    let merged = merge_lines(&versions("", "{\"id\":\"a\",\"n\":1}\n", "{\"id\":\"a\",\"n\":2}\n"));
    assert_eq!(merged.contested, ["a appears 2 times"]);
    assert_eq!(text(merged).lines().count(), 2);
}

#[test]
fn elements_are_joined_field_by_field() {
    let base = r#"[{"id":"e","name":"n","properties":{"a":"1","b":"1"},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z"},{"id":"gone"}]"#;
    let ours = r#"[{"id":"e","name":"n","properties":{"a":"2","b":"1"},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-03T00:00:00.000Z"},{"id":"x"}]"#;
    let theirs = r#"[{"id":"e","name":"n","properties":{"a":"1","c":"3"},"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-02T00:00:00.000Z"},{"id":"gone"},{"id":"m"}]"#;
    let merged = array(base, ours, theirs);
    assert_eq!(merged[0]["properties"], json!({"a": "2", "c": "3"}));
    assert_eq!(merged[0]["updated_at"], "2026-01-03T00:00:00.000Z");
    assert_eq!(merged[1..], [json!({"id": "m"}), json!({"id": "x"})]);
}

#[test]
fn a_clash_keeps_the_later_word_and_the_other_beside_it() {
    let base = r#"[{"id":"e","type":"file","updated_at":"2026-01-01T00:00:00.000Z"}]"#;
    let ours = base.replace("file", "module").replace("01-01T", "01-02T");
    let theirs = base.replace("file", "class").replace("01-01T", "01-03T");
    let merged = array(base, &ours, &theirs);
    assert_eq!(merged[0]["type"], "class");
    assert_eq!(merged[0][CLASHES], json!([{"field": "type", "kept": "class", "other": "module"}]));
    assert_eq!(merged, array(base, &theirs, &ours));
}

#[test]
fn whoever_wrote_last_is_the_writer_and_no_mixture_of_two() {
    let side = |agent: &str, day: u8, via: &str, session: &str| {
        format!(
            r#"[{{"id":"e","name":"auth","updated_at":"2026-01-{day:02}T00:00:00Z","agent_id":"{agent}","origin":{{"session":"{session}","via":"{via}","trust":"agent"}}}}]"#
        )
    };
    let without = r#"[{"id":"e","name":"auth","updated_at":"2026-01-01T00:00:00Z"}]"#;
    each(["[]", without], |base| {
        let merged = array(base, &side("ada", 3, "mcp", "s1"), &side("bob", 2, "cli", "s2"));
        let whole = json!({"session": "s1", "via": "mcp", "trust": "agent"});
        assert_eq!((&merged[0]["agent_id"], &merged[0]["origin"]), (&json!("ada"), &whole));
        assert_eq!(merged[0].get("merge_clashes"), None, "who wrote is no matter of opinion");
    });
    assert_eq!(
        array("[]", without, &side("bob", 2, "cli", "s2"))[0]["agent_id"],
        "bob",
        "an old one says nothing of its writer"
    );
}

#[test]
fn agents_register_on_both_sides() {
    let base = r#"[{"agent_id":"a","capabilities":["rust"],"registered_at":"2026-01-01T00:00:00.000Z","last_active":"2026-01-01T00:00:00.000Z"}]"#;
    let ours = base
        .replace("[\"rust\"]", "[\"rust\",\"sql\"]")
        .replace("last_active\":\"2026-01-01", "last_active\":\"2026-01-05");
    let theirs =
        base.replace("[\"rust\"]", "[\"rust\",\"docs\"]").replace("}]", "},{\"agent_id\":\"b\"}]");
    let merged = array(base, &ours, &theirs);
    assert_eq!(merged[0]["capabilities"], json!(["rust", "docs", "sql"]));
    assert_eq!(
        (&merged[0]["last_active"], &merged[1]["agent_id"]),
        (&json!("2026-01-05T00:00:00.000Z"), &json!("b"))
    );
}

#[test]
fn an_empty_file_on_one_side_takes_nothing_away() {
    assert_eq!(array(r#"[{"id":"a"}]"#, "", r#"[{"id":"a"},{"id":"b"}]"#).len(), 2);
    assert_eq!(array("", r#"[{"id":"a"}]"#, r#"[{"id":"b"}]"#).len(), 2);
}

#[test]
fn damage_is_left_to_people_and_ours_stands() {
    let refused =
        merge_array(&versions("[]", "[{\"id\":\"a\"", "[{\"id\":\"b\"}]")).expect_err("is damaged");
    assert!(refused.to_string().starts_with("our side cannot be read: line 1"), "{refused}");
    let decision = r#"{"id":"01M7EB3QY8BCK1T7V2TH9HG8T6"}"#;
    assert!(
        merge_decision(&versions("", decision, r#"{"id":"01M7EB3QY8BCK1T7V2TH9HG8T7"}"#)).is_err()
    );
    assert!(merge_decision(&versions("", decision, "[]")).is_err());
}

fn decision(change: impl FnOnce(&mut Value)) -> String {
    let mut decision = json!({
        "id": "01M7EB3QY8BCK1T7V2TH9HG8T6", "timestamp": "2026-01-01T00:00:00.000Z", "summary": "Use JWT", "rationale": "scale",
        "status": "active", "affected_files": ["a.rs"], "commit_hashes": [], "unknown": {"kept": 1.10},
    });
    change(&mut decision);
    serde_json::to_string_pretty(&decision).expect("prints")
}

fn merged_decision(ours: &str, theirs: &str) -> Value {
    let base = decision(|_| {});
    let merged = merge_decision(&versions(&base, ours, theirs)).expect("merges");
    assert_eq!(Ok(merged.clone()), merge_decision(&versions(&base, theirs, ours)));
    serde_json::from_slice(&merged.text).expect("is JSON")
}

#[test]
fn commits_and_history_of_both_sides_are_joined_and_no_status_goes_back() {
    let change =
        |at: &str, status: &str| json!({"at": at, "status": status, "by": "x", "reason": "r"});
    let ours = decision(|d| {
        d["commit_hashes"] = json!(["aaaa111"]);
        d["commits"] = json!([{"hash": "aaaa111", "linked_at": "2026-01-02T00:00:00.000Z"}]);
        d["status"] = json!("overridden");
        d["override_reason"] = json!("too slow");
        d["history"] = json!([change("2026-01-05T00:00:00.000Z", "overridden")]);
    });
    let theirs = decision(|d| {
        d["commit_hashes"] = json!(["bbbb222"]);
        d["commits"] = json!([{"hash": "bbbb222", "linked_at": "2026-01-03T00:00:00.000Z"}]);
        d["status"] = json!("provisional");
        d["history"] = json!([change("2026-01-04T00:00:00.000Z", "provisional")]);
    });
    let merged = merged_decision(&ours, &theirs);
    assert_eq!(merged["commit_hashes"], json!(["aaaa111", "bbbb222"]));
    assert_eq!(merged["commits"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&merged["status"], &merged["override_reason"]),
        (&json!("overridden"), &json!("too slow"))
    );
    assert_eq!(
        (&merged["history"][0]["status"], &merged["history"][1]["status"]),
        (&json!("provisional"), &json!("overridden"))
    );
    assert_eq!((merged.get(CLASHES), &merged["unknown"]), (None, &json!({"kept": 1.10})));
}

#[test]
fn two_words_for_one_decision_are_both_kept_and_it_is_provisional() {
    let merged = merged_decision(
        &decision(|d| d["rationale"] = json!("speed")),
        &decision(|d| d["rationale"] = json!("cost")),
    );
    assert_eq!(merged["status"], "provisional");
    let words: BTreeSet<&str> =
        ["kept", "other"].iter().filter_map(|word| merged[CLASHES][0][word].as_str()).collect();
    assert_eq!(words, BTreeSet::from(["speed", "cost"]));
}

/// What comes of a text whose versions are whole if they begin with `{` and have a line once.
fn joined(text: &str) -> Option<String> {
    let is_whole: fn(&[u8]) -> bool = |text| {
        let lines: Vec<&[u8]> =
            text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
        text.starts_with(b"{") && lines.iter().collect::<BTreeSet<_>>().len() == lines.len()
    };
    let join: fn(&Versions<'_>) -> Option<Vec<u8>> = |versions| {
        let (one, other) = versions.ordered();
        let mut lines: BTreeSet<&[u8]> =
            one.split(|&byte| byte == b'\n').chain(other.split(|&byte| byte == b'\n')).collect();
        if !versions.base.is_empty() {
            lines.insert(b"{ with an ancestor");
        }
        Some(
            [
                &b"{\n"[..],
                &lines
                    .into_iter()
                    .filter(|line| !matches!(*line, b"" | b"{"))
                    .collect::<Vec<_>>()
                    .join(&b'\n'),
            ]
            .concat(),
        )
    };
    resolve_conflict(text.as_bytes(), &MergeFunctions { is_whole, join })
        .map(|text| String::from_utf8(text).expect("is UTF-8"))
}

#[test]
fn a_conflict_that_git_wrote_comes_apart_again() {
    let whole = "{\n<<<<<<< HEAD\na\n||||||| base\nold\n=======\nb\n>>>>>>> feature\nz\n";
    assert_eq!(joined(whole).as_deref(), Some("{\na\nb\nz\n{ with an ancestor"));
    each(
        ["<<<<<<< HEAD\n", "=======\n", "{\n<<<<<<< a\n=======\n", "", "{\n>>>>>>> a\n"],
        |torn| {
            assert_eq!(joined(torn), None, "{torn}");
        },
    );
    assert_eq!(joined("{\n=======\n").as_deref(), Some("{\n=======\n"), "a line of its own");
}

#[test]
fn conflicts_of_several_merges_are_not_guessed_at() {
    let within = "<<<<<<< HEAD\n{\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> feature\n=======\n{\nother\n>>>>>>> third\n";
    assert_eq!(joined(within), None);
    // What git wrote when the third branch shared a line with both sides of the first conflict.
    let across = "{\n<<<<<<< HEAD\n<<<<<<< HEAD\na\n=======\nc\n>>>>>>> third\ncommon\n<<<<<<< HEAD\n=======\nb\ncommon\n>>>>>>> second\n=======\n>>>>>>> third\n";
    assert_eq!(joined(across), None);
}

#[test]
fn a_file_full_of_markers_is_given_up_in_time() {
    each(
        [
            "<<<<<<< a\n",
            "<<<<<<< a\n=======\n",
            "<<<<<<< a\n=======\n>>>>>>> b\n=======\n",
            ">>>>>>> a\n",
        ],
        |text| {
            assert_eq!(joined(&format!("{{\n{}", text.repeat(20_000))), None);
            assert_eq!(joined(&format!("{{\n{}", text.repeat(150))), None);
        },
    );
    let deep = format!("{{\n{}x\n{}", "<<<<<<< a\n".repeat(40), "=======\n>>>>>>> b\n".repeat(40));
    assert_eq!(joined(&deep), None);
}

/// Records by id: none, or one with a value per field.
type Records = BTreeMap<u8, BTreeMap<u8, u8>>;

fn records() -> impl Strategy<Value = Records> {
    prop::collection::btree_map(0_u8..8, prop::collection::btree_map(0_u8..4, 0_u8..3, 0..4), 0..8)
}

fn as_array(records: &Records) -> String {
    let element = |(id, fields): (&u8, &BTreeMap<u8, u8>)| {
        let fields: String = fields
            .iter()
            .map(|(key, value)| format!(",\"f{key}\":\"{value}\",\"l{key}\":[\"{value}\"]"))
            .collect();
        format!("{{\"id\":\"{id}\"{fields}}}")
    };
    format!("[\n{}\n]\n", records.iter().map(element).collect::<Vec<_>>().join("\n,"))
}

fn as_lines(records: &Records) -> String {
    records
        .iter()
        .map(|(id, fields)| format!("{{\"id\":\"{id}\",\"f\":\"{fields:?}\"}}\n"))
        .collect()
}

/// Returns every value that a side added to the base.
fn new_words(base: &Records, side: &Records) -> BTreeSet<(u8, u8, u8)> {
    let words = |records: &Records| -> BTreeSet<(u8, u8, u8)> {
        records
            .iter()
            .flat_map(|(id, fields)| fields.iter().map(move |(key, value)| (*id, *key, *value)))
            .collect()
    };
    words(side).difference(&words(base)).copied().collect()
}

proptest! {
    #[test]
    fn merged_arrays_lose_nothing_and_do_not_depend_on_the_side(base in records(), ours in records(), theirs in records()) {
        let [b, o, t] = [&base, &ours, &theirs].map(as_array);
        let merged = text(merge_array(&versions(&b, &o, &t)).expect("merges"));
        prop_assert_eq!(&merged, &text(merge_array(&versions(&b, &t, &o)).expect("merges")));
        // Merging a side again changes nothing.
        let again: Value = serde_json::from_str(&text(merge_array(&versions(&b, &merged, &o)).expect("merges"))).expect("is JSON");
        let value: Value = serde_json::from_str(&merged).expect("is JSON");
        let ids = |value: &Value| value.as_array().into_iter().flatten().map(|e| e["id"].to_string()).collect::<BTreeSet<_>>();
        prop_assert_eq!(ids(&again), ids(&value));
        for (id, key, word) in new_words(&base, &ours).union(&new_words(&base, &theirs)) {
            let name = Value::from(id.to_string());
            let element = value.as_array().into_iter().flatten().find(|e| e["id"] == name);
            let told = element.map(ToString::to_string).unwrap_or_default();
            let clashed = element.map(|e| e[CLASHES].to_string()).unwrap_or_default();
            let (word, field) = (word.to_string(), format!("f{key}"));
            prop_assert!(
                element.is_some_and(|e| e[&field] == word) || (clashed.contains(&field) && clashed.contains(&format!("\"{word}\""))),
                "{id}.{field} = {word} is lost: {told}"
            );
            prop_assert!(element.is_some_and(|e| e[&format!("l{key}")].to_string().contains(&word)), "{told}");
        }
    }

    #[test]
    fn merged_lines_lose_nothing_and_do_not_depend_on_the_side(base in records(), ours in records(), theirs in records()) {
        let [b, o, t] = [&base, &ours, &theirs].map(as_lines);
        let merged = text(merge_lines(&versions(&b, &o, &t)));
        prop_assert_eq!(&merged, &text(merge_lines(&versions(&b, &t, &o))));
        prop_assert_eq!(&text(merge_lines(&versions(&b, &merged, &o))), &merged);
        let known: BTreeSet<&str> = merged.lines().collect();
        let before: BTreeSet<&str> = b.lines().collect();
        for line in o.lines().chain(t.lines()).filter(|line| !before.contains(line)) {
            prop_assert!(known.contains(line), "{line} is lost");
        }
        for line in before {
            let kept = o.contains(line) && t.contains(line);
            prop_assert_eq!(known.contains(line), kept, "{}", line);
        }
    }

    #[test]
    fn no_bytes_make_a_merge_panic(
        base in "[\\[\\]{},\":a1\\\\\n<=> ]{0,60}", ours in "[\\[\\]{},\":id1\\\\\n<=> ]{0,60}",
        theirs in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let versions = Versions { base: base.as_bytes(), ours: ours.as_bytes(), theirs: &theirs };
        drop(merge_lines(&versions));
        drop(merge_array(&versions));
        drop(merge_decision(&versions));
        drop(one_decision(&theirs));
        drop(one_decision(ours.as_bytes()));
    }
}
