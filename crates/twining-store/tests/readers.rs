//! Other programs read the files while we write, and people damage them.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use twining_model::Change;
use twining_store::disk::{DiskOp, Fault, Probe};
use twining_store::{Durability, EntryFilter, Store, StoreError, StoreLocation};
use twining_testkit::memory as common;
use twining_testkit::memory::{decision, entity, entry, note, store};
use twining_testkit::{FixedWorld, TestProject};

#[test]
fn r15_jq_never_sees_half_an_array() {
    let project = TestProject::new();
    let store = Store::open(project.place(), twining_testkit::ids()).expect("opens");
    let put = |n: usize| {
        let change = Change {
            entities: vec![entity(&store, &format!("e{n}"))],
            decisions: vec![decision(&store, "d")],
            ..Change::default()
        };
        store
            .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
            .expect("writes");
        store.housekeep().expect("works");
    };
    put(0);
    let (done, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let readers = ["graph/entities.json", "decisions/index.json"].map(|path| {
            let (path, done, reads) = (project.file(path), &done, &reads);
            scope.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    let test = "length > 0 and all(.[]; .id | length == 26)";
                    let answer =
                        Command::new("jq").args(["-e", test]).arg(&path).output().expect("jq runs");
                    if !answer.status.success() {
                        return Err(format!(
                            "{path:?}: {}",
                            String::from_utf8_lossy(&answer.stderr)
                        ));
                    }
                    reads.fetch_add(1, Ordering::AcqRel);
                }
                Ok(())
            })
        });
        // As long as it takes for enough reads to have met a write.
        let written = (1..2000)
            .take_while(|_| {
                reads.load(Ordering::Acquire) < 60
                    && !readers.iter().any(|reader| reader.is_finished())
            })
            .map(put)
            .count();
        done.store(true, Ordering::Release);
        for reader in readers {
            assert_eq!(reader.join().expect("no panic"), Ok(()), "after {written} writes");
        }
        assert!(written >= 10, "{written} writes");
    });
}

#[test]
fn every_tracked_file_holds_what_was_acknowledged() {
    let project = TestProject::new();
    let store = Store::open(project.place(), twining_testkit::ids()).expect("opens");
    let read = |path: &str| std::fs::read_to_string(project.file(path)).expect("is there");
    for n in 0..40 {
        let (entity, decision) = (entity(&store, &format!("e{n}")), decision(&store, "d"));
        let ids = [entity.id.clone(), decision.id.to_string()];
        let change =
            Change { entities: vec![entity], decisions: vec![decision], ..Change::default() };
        store
            .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
            .expect("writes");
        // No housekeeping in between.
        assert!(read("graph/entities.json").contains(&ids[0]), "entity {n}");
        assert!(read("decisions/index.json").contains(&ids[1]), "decision {n}");
    }
}

