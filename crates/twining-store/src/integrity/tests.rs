//! Every way in which a record may honestly change, and the ways in which it may not.

use super::*;

const BOARD: &str = "blackboard.jsonl";
const DECISION: &str = "decisions/01M7EB3QY8BCK1T7V2TH9HG8T6.json";
const SUCCESSOR: &str = "decisions/01M7EB3QY8BCK1T7V2TH9HG8T7.json";

fn told(before: &[(&str, &str)], after: &[(&str, &str)]) -> Vec<String> {
    fn files<'a>(files: &'a [(&str, &str)]) -> RecordTree<'a> {
        files.iter().map(|(path, text)| (*path, text.as_bytes())).collect()
    }
    let found = compare_changed(files(before), files(after), &|_| false);
    found
        .iter()
        .map(|found| {
            let change = match &found.change {
                DifferenceKind::Removed => "gone".to_owned(),
                DifferenceKind::Altered { fields } => format!("altered {}", fields.join(" ")),
                DifferenceKind::Illegal { from, to } => format!("illegal {from} {to}"),
                DifferenceKind::Duplicate => "doubled".to_owned(),
                DifferenceKind::Unparsable(_) => "unparsable".to_owned(),
                DifferenceKind::ConflictMarkers => "markers".to_owned(),
            };
            format!(
                "{}{} {change}",
                found.id.as_deref().unwrap_or(&found.path),
                found.line.map_or(String::new(), |line| format!(":{line}"))
            )
        })
        .collect()
}

fn entry(id: &str, summary: &str) -> String {
    format!(
        r#"{{"id":"{id}","timestamp":"2026-11-15T09:00:00.000Z","entry_type":"finding","tags":[],"summary":"{summary}"}}"#
    )
}

fn decision(more: &str) -> String {
    format!(
        r#"{{"id":"01M7EB3QY8BCK1T7V2TH9HG8T6","summary":"No moment","rationale":"it is large","constraints":["must_not_use: moment"]{more}}}"#
    )
}

#[test]
fn an_entry_taken_off_the_board_is_gone() {
    let (one, two) = (entry("e1", "a"), entry("e2", "b"));
    assert_eq!(
        told(&[(BOARD, &format!("{one}\n{two}\n"))], &[(BOARD, &format!("{two}\n"))]),
        ["e1 gone"]
    );
    assert_eq!(told(&[(BOARD, &format!("{one}\n"))], &[]), ["e1 gone"]);
}

#[test]
fn an_entry_that_says_something_else_is_altered_at_its_line() {
    let (one, two) = (entry("e1", "a"), entry("e2", "b"));
    let after = format!("{one}\n{}\n", entry("e2", "c"));
    assert_eq!(
        told(&[(BOARD, &format!("{one}\n{two}\n"))], &[(BOARD, &after)]),
        ["e2:2 altered summary"]
    );
}

#[test]
fn a_formatter_alters_no_entry() {
    let before = r#"{"id":"e1","summary":"für alle","tags":[],"n":1}"#;
    let after = "{ \"n\": 1.0, \"summary\": \"f\\u00fcr alle\",\"id\":\"e1\" }\r\n";
    assert_eq!(told(&[(BOARD, before)], &[(BOARD, after)]), Vec::<String>::new());
}

#[test]
fn entries_in_another_order_and_new_ones_are_no_difference() {
    let (one, two, new) = (entry("e1", "a"), entry("e2", "b"), entry("e3", "c"));
    assert_eq!(
        told(&[(BOARD, &format!("{one}\n{two}\n"))], &[(BOARD, &format!("{new}\n{two}\n{one}\n"))]),
        Vec::<String>::new()
    );
}

#[test]
fn a_line_that_a_union_merge_left_twice_is_no_difference() {
    let one = entry("e1", "a");
    assert_eq!(
        told(&[(BOARD, &format!("{one}\n"))], &[(BOARD, &format!("{one}\n{one}\n"))]),
        Vec::<String>::new()
    );
}

#[test]
fn two_entries_with_one_id_are_doubled() {
    let after = format!("{}\n{}\n", entry("e1", "a"), entry("e1", "b"));
    assert_eq!(
        told(&[(BOARD, &format!("{}\n", entry("e1", "a")))], &[(BOARD, &after)]),
        ["e1:2 doubled"]
    );
    assert_eq!(told(&[], &[(BOARD, &after)]), ["e1:2 doubled"]);
}

#[test]
fn a_new_line_that_is_no_record_is_told_with_its_line() {
    let one = entry("e1", "a");
    assert_eq!(
        told(&[(BOARD, &format!("{one}\n"))], &[(BOARD, &format!("{one}\n{{\"id\":\n"))]),
        ["blackboard.jsonl:2 unparsable"]
    );
}

