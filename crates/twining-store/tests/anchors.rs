//! Anchors: written with their record, read by record and by file, and merged like any lines.

use std::io::Write;

use twining_model::{Anchor, AnchorEvent, AnchoredRecord, Change};
use twining_store::integrity::DifferenceKind;
use twining_store::merge::{Versions, merge_lines};
use twining_store::{Durability, Store, StoreError};
use twining_testcases::each;
use twining_testkit::memory as common;
use twining_testkit::memory::{anchor, decision, entry, note};
use twining_testkit::{FixedWorld, TestProject};

const FILE: &str = "anchors.jsonl";

fn of(id: &str) -> AnchoredRecord {
    AnchoredRecord::Decision(id.to_owned())
}

fn write(store: &Store, anchors: Vec<Anchor>) -> Result<(), StoreError> {
    let change = Change { anchors, ..Change::default() };
    store.transact(Durability::Normal, |_| Ok((change.clone(), ())))
}

fn text(project: &TestProject) -> String {
    std::fs::read_to_string(project.file(FILE)).unwrap_or_default()
}

fn ids(anchors: &[Anchor]) -> Vec<&str> {
    anchors.iter().map(|anchor| anchor.id.as_str()).collect()
}

fn found(store: &Store, record: &AnchoredRecord) -> Vec<Anchor> {
    store.view::<_, StoreError>(|view| view.anchors().of(record)).expect("reads")
}

fn in_file(store: &Store, path: &str) -> Vec<Anchor> {
    store.view::<_, StoreError>(|view| view.anchors().in_file(path)).expect("reads")
}

#[test]
fn an_anchor_is_written_with_its_decision_and_found_by_record_and_file() {
    let (project, world) = (TestProject::in_memory(), FixedWorld::new());
    let store = common::store(&project, &world);
    let decided = decision(&store, "hash with bcrypt");
    let record = AnchoredRecord::Decision(decided.id.to_string());
    let made = [
        anchor(&store, &record, "src/a.rs#hash"),
        anchor(&store, &record, "src/b.rs"),
        anchor(&store, &of("another"), "src/a.rs#hash"),
    ];
    let change = Change {
        entries: vec![entry(&store, "decided")],
        decisions: vec![decided],
        anchors: made.to_vec(),
        ..Change::default()
    };
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("decides");
    assert_eq!(found(&store, &record), made[..2]);
    assert_eq!(ids(&in_file(&store, "./src/a.rs")), [&made[0].id, &made[2].id]);
    assert!(in_file(&store, "src").is_empty(), "a folder is no file");
    store
        .view::<_, StoreError>(|view| {
            let anchors = view.anchors();
            assert_eq!(anchors.paths()?, ["src/a.rs", "src/b.rs"]);
            assert_eq!(anchors.count()?, 3);
            let first = anchors.page(None, 2)?;
            let rest = anchors.page(first.last(), 2)?;
            assert_eq!(
                (ids(&first), ids(&rest)),
                (vec![made[0].id.as_str(), &made[2].id], vec![made[1].id.as_str()])
            );
            Ok(())
        })
        .expect("reads");
}

#[test]
fn the_newest_line_counts_whatever_their_order_and_what_was_released_is_gone() {
    let (project, world) = (TestProject::in_memory(), FixedWorld::new());
    let store = common::store(&project, &world);
    let event = |event: AnchorEvent, place: &str| {
        world.pass(1000);
        Anchor { event: event.as_str().to_owned(), ..anchor(&store, &of("D"), place) }
    };
    let made = event(AnchorEvent::Made, "a.rs#f");
    let confirmed = event(AnchorEvent::Confirmed, "a.rs#f");
    let other = event(AnchorEvent::Made, "a.rs#g");
    let released = event(AnchorEvent::Released, "a.rs#g");
    // As git may unite two branches: the newer ones first, and one of them twice.
    write(
        &store,
        vec![released.clone(), confirmed.clone(), made.clone(), confirmed.clone(), other.clone()],
    )
    .expect("writes");
    assert_eq!(ids(&found(&store, &of("D"))), [confirmed.id.as_str()]);
    let history = store.view::<_, StoreError>(|view| view.anchors().history(&of("D")));
    let history = history.expect("reads");
    assert_eq!(ids(&history), [&made.id, &confirmed.id, &confirmed.id, &other.id, &released.id]);
    let again = event(AnchorEvent::Made, "a.rs#g");
    write(&store, vec![again.clone()]).expect("writes");
    assert_eq!(ids(&found(&store, &of("D"))), [confirmed.id, again.id]);
}

