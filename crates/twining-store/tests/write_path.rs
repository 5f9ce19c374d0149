//! The write path: nothing acknowledged is lost, whatever happens to the files.

use std::io::Write;
use twining_testcases::each;

use twining_model::{Amendment, Change};
use twining_store::{Durability, StoreError};
use twining_testkit::files::{array_ids, board, board_ids, json};
use twining_testkit::memory as common;
use twining_testkit::memory::{decision, entry, note, store};
use twining_testkit::{FixedWorld, TestProject};

#[test]
fn the_first_write_makes_the_folder_with_its_default_files() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    assert!(!project.file("").exists(), "opening makes nothing");
    note(&store, "first");
    each(
        [
            "config.yml",
            ".gitignore",
            ".gitattributes",
            "blackboard.jsonl",
            "decisions/index.json",
            "graph/entities.json",
            "graph/relations.json",
            "local/.gitignore",
        ],
        |path| {
            assert!(project.file(path).exists(), "{path}");
        },
    );
    assert_eq!(board(&project.path()).expect("valid")[0]["summary"], "first");
}

#[test]
fn git_sees_nothing_of_what_is_local() {
    let project = TestProject::with_git();
    let store = store(&project, &FixedWorld::new());
    note(&store, "one");
    store.housekeep().expect("housekeeping works");
    project.git(["add", "-A"]);
    let tracked = project.git(["ls-files", ".twining"]);
    assert!(tracked.contains("blackboard.jsonl"));
    assert!(!tracked.contains("local/") && !tracked.contains("index.db"), "{tracked}");
}

#[test]
fn a_torn_last_line_is_cut_off_wherever_it_was_torn() {
    let world = FixedWorld::new();
    let line =
        br#"{"id":"01M7EB3QY8BCK1T7V2TH9HG8T6","entry_type":"finding","summary":"torn by a kill"}"#;
    let mut quarantined = 0;
    for cut in 0..line.len() {
        let project = TestProject::new();
        note(&store(&project, &world), "whole");
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(project.file("blackboard.jsonl"))
            .expect("opens");
        file.write_all(&line[..cut]).expect("writes");
        let id = note(&store(&project, &world), "after the crash");
        let ids = board_ids(&project.path()).unwrap_or_else(|e| panic!("torn at byte {cut}: {e}"));
        assert_eq!(ids.len(), 2, "torn at byte {cut}");
        assert_eq!(ids[1], id);
        quarantined += usize::from(project.file("local/quarantine").exists());
    }
    assert_eq!(quarantined, line.len() - 1, "every fragment is kept");
}

#[test]
fn a_line_that_lacks_only_its_newline_is_kept() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    note(&store(&project, &world), "first");
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(project.file("blackboard.jsonl"))
        .expect("opens");
    file.write_all(br#"{"id":"hook-1","entry_type":"status","summary":"from a hook"}"#)
        .expect("writes");
    note(&store(&project, &world), "last");
    assert_eq!(board(&project.path()).expect("all lines parse").len(), 3);
}

#[test]
fn lines_that_a_rewrite_took_away_come_back() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    let kept = note(&store, "committed");
    let before = std::fs::read(project.file("blackboard.jsonl")).expect("there");
    let lost = note(&store, "posted while git worked");
    // git writes a new file and renames nothing of ours along.
    std::fs::remove_file(project.file("blackboard.jsonl")).expect("removes");
    std::fs::write(project.file("blackboard.jsonl"), &before).expect("writes");
    let next = note(&store, "after");
    assert_eq!(board_ids(&project.path()).expect("valid"), [kept, lost, next]);
}

#[test]
fn a_user_who_empties_the_board_later_is_obeyed() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    note(&store, "an hour ago");
    world.pass(3_600_000);
    std::fs::remove_file(project.file("blackboard.jsonl")).expect("removes");
    std::fs::write(project.file("blackboard.jsonl"), "").expect("writes");
    let next = note(&store, "after");
    assert_eq!(board_ids(&project.path()).expect("valid"), [next]);
}

