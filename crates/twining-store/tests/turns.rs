//! Turn files and files named by a caller: one entry point, nothing outside.

use std::sync::Arc;
use twining_testcases::each;

use twining_model::{Change, HandoffFile, TurnKey, TurnName, limits};
use twining_store::{
    Documents, Durability, Store, StoreError, TextFile, TurnLocation, disk, policy_path,
};
use twining_testkit::faults::{EIO, ENOSPC};
use twining_testkit::{FaultOutcome, Faults, TestProject, ids};

fn store(project: &TestProject) -> Store {
    Store::open(project.place(), ids()).expect("opens")
}

fn key(feature: &str, task: &str, number: u32) -> TurnKey {
    let name = |text| TurnName::parse("name", text).expect("a name");
    TurnKey { feature: name(feature), task: name(task), number }
}

fn put(store: &Store, key: &TurnKey, remove: &[TurnLocation]) -> Result<(), StoreError> {
    store.write(Durability::Normal, &change(key, "{}\n", remove))
}

fn change(key: &TurnKey, text: &str, remove: &[TurnLocation]) -> Change {
    let written = TurnLocation::of(key).with_text(Some(text.to_owned()));
    let removed = remove.iter().map(|slot| slot.clone().with_text(None));
    Change { turns: [written].into_iter().chain(removed).collect(), ..Change::default() }
}