#[test]
fn a_folder_without_anchors_gets_no_file_of_them() {
    let (project, world) = (TestProject::in_memory(), FixedWorld::new());
    let store = common::store(&project, &world);
    note(&store, "posted");
    common::decide(&store, "decided");
    assert!(found(&store, &of("D")).is_empty());
    store.housekeep().expect("works");
    assert!(!project.file(FILE).exists());
}

#[test]
fn what_a_killed_writer_left_is_put_aside_and_every_whole_line_stays() {
    let (project, world) = (TestProject::in_memory(), FixedWorld::new());
    let store = common::store(&project, &world);
    let (first, second) = (anchor(&store, &of("D"), "a.rs"), anchor(&store, &of("D"), "b.rs"));
    write(&store, vec![first.clone()]).expect("writes");
    let mut file =
        std::fs::OpenOptions::new().append(true).open(project.file(FILE)).expect("opens");
    file.write_all(b"{\"id\":\"torn").expect("writes");
    let unreadable = store.view::<_, StoreError>(|view| view.unreadable()).expect("reads");
    assert_eq!((unreadable[0].file.as_str(), unreadable[0].line), (FILE, Some(2)));
    assert_eq!(ids(&found(&store, &of("D"))), [first.id.as_str()]);
    write(&store, vec![second.clone()]).expect("writes");
    assert_eq!(ids(&found(&store, &of("D"))), [first.id, second.id]);
    assert_eq!(store.view::<_, StoreError>(|view| view.unreadable()).expect("reads"), []);
    let aside = std::fs::read_to_string(project.file("local/quarantine")).expect("there");
    assert_eq!(aside, "{\"id\":\"torn\n");
}

#[test]
fn an_anchor_that_says_too_much_is_refused_with_its_decision() {
    each([(9, 1), (1, 5000)], |(words, letters)| {
        let (project, world) = (TestProject::in_memory(), FixedWorld::new());
        let store = common::store(&project, &world);
        let decided = decision(&store, "decided");
        let file = project.file(&format!("decisions/{}.json", decided.id));
        let mut large = anchor(&store, &of(decided.id.as_str()), "a.rs");
        large.words = vec!["w".repeat(letters); words];
        let change = Change { decisions: vec![decided], anchors: vec![large], ..Change::default() };
        let refused = store
            .transact::<(), StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
            .expect_err("too large");
        assert!(
            matches!(refused, StoreError::TooLarge { .. } | StoreError::Encode(_)),
            "{refused}"
        );
        assert!(!file.exists() && text(&project).is_empty());
    });
}

#[test]
fn a_line_that_leads_out_of_the_project_and_a_link_in_the_files_place_are_reported() {
    let (project, world) = (TestProject::in_memory(), FixedWorld::new());
    let store = common::store(&project, &world);
    write(&store, vec![anchor(&store, &of("D"), "a.rs")]).expect("writes");
    let outside = r#"{"id":"A","of":"decision:D","at":"../../etc/passwd"}"#;
    std::fs::write(project.file(FILE), format!("{}{outside}\n", text(&project))).expect("writes");
    let unreadable = store.view::<_, StoreError>(|view| view.unreadable()).expect("reads");
    assert_eq!((unreadable.len(), unreadable[0].line), (1, Some(2)));
    assert_eq!(found(&store, &of("D")).len(), 1);
    std::fs::rename(project.file(FILE), project.path().join("elsewhere")).expect("renames");
    std::os::unix::fs::symlink(project.path().join("elsewhere"), project.file(FILE))
        .expect("links");
    assert!(found(&store, &of("D")).is_empty(), "no link is followed");
    let unreadable = store.view::<_, StoreError>(|view| view.unreadable()).expect("reads");
    assert_eq!((unreadable.len(), unreadable[0].file.as_str()), (1, FILE));
}

fn commit_all(project: &TestProject, message: &str) {
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", message]);
}