#[test]
fn entries_that_an_archive_counts_have_not_gone() {
    let before = format!("{}\n{}\n", entry("e1", "a"), entry("e2", "b"));
    let archived = |count: usize| {
        format!(
            "{{\"id\":\"s\",\"entry_type\":\"finding\",\"tags\":[\"archive\"],\"summary\":\"Archive: {count} entries archived\",\"detail\":\"{count} entries archived: {count} finding.\\nfinding:\\n- a\"}}\n"
        )
    };
    assert_eq!(told(&[(BOARD, &before)], &[(BOARD, &archived(2))]), Vec::<String>::new());
    assert_eq!(
        told(&[(BOARD, &before)], &[(BOARD, &archived(1))]),
        ["e2 gone"],
        "one was archived, and two are missing"
    );
}

#[test]
fn entries_in_a_tracked_archive_have_not_gone() {
    let one = format!("{}\n", entry("e1", "a"));
    assert_eq!(
        told(&[(BOARD, &one)], &[(BOARD, ""), ("archive/2026-11-15-blackboard.jsonl", &one)]),
        Vec::<String>::new()
    );
}

#[test]
fn a_decision_reworded_in_place_is_altered() {
    let after = decision("").replace("moment\"]", "dayjs\"]");
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &after)]),
        ["01M7EB3QY8BCK1T7V2TH9HG8T6 altered constraints"]
    );
}

#[test]
fn a_decision_that_is_linked_to_commits_is_not_altered() {
    let before = decision(r#","commit_hashes":["abcdef1"]"#);
    let after = decision(
        r#","commit_hashes":["abcdef1234567890","1234567"],"commits":[{"hash":"1234567","linked_at":"x"}]"#,
    );
    assert_eq!(told(&[(DECISION, &before)], &[(DECISION, &after)]), Vec::<String>::new());
    assert_eq!(
        told(&[(DECISION, &after)], &[(DECISION, &before)]),
        ["01M7EB3QY8BCK1T7V2TH9HG8T6 altered commit_hashes commits"]
    );
}

#[test]
fn a_supersession_with_its_successor_is_legal_and_without_one_is_not() {
    let after = decision(r#","status":"superseded","superseded_by":"01M7EB3QY8BCK1T7V2TH9HG8T7""#);
    let successor = r#"{"id":"01M7EB3QY8BCK1T7V2TH9HG8T7","supersedes":"01M7EB3QY8BCK1T7V2TH9HG8T6","summary":"dayjs"}"#;
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &after), (SUCCESSOR, successor)]),
        Vec::<String>::new()
    );
    let found = told(&[(DECISION, &decision(""))], &[(DECISION, &after)]);
    assert_eq!(
        found,
        [
            "01M7EB3QY8BCK1T7V2TH9HG8T6 altered superseded_by",
            "01M7EB3QY8BCK1T7V2TH9HG8T6 illegal active superseded"
        ]
    );
    let without_link = decision(r#","status":"superseded""#);
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &without_link), (SUCCESSOR, successor)]),
        Vec::<String>::new()
    );
}

#[test]
fn an_override_needs_its_reason() {
    let with =
        decision(r#","status":"overridden","overridden_by":"ada","override_reason":"we need it""#);
    let without = decision(r#","status":"overridden""#);
    assert_eq!(told(&[(DECISION, &decision(""))], &[(DECISION, &with)]), Vec::<String>::new());
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &without)]),
        ["01M7EB3QY8BCK1T7V2TH9HG8T6 illegal active overridden"]
    );
    assert_eq!(
        told(&[(DECISION, &with)], &[(DECISION, &decision(""))]).len(),
        2,
        "nor does it come back"
    );
}

#[test]
fn an_agreement_to_keep_two_is_recorded_in_the_history_and_stays() {
    let agreed = r#","compatible_with":["01M7EB3QWY4C5CPJF6982ZJQ18"]"#;
    let silent = decision(agreed);
    let with = decision(&format!(
        r#"{agreed},"history":[{{"at":"x","status":"active","by":"kim","reason":"both"}}]"#
    ));
    let altered = ["01M7EB3QY8BCK1T7V2TH9HG8T6 altered compatible_with"];
    assert_eq!(told(&[(DECISION, &decision(""))], &[(DECISION, &with)]), Vec::<String>::new());
    assert_eq!(told(&[(DECISION, &decision(""))], &[(DECISION, &silent)]), altered);
    assert_eq!(told(&[(DECISION, &silent)], &[(DECISION, &decision(""))]), altered);
}