#[test]
fn a_folder_that_git_removed_and_made_again_is_found() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    decide(&store, "kept");
    std::fs::rename(project.file("decisions"), project.path().join("away")).expect("moves");
    std::fs::create_dir(project.file("decisions")).expect("makes");
    let id = decide(&store, "after");
    assert!(project.file(&format!("decisions/{id}.json")).exists());
}

#[test]
fn a_decision_is_in_its_file_at_once_and_in_the_arrays_soon() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    let id = decide(&store, "use sqlite");
    assert_eq!(
        json(&project.path(), &format!("decisions/{id}.json")).expect("there")["summary"],
        "use sqlite"
    );
    assert_eq!(board(&project.path()).expect("valid").len(), 1);
    store.housekeep().expect("works");
    assert_eq!(array_ids(&project.path(), "graph/entities.json").expect("valid").len(), 1);
    assert_eq!(array_ids(&project.path(), "decisions/index.json").expect("valid"), [id]);
    let text = std::fs::read_to_string(project.file("graph/entities.json")).expect("there");
    assert!(text.starts_with("[\n{") && text.ends_with("}\n]\n"), "{text}");
}

#[test]
fn amending_a_decision_keeps_what_we_do_not_know() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    let id = decide(&store, "use sqlite");
    let path = project.file(&format!("decisions/{id}.json"));
    let text = std::fs::read_to_string(&path).expect("there").replacen(
        '{',
        "{\n  \"assumptions\": [1.50, 12345678901234567890123],",
        1,
    );
    std::fs::write(&path, text).expect("writes");
    let set = [("status".to_owned(), "overridden".into())].into_iter().collect();
    let change = Change {
        amendments: vec![Amendment::new(twining_model::Id::read(&id).expect("an id"), set)],
        ..Change::default()
    };
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("amends");
    let after = std::fs::read_to_string(&path).expect("there");
    assert!(after.contains("\"assumptions\": [1.50, 12345678901234567890123]"), "{after}");
    assert!(after.contains("\"status\": \"overridden\""));
}

#[test]
fn a_missing_decision_cannot_be_amended_and_leaves_no_trace() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    note(&store, "before");
    let missing = twining_model::Id::read("01M7EB3QY8BCK1T7V2TH9HG8T6").expect("an id");
    let change = Change {
        entries: vec![entry(&store, "announcement")],
        decisions: vec![decision(&store, "new one")],
        amendments: vec![Amendment::new(missing, serde_json::Map::new())],
        ..Change::default()
    };
    let refused =
        store.transact::<(), StoreError>(Durability::Strict, |_| Ok((change.clone(), ())));
    assert!(matches!(refused, Err(StoreError::NoDecision { .. })));
    assert_eq!(board(&project.path()).expect("valid").len(), 1);
    let files = std::fs::read_dir(project.file("decisions")).expect("there").count();
    assert_eq!(files, 1, "only index.json");
}

#[test]
fn a_newer_format_is_refused_for_writing_and_still_read() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    note(&store, "old");
    std::fs::write(project.file("config.yml"), "version: 2\nnew_things: yes\n").expect("writes");
    let refused = store.post(&[entry(&store, "new")]).expect_err("too new");
    assert_eq!(refused.code(), "FORMAT_TOO_NEW");
    assert!(refused.to_string().contains("version 2"));
    assert_eq!(store.view(|view| view.counts()).expect("reads").entries, 1);
}

fn decide(store: &twining_store::Store, summary: &str) -> String {
    let decision = decision(store, summary);
    let id = decision.id.to_string();
    let change = Change {
        entries: vec![entry(store, summary)],
        entities: vec![common::entity(store, &id)],
        decisions: vec![decision],
        ..Change::default()
    };
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("decides");
    id
}