#[test]
fn two_branches_anchor_one_record_and_the_merge_has_both() {
    let project = TestProject::with_git();
    let store = Store::open(project.place(), twining_testkit::ids()).expect("opens");
    write(&store, vec![anchor(&store, &of("D"), "a.rs#f")]).expect("writes");
    commit_all(&project, "both");
    project.git(["checkout", "-q", "-b", "left"]);
    let confirmed = anchor(&store, &of("D"), "a.rs#f");
    write(&store, vec![confirmed.clone()]).expect("writes");
    commit_all(&project, "left");
    project.git(["checkout", "-q", "main"]);
    assert_ne!(ids(&found(&store, &of("D"))), [confirmed.id.as_str()], "it is the branch's");
    let newer = [anchor(&store, &of("D"), "b.rs"), anchor(&store, &of("D"), "a.rs#f")];
    write(&store, newer.to_vec()).expect("writes");
    commit_all(&project, "right");
    project.git(["merge", "-q", "-m", "merged", "left"]);
    assert_eq!(text(&project).lines().count(), 4);
    let [moved, newest] = newer;
    assert_eq!(ids(&found(&store, &of("D"))), [newest.id, moved.id]);
    assert_eq!(store.view::<_, StoreError>(|view| view.unreadable()).expect("reads"), []);
}

#[test]
fn the_merge_driver_puts_anchors_in_order_of_time() {
    let (project, world) = (TestProject::in_memory(), FixedWorld::new());
    let store = common::store(&project, &world);
    let line = |place: &str| {
        world.pass(1000);
        serde_json::to_string(&anchor(&store, &of("D"), place)).expect("JSON") + "\n"
    };
    let (base, left, right) = (line("a.rs"), line("b.rs"), line("c.rs"));
    let versions = Versions {
        base: base.as_bytes(),
        ours: &[base.as_bytes(), right.as_bytes()].concat(),
        theirs: &[base.as_bytes(), left.as_bytes()].concat(),
    };
    let merged = merge_lines(&versions);
    assert_eq!(String::from_utf8(merged.text).expect("UTF-8"), format!("{base}{left}{right}"));
    assert!(merged.contested.is_empty());
}

#[test]
fn a_conflict_that_git_left_in_the_anchors_is_taken_out_and_both_sides_stay() {
    let (project, world) = (TestProject::in_memory(), FixedWorld::new());
    let store = common::store(&project, &world);
    let line = |place: &str| serde_json::to_string(&anchor(&store, &of("D"), place)).expect("JSON");
    let (ours, theirs) = (line("a.rs"), line("b.rs"));
    note(&store, "makes the folder");
    let torn = format!("<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> left\n");
    std::fs::write(project.file(FILE), torn).expect("writes");
    assert_eq!(found(&store, &of("D")).len(), 2, "both sides are read at once");
    store.housekeep().expect("works");
    assert_eq!(text(&project), format!("{ours}\n{theirs}\n"));
}

#[test]
fn an_anchor_that_git_took_away_uncommitted_comes_back_with_the_next_write() {
    let project = TestProject::with_git();
    let store = Store::open(project.place(), twining_testkit::ids()).expect("opens");
    write(&store, vec![anchor(&store, &of("D"), "a.rs")]).expect("writes");
    commit_all(&project, "first");
    let lost = anchor(&store, &of("D"), "b.rs");
    write(&store, vec![lost.clone()]).expect("writes");
    project.git(["reset", "-q", "--hard"]);
    assert_eq!(text(&project).lines().count(), 1);
    common::decide(&store, "decided");
    assert_eq!(found(&store, &of("D"))[1].id, lost.id);
    assert_eq!(text(&project).lines().count(), 2);
}

#[test]
fn an_anchor_that_somebody_removed_or_reworded_is_seen() {
    let project = TestProject::with_git();
    let store = Store::open(project.place(), twining_testkit::ids()).expect("opens");
    let made = [anchor(&store, &of("D"), "a.rs"), anchor(&store, &of("D"), "b.rs")];
    write(&store, made.to_vec()).expect("writes");
    commit_all(&project, "first");
    let changed = text(&project).replace("\"a.rs\"", "\"c.rs\"");
    std::fs::write(project.file(FILE), changed.lines().next().expect("a line").to_owned() + "\n")
        .expect("writes");
    let git = twining_store::git::Git::at(&project.path());
    let differences = store.documents().changed_records(&git, None).expect("compares");
    let told: Vec<_> =
        differences.iter().map(|one| (one.id.as_deref(), one.change.clone())).collect();
    let altered = DifferenceKind::Altered { fields: vec!["at".to_owned()] };
    assert_eq!(
        told,
        [
            (Some(made[0].id.as_str()), altered),
            (Some(made[1].id.as_str()), DifferenceKind::Removed)
        ]
    );
}