#[test]
fn a_doubt_is_recorded_in_the_history_or_on_the_board() {
    let history = r#","status":"provisional","history":[{"at":"x","status":"provisional","by":"ada","reason":"slow"}]"#;
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &decision(history))]),
        Vec::<String>::new()
    );
    let silent = decision(r#","status":"provisional""#);
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &silent)]),
        ["01M7EB3QY8BCK1T7V2TH9HG8T6 illegal active provisional"]
    );
    let warning = format!("{}\n", entry("w", "Reconsider 01M7EB3QY8BCK1T7V2TH9HG8T6"));
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &silent), (BOARD, &warning)]),
        Vec::<String>::new()
    );
}

#[test]
fn a_decision_deleted_or_left_unreadable_is_told() {
    assert_eq!(told(&[(DECISION, &decision(""))], &[]), ["01M7EB3QY8BCK1T7V2TH9HG8T6 gone"]);
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, "{")]),
        ["01M7EB3QY8BCK1T7V2TH9HG8T6 unparsable"]
    );
    let markers = format!("<<<<<<< ours\n{}\n=======\n{{}}\n>>>>>>> theirs\n", decision(""));
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &markers)]),
        ["01M7EB3QY8BCK1T7V2TH9HG8T6 markers"]
    );
}

#[test]
fn an_array_that_was_cut_off_is_told() {
    let graph = "graph/entities.json";
    let whole = "[\n{\"id\":\"a\"}\n,{\"id\":\"b\"}\n]\n";
    assert_eq!(told(&[], &[(graph, whole)]), Vec::<String>::new());
    assert_eq!(
        told(&[(graph, whole)], &[(graph, &whole[..whole.len() - 2])]),
        ["graph/entities.json:4 unparsable"]
    );
    assert_eq!(
        told(&[(graph, whole)], &[(graph, "[\n{\"id\":\"a\"}\n,{")]),
        ["graph/entities.json:3 unparsable"]
    );
}

#[test]
fn a_field_of_a_newer_version_alters_nothing() {
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &decision(r#","anchors":["src/a.rs"]"#))]),
        Vec::<String>::new()
    );
    let person = decision(r#","origin":{"via":"cli","trust":"human"}"#);
    assert_eq!(
        told(&[(DECISION, &decision(""))], &[(DECISION, &person)]),
        ["01M7EB3QY8BCK1T7V2TH9HG8T6 altered origin"]
    );
}

#[test]
fn a_handoff_is_acknowledged_once() {
    let path = "handoffs/h1.json";
    let open = r#"{"id":"h1","summary":"s"}"#;
    let done = r#"{"id":"h1","summary":"s","acknowledged_by":"bob","acknowledged_at":"x"}"#;
    assert_eq!(told(&[(path, open)], &[(path, done)]), Vec::<String>::new());
    assert_eq!(
        told(&[(path, done)], &[(path, open)]),
        ["h1 altered acknowledged_at acknowledged_by"]
    );
}

#[test]
fn a_turn_is_updated_and_older_ones_make_room() {
    let [one, two] = ["turns/F/T/T1.json", "turns/F/T/T2.json"];
    let turn = |more: &str| format!(r#"{{"id":"TURN-F-T-T1","coach_decision":"feedback"{more}}}"#);
    let updated = turn(r#","updated_at":"y""#).replace("feedback", "approve");
    assert_eq!(told(&[(one, &turn(""))], &[(one, &updated)]), Vec::<String>::new());
    assert_eq!(
        told(&[(one, &turn(""))], &[(one, &turn("").replace("feedback", "approve"))]),
        ["turns/F/T/T1.json altered coach_decision"]
    );
    assert_eq!(
        told(&[(one, &turn(""))], &[(two, &turn(""))]),
        Vec::<String>::new(),
        "pruned for a new one"
    );
    assert_eq!(told(&[(one, &turn(""))], &[]), ["turns/F/T/T1.json gone"]);
}

#[test]
fn the_graph_may_be_pruned_and_must_be_readable() {
    let path = "graph/entities.json";
    let before = "[\n{\"id\":\"a\"}\n,{\"id\":\"b\"}\n]\n";
    assert_eq!(
        told(&[(path, before)], &[(path, "[\n{\"id\":\"b\",\"name\":\"x\"}\n]\n")]),
        Vec::<String>::new()
    );
    assert_eq!(
        told(&[(path, before)], &[(path, "[\n{\"id\":\"a\"}\n")]),
        ["graph/entities.json:3 unparsable"]
    );
}

#[test]
fn what_git_does_not_track_is_not_looked_at() {
    assert_eq!(told(&[("local/index.db", "x"), ("models/a", "y")], &[]), Vec::<String>::new());
}