/// Ways in which people, tools and disks damage a JSON file.
fn damages() -> Vec<(String, Vec<u8>)> {
    let line = r#"{"id":"01K9Z3M4E0A1B2C3D4E5F6G7H1","entry_type":"finding","summary":"s"}"#;
    let mut kinds: Vec<(String, Vec<u8>)> = vec![
        ("empty".into(), Vec::new()),
        ("blank lines".into(), b"\n\n\n".to_vec()),
        ("NUL bytes".into(), vec![0; 100]),
        ("NUL line".into(), b"\0\0\0\n".to_vec()),
        ("not UTF-8".into(), b"{\"id\":\"\xff\xfe\"}\n".to_vec()),
        ("UTF-16".into(), "{\"id\":1}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("BOM".into(), format!("\u{feff}{line}\n").into_bytes()),
        ("CRLF".into(), format!("{line}\r\n").into_bytes()),
        ("a number".into(), b"42\n".to_vec()),
        ("a string".into(), b"\"hello\"\n".to_vec()),
        ("null".into(), b"null\n".to_vec()),
        ("true".into(), b"true\n".to_vec()),
        ("an array".into(), b"[1,2]\n".to_vec()),
        ("no id".into(), b"{\"summary\":\"x\"}\n".to_vec()),
        ("numeric id".into(), b"{\"id\":7}\n".to_vec()),
        ("null id".into(), b"{\"id\":null}\n".to_vec()),
        ("two ids".into(), b"{\"id\":\"a\",\"id\":\"b\"}\n".to_vec()),
        ("tags is text".into(), b"{\"id\":\"a\",\"tags\":\"x\"}\n".to_vec()),
        ("summary is a list".into(), b"{\"id\":\"a\",\"summary\":[]}\n".to_vec()),
        ("huge number".into(), b"{\"id\":\"a\",\"x\":1e999}\n".to_vec()),
        ("lone surrogate".into(), b"{\"id\":\"a\",\"summary\":\"\\ud800\"}\n".to_vec()),
        ("conflict markers".into(), format!("<<<<<<< HEAD\n{line}\n=======\n{line}\n>>>>>>> side\n").into_bytes()),
        ("deep".into(), format!("{{\"id\":\"a\",\"x\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000)).into_bytes()),
        ("two objects on a line".into(), format!("{line}{line}\n").into_bytes()),
        ("trailing comma".into(), format!("{line},\n").into_bytes()),
        ("single quotes".into(), b"{'id':'a'}\n".to_vec()),
        ("comment".into(), format!("// hello\n{line}\n").into_bytes()),
        ("HTML".into(), b"<!doctype html><h1>504</h1>\n".to_vec()),
        ("yaml".into(), b"id: a\nsummary: b\n".to_vec()),
        ("git LFS pointer".into(), b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n".to_vec()),
        ("2 MiB line".into(), format!("{{\"id\":\"a\",\"detail\":\"{}\"}}\n", "x".repeat(2 << 20)).into_bytes()),
        (
            "far future".into(),
            b"{\"id\":\"7ZZZZZZZZZZZZZZZZZZZZZZZZZ\",\"timestamp\":\"9999-12-31T00:00:00Z\",\"entry_type\":\"finding\"}\n".to_vec(),
        ),
        ("bad time".into(), b"{\"id\":\"a\",\"timestamp\":\"yesterday\"}\n".to_vec()),
        ("array never closed".into(), format!("[\n{line}\n").into_bytes()),
        ("array with a bad element".into(), format!("[\n{line}\n,{{oops}}\n]\n").into_bytes()),
    ];
    for cut in (1..line.len()).step_by(7) {
        kinds.push((format!("cut at byte {cut}"), line.as_bytes()[..cut].to_vec()));
    }
    for flip in (0..line.len()).step_by(5) {
        let mut bytes = line.as_bytes().to_vec();
        bytes[flip] ^= 0x10;
        bytes.push(b'\n');
        kinds.push((format!("bit flipped in byte {flip}"), bytes));
    }
    kinds
}

#[test]
fn r18_no_damage_to_a_file_stops_the_rest() {
    let kinds = damages();
    let mut cases = 0;
    for (kind, bytes) in &kinds {
        for path in [
            "blackboard.jsonl",
            "graph/entities.json",
            "graph/relations.json",
            "decisions/index.json",
            "decisions/01K9Z3M4E0DEC1S10NAAAAAAA1.json",
            "config.yml",
        ] {
            let project = TestProject::in_memory();
            let world = FixedWorld::new();
            let (entity_id, decision_id) = {
                let store = store(&project, &world);
                note(&store, "healthy");
                let change = Change {
                    entities: vec![entity(&store, "healthy")],
                    decisions: vec![decision(&store, "healthy")],
                    ..Change::default()
                };
                let ids = (change.entities[0].id.clone(), change.decisions[0].id.clone());
                store
                    .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
                    .expect("writes");
                store.housekeep().expect("works");
                ids
            };
            let file = project.file(path);
            let mut damaged = if path == "blackboard.jsonl" {
                std::fs::read(&file).expect("there")
            } else {
                Vec::new()
            };
            damaged.extend_from_slice(bytes);
            std::fs::write(&file, &damaged).expect("writes");

            let what = format!("{kind} in {path}");
            let store = common::store(&project, &world);
            store
                .view::<_, StoreError>(|view| {
                    let board = view.entries().newest(&EntryFilter::default(), 10)?;
                    assert!(
                        board.items.iter().any(|e| e.summary == "healthy"),
                        "{what}: the healthy entry is served"
                    );
                    assert!(
                        view.decisions().get(&decision_id)?.is_some(),
                        "{what}: the healthy decision is served"
                    );
                    if !path.contains("entities") {
                        assert!(
                            view.graph().entity(&entity_id)?.is_some(),
                            "{what}: the healthy entity is served"
                        );
                    }
                    view.unreadable().map(|_| ())
                })
                .unwrap_or_else(|e| panic!("{what}: {e} {:?}", std::error::Error::source(&e)));
            match store.post(&[entry(&store, "afterwards")]) {
                Ok(()) => {}
                Err(error) => assert_eq!(error.code(), "FORMAT_TOO_NEW", "{what}: {error}"),
            }
            drop(store.housekeep());
            if path != "blackboard.jsonl"
                && path != "decisions/index.json"
                && !path.starts_with("graph/")
            {
                assert_eq!(std::fs::read(&file).expect("there"), damaged, "{what}: kept as it is");
            }
            cases += 1;
        }
    }
    assert!(kinds.len() >= 50 && cases >= 100, "{} kinds, {cases} cases", kinds.len());
}

#[test]
fn an_array_that_cannot_be_read_is_left_alone_and_the_change_waits() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    note(&store, "first");
    let broken = "[\n{\"id\":\"01K9Z3M4E0ENT1TYAAAAAAAAA1\",\"name\":\"kept\",\"type\":\"file\"}\n,{\"id\": oops\n]\n";
    std::fs::write(project.file("graph/entities.json"), broken).expect("writes");
    let change = Change { entities: vec![entity(&store, "waiting")], ..Change::default() };
    store
        .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
        .expect("writes");
    store.housekeep().expect("works");
    assert_eq!(
        std::fs::read_to_string(project.file("graph/entities.json")).expect("there"),
        broken
    );
    store
        .view::<_, StoreError>(|view| {
            assert_eq!(view.graph().named("kept")?.len(), 1);
            assert_eq!(view.graph().named("waiting")?.len(), 1);
            let unreadable = view.unreadable()?;
            assert!(
                unreadable.iter().any(|u| u.file == "graph/entities.json" && u.line == Some(3)),
                "{unreadable:?}"
            );
            Ok(())
        })
        .expect("reads");
    std::fs::write(project.file("graph/entities.json"), broken.replace(",{\"id\": oops\n", ""))
        .expect("repairs");
    store.housekeep().expect("works");
    let names = twining_testkit::files::json(&project.path(), "graph/entities.json")
        .expect("valid")
        .to_string();
    assert!(names.contains("waiting") && names.contains("kept"));
}

#[test]
fn an_array_cut_to_nothing_is_damage_and_not_an_empty_graph() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    note(&store, "first");
    std::fs::write(project.file("graph/entities.json"), "").expect("writes");
    let change = Change { entities: vec![entity(&store, "waiting")], ..Change::default() };
    store
        .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
        .expect("writes");
    store.housekeep().expect("works");
    assert_eq!(
        std::fs::read_to_string(project.file("graph/entities.json")).expect("there"),
        "",
        "left for a person to look at"
    );
    let unreadable = store.view(|view| view.unreadable()).expect("reads");
    assert!(unreadable.iter().any(|bad| bad.file == "graph/entities.json"), "{unreadable:?}");
    std::fs::remove_file(project.file("graph/entities.json")).expect("removes");
    store.housekeep().expect("works");
    assert!(
        std::fs::read_to_string(project.file("graph/entities.json"))
            .expect("made anew")
            .contains("waiting")
    );
}

/// A disk on which `.twining` may be read and nothing in it written.
struct ReadOnly(AtomicBool);

impl Probe for ReadOnly {
    fn before(&self, op: DiskOp, name: &str) -> Fault {
        const EACCES: i32 = 13;
        let writes = matches!(op, DiskOp::Write | DiskOp::SetLen) && name.starts_with(".twining/");
        // The first lock file is the one in the folder; the second is ours, elsewhere.
        let makes = op == DiskOp::Create && name == "lock" && self.0.swap(false, Ordering::AcqRel);
        if writes || makes { Fault::Fail(EACCES) } else { Fault::None }
    }
}

#[test]
fn a_folder_that_we_may_only_read_is_read() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let known = {
        let store = store(&project, &world);
        note(&store, "from somebody else");
        let change = Change { decisions: vec![decision(&store, "d")], ..Change::default() };
        let id = change.decisions[0].id.clone();
        store
            .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
            .expect("writes");
        store.housekeep().expect("works");
        id
    };
    let scratch = TestProject::new();
    let place = StoreLocation { scratch: Some(scratch.path()), ..project.place() };
    let store =
        Store::open_probed(place, world.ids(), Some(Arc::new(ReadOnly(AtomicBool::new(true)))))
            .expect("opens");
    for _ in 0..2 {
        store
            .view::<_, StoreError>(|view| {
                assert_eq!(view.counts()?.entries, 1);
                assert!(view.decisions().get(&known)?.is_some());
                Ok(())
            })
            .expect("reads");
    }
    assert!(store.post(&[entry(&store, "refused")]).expect_err("may not write").is_forbidden());
    drop(store);
    assert_eq!(
        std::fs::read_dir(scratch.path()).expect("there").count(),
        0,
        "nothing is left behind"
    );
}