#[test]
fn eight_writers_at_once_lose_no_turn() {
    let project = TestProject::new();
    let path = Arc::new(project);
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let project = Arc::clone(&path);
            std::thread::spawn(move || {
                // A store of its own each: only the lock file keeps them apart.
                let store = store(&project);
                for number in 1..=20 {
                    put(&store, &key("FEAT-1", &format!("TASK-{writer}"), number), &[])
                        .expect("writes");
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().expect("ends well"));
    let listing =
        store(&path).documents().turns().and_then(|shelf| shelf.of("FEAT-1", None)).expect("lists");
    assert_eq!((listing.locations.len(), listing.skipped.len()), (160, 0));
}

#[test]
fn amending_sees_what_another_process_wrote_the_moment_before() {
    let project = Arc::new(TestProject::new());
    put(&store(&project), &key("F", "T", 1), &[]).expect("writes");
    let adders: Vec<_> = (0..4)
        .map(|_| {
            let project = Arc::clone(&project);
            std::thread::spawn(move || {
                let store = store(&project);
                for _ in 0..25 {
                    store
                        .transact_on(
                            Durability::Normal,
                            Documents::turns,
                            |shelf| -> Result<_, StoreError> {
                                let bytes = shelf
                                    .read(&TurnLocation::of(&key("F", "T", 1)))?
                                    .unwrap_or_default();
                                let text = format!("{}x", String::from_utf8_lossy(&bytes));
                                Ok((change(&key("F", "T", 1), &text, &[]), ()))
                            },
                        )
                        .expect("amends");
                }
            })
        })
        .collect();
    adders.into_iter().for_each(|adder| adder.join().expect("ends well"));
    assert_eq!(std::fs::read(project.file("turns/F/T/T1.json")).expect("is there").len(), 3 + 100);
}

#[test]
fn what_makes_room_takes_its_empty_folders_along() {
    let project = TestProject::new();
    let store = store(&project);
    put(&store, &key("OLD", "T", 1), &[]).expect("writes");
    put(&store, &key("NEW", "T", 1), &[TurnLocation::of(&key("OLD", "T", 1))]).expect("writes");
    assert!(!project.file("turns/OLD").exists());
    assert!(project.file("turns/NEW/T/T1.json").exists());
}

#[test]
fn a_link_among_the_turns_is_named_and_not_followed() {
    let (project, elsewhere) = (TestProject::new(), TestProject::new());
    let store = store(&project);
    put(&store, &key("F", "T", 1), &[]).expect("writes");
    std::os::unix::fs::symlink(elsewhere.path(), project.file("turns/LINKED")).expect("links");
    std::os::unix::fs::symlink(elsewhere.path(), project.file("turns/F/LINKED")).expect("links");
    std::fs::write(project.file("turns/F/T/T01.json"), "{}").expect("writes");
    let listing = store.documents().turns().and_then(|shelf| shelf.all()).expect("lists");
    assert_eq!(
        listing.locations.iter().map(TurnLocation::path).collect::<Vec<_>>(),
        ["turns/F/T/T1.json"]
    );
    assert_eq!(
        listing.skipped.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["turns/F/LINKED", "turns/LINKED"]
    );
    assert!(matches!(put(&store, &key("LINKED", "T", 1), &[]), Err(StoreError::Unsafe { .. })));
    assert_eq!(std::fs::read_dir(elsewhere.path()).expect("lists").count(), 0);
}

#[test]
fn a_plan_that_refuses_writes_nothing() {
    let project = TestProject::new();
    let refused: Result<(), StoreError> =
        store(&project).transact_on(Durability::Normal, Documents::turns, |_| {
            Err(StoreError::Damaged { what: "no".into() })
        });
    assert!(refused.is_err());
    assert!(!project.file("turns").exists());
}

#[test]
fn the_policy_is_written_once_and_read_within_its_limit() {
    let project = TestProject::new();
    let store = store(&project);
    assert_eq!(store.documents().policy().expect("reads"), TextFile::Missing);
    let policy = Change::of_document(&policy_path(), Some("roles: {}\n".to_owned()));
    store.write(Durability::Strict, &policy).expect("writes");
    assert_eq!(store.documents().policy().expect("reads"), TextFile::Text("roles: {}\n".into()));
    std::fs::write(project.file("policy.yml"), vec![b'#'; limits::POLICY_BYTES + 1])
        .expect("writes");
    assert!(
        matches!(store.documents().policy().expect("reads"), TextFile::Unusable(why) if why.contains("larger than"))
    );
    std::fs::remove_file(project.file("policy.yml")).expect("removes");
    std::os::unix::fs::symlink("/etc/hostname", project.file("policy.yml")).expect("links");
    assert!(
        matches!(store.documents().policy().expect("reads"), TextFile::Unusable(why) if why.contains("symbolic link"))
    );
}

#[test]
fn a_report_is_read_inside_the_project_and_nowhere_else() {
    let (project, elsewhere) = (TestProject::new(), TestProject::new());
    let base = project.path();
    std::fs::create_dir(base.join("out")).expect("makes");
    std::fs::write(base.join("out/report.xml"), "<a/>").expect("writes");
    std::fs::write(elsewhere.path().join("secret"), "secret").expect("writes");
    std::os::unix::fs::symlink("report.xml", base.join("out/latest.xml")).expect("links");
    std::os::unix::fs::symlink(elsewhere.path(), base.join("away")).expect("links");
    let read = |path: &str| disk::read_inside(&base, path, 1000);
    assert_eq!(read("out/report.xml").expect("reads").as_deref(), Some(&b"<a/>"[..]));
    assert_eq!(
        read("out/latest.xml").expect("reads").as_deref(),
        Some(&b"<a/>"[..]),
        "a link that stays inside is followed"
    );
    assert_eq!(read("out/none.xml").expect("looks"), None);
    each(["away/secret", "../", "/etc/hostname", "", "out/../../", "."], |outside| {
        assert!(matches!(read(outside), Err(StoreError::Unsafe { .. })), "{outside}");
    });
    assert!(matches!(read("out"), Err(StoreError::Unsafe { .. })), "a folder is no report");
    assert!(disk::read_inside(&base, "out/report.xml", 3).is_err(), "too large");
}

#[test]
fn a_disk_that_fails_at_any_call_leaves_the_old_turn_or_the_new() {
    let amend = |store: &Store| {
        let change =
            change(&key("F", "T", 1), "the new turn\n", &[TurnLocation::of(&key("DONE", "T", 1))]);
        store.write(Durability::Normal, &change)
    };
    for outcome in [
        FaultOutcome::Fails(EIO),
        FaultOutcome::Fails(ENOSPC),
        FaultOutcome::Tears(ENOSPC),
        FaultOutcome::Dies,
        FaultOutcome::DiesHalfWay,
    ] {
        for at in 0.. {
            let project = TestProject::in_memory();
            put(&store(&project), &key("F", "T", 1), &[]).expect("writes");
            put(&store(&project), &key("DONE", "T", 1), &[]).expect("writes");
            let faults = Arc::new(Faults::at(at, outcome));
            let probe: Arc<dyn disk::Probe> = faults.clone();
            let amended = Store::open_probed(project.place(), ids(), Some(probe))
                .and_then(|store| amend(&store));
            let text = std::fs::read_to_string(project.file("turns/F/T/T1.json"))
                .expect("one of the two is there");
            if amended.is_ok() {
                assert_eq!(text, "the new turn\n", "acknowledged, with {outcome:?} at call {at}");
            }
            assert!(
                ["{}\n", "the new turn\n"].contains(&text.as_str()),
                "{text:?} with {outcome:?} at call {at}"
            );
            // Space is never freed before the turn that needs it is written.
            assert!(
                text == "the new turn\n" || project.file("turns/DONE/T/T1.json").exists(),
                "{outcome:?} at call {at}"
            );
            amend(&store(&project)).expect("the next process goes on");
            if faults.calls() <= at {
                break;
            }
        }
    }
}

#[test]
fn a_handoff_its_line_its_agent_and_its_entry_are_all_there_or_none_of_them() {
    let id = ids().next();
    let entry = twining_testkit::memory::entry(&store(&TestProject::in_memory()), "handed over");
    let change = Change {
        handoffs: vec![HandoffFile {
            id: id.clone(),
            text: "{}\n".to_owned(),
            line: format!("{{\"id\":\"{id}\"}}"),
        }],
        agents: [("ada".to_owned(), r#"{"agent_id":"ada"}"#.to_owned())].into(),
        claims: Some("{}\n".to_owned()),
        ..Change::of_entries(vec![entry.clone()])
    };
    let hand_over = |store: &Store| store.write(Durability::Strict, &change);
    for outcome in [
        FaultOutcome::Fails(EIO),
        FaultOutcome::Tears(ENOSPC),
        FaultOutcome::Dies,
        FaultOutcome::DiesHalfWay,
    ] {
        for at in 0.. {
            let project = TestProject::in_memory();
            put(&store(&project), &key("F", "T", 1), &[]).expect("writes");
            let faults = Arc::new(Faults::at(at, outcome));
            let probe: Arc<dyn disk::Probe> = faults.clone();
            let handed = Store::open_probed(project.place(), ids(), Some(probe))
                .and_then(|store| hand_over(&store));
            // The next process completes what was begun.
            put(&store(&project), &key("F", "T", 2), &[]).expect("the next process goes on");
            let has = |path: &str, text: &str| {
                std::fs::read_to_string(project.file(path)).is_ok_and(|found| found.contains(text))
            };
            let parts = [
                project.file(&format!("handoffs/{id}.json")).exists(),
                has("handoffs/index.jsonl", id.as_str()),
                has("agents/registry.json", "ada"),
                project.file("local/claims.json").exists(),
                has("blackboard.jsonl", &entry.id),
            ];
            assert!(
                parts == [true; 5] || (parts == [false; 5] && handed.is_err()),
                "{parts:?} with {outcome:?} at call {at}"
            );
            if faults.calls() <= at {
                break;
            }
        }
    }
}
