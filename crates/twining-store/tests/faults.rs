//! Every call to the disk fails once, and the process dies at every call: what
//! was acknowledged is there, and what was not is there whole or not at all.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use twining_testcases::each;

use twining_model::{Amendment, AnchoredRecord, Change, Id};
use twining_store::disk::{DiskOp, Fault, Probe};
use twining_store::{Durability, Store, StoreError};
use twining_testkit::faults::{EACCES, EIO, ENOSPC};
use twining_testkit::files::{anchor_ids, array_ids, board_ids, json};
use twining_testkit::memory as common;
use twining_testkit::memory::{anchor, decision, entity, entry};
use twining_testkit::{FaultOutcome, Faults, FixedWorld, TestProject};

const OUTCOMES: [FaultOutcome; 5] = [
    FaultOutcome::Fails(EIO),
    FaultOutcome::Fails(ENOSPC),
    FaultOutcome::Tears(ENOSPC),
    FaultOutcome::Dies,
    FaultOutcome::DiesHalfWay,
];

/// What one operation promised, if it was acknowledged.
#[derive(Default)]
struct Promise {
    /// Ids that must be on the board.
    on_board: Vec<String>,
    /// Ids that must be among the anchors.
    anchored: Vec<String>,
    /// Decisions, with the ids of the entry, the entity and the anchor that go with each.
    decided: Vec<(String, String, String, String)>,
    /// Decisions and the status they must have.
    amended: BTreeMap<String, String>,
    /// Summaries queued by hooks: each on the board exactly once in the end.
    queued: Vec<String>,
    /// Ids that are on the board or in the archive.
    kept_somewhere: Vec<String>,
}

type Operation = fn(&Store, &TestProject, &mut Promise) -> Result<(), StoreError>;

fn post(store: &Store, _: &TestProject, promise: &mut Promise) -> Result<(), StoreError> {
    let entry = entry(store, "posted");
    store.post(std::slice::from_ref(&entry))?;
    promise.on_board.push(entry.id);
    Ok(())
}

fn decide(store: &Store, _: &TestProject, promise: &mut Promise) -> Result<(), StoreError> {
    let (decision, announcement) = (decision(store, "decided"), entry(store, "announced"));
    let concept = entity(store, decision.id.as_str());
    let of = AnchoredRecord::Decision(decision.id.to_string());
    let anchor = anchor(store, &of, "src/a.rs#f");
    promise.decided.push((
        decision.id.to_string(),
        announcement.id.clone(),
        concept.id.clone(),
        anchor.id.clone(),
    ));
    let change = Change {
        anchors: vec![anchor],
        entries: vec![announcement.clone()],
        decisions: vec![decision],
        entities: vec![concept],
        ..Change::default()
    };
    store.transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))?;
    promise.on_board.push(announcement.id);
    Ok(())
}

fn confirm(store: &Store, _: &TestProject, promise: &mut Promise) -> Result<(), StoreError> {
    let anchor = anchor(store, &AnchoredRecord::Node("n".to_owned()), "src/a.rs#f");
    let change = Change { anchors: vec![anchor.clone()], ..Change::default() };
    store.transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))?;
    promise.anchored.push(anchor.id);
    Ok(())
}

fn amend(store: &Store, project: &TestProject, promise: &mut Promise) -> Result<(), StoreError> {
    let seeded = array_ids(&project.path(), "decisions/index.json").unwrap_or_default();
    let Some(id) = seeded.first().and_then(|id| Id::read(id)) else { return Ok(()) };
    let set = [("status".to_owned(), "overridden".into())].into_iter().collect();
    let change = Change { amendments: vec![Amendment::new(id.clone(), set)], ..Change::default() };
    store.transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))?;
    promise.amended.insert(id.into(), "overridden".to_owned());
    Ok(())
}

fn archive(store: &Store, project: &TestProject, promise: &mut Promise) -> Result<(), StoreError> {
    let ids = board_ids(&project.path()).unwrap_or_default();
    promise.kept_somewhere.extend(ids.clone());
    let change = Change { archived: ids, ..Change::of_entries(vec![entry(store, "archived")]) };
    store.transact(Durability::Strict, |_| Ok::<_, StoreError>((change.clone(), ())))
}

fn drain(store: &Store, project: &TestProject, promise: &mut Promise) -> Result<(), StoreError> {
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(project.file("pending-posts.jsonl"))
        .expect("opens");
    file.write_all(b"queued-1\nqueued-2\n").expect("writes");
    promise.queued.extend(["queued-1".to_owned(), "queued-2".to_owned()]);
    store.queues().drain_posts(&mut |line| Ok(entry(store, line))).map(|_| ())
}

fn housekeep(store: &Store, _: &TestProject, _: &mut Promise) -> Result<(), StoreError> {
    store.housekeep()
}

/// A project with something in it, its journal not yet in its arrays.
fn lived_in(world: &FixedWorld) -> (TestProject, Promise) {
    let project = TestProject::in_memory();
    let mut promise = Promise::default();
    let store = common::store(&project, world);
    post(&store, &project, &mut promise).expect("posts");
    decide(&store, &project, &mut promise).expect("decides");
    store.housekeep().expect("works");
    decide(&store, &project, &mut promise).expect("decides");
    (project, promise)
}

fn check(project: &Path, promise: &Promise, what: &str) {
    let on_board = board_ids(project).unwrap_or_else(|e| panic!("{what}: {e}"));
    for id in &promise.on_board {
        assert_eq!(on_board.iter().filter(|found| *found == id).count(), 1, "{what}: entry {id}");
    }
    let listed =
        array_ids(project, "decisions/index.json").unwrap_or_else(|e| panic!("{what}: {e}"));
    let entities =
        array_ids(project, "graph/entities.json").unwrap_or_else(|e| panic!("{what}: {e}"));
    let anchors = anchor_ids(project).unwrap_or_else(|e| panic!("{what}: {e}"));
    for id in &promise.anchored {
        assert_eq!(anchors.iter().filter(|found| *found == id).count(), 1, "{what}: anchor {id}");
    }
    for (id, announcement, concept, anchor) in &promise.decided {
        let copies = anchors.iter().filter(|found| *found == anchor).count();
        assert!(copies <= 1, "{what}: anchor {anchor} is there {copies} times");
        let file = project.join(".twining/decisions").join(format!("{id}.json")).exists();
        let parts = [
            file,
            on_board.contains(announcement),
            entities.contains(concept),
            listed.contains(id),
            copies == 1,
        ];
        assert!(
            parts.iter().all(|part| *part == parts[0]),
            "{what}: decision {id} is half there {parts:?}"
        );
        if promise.on_board.contains(announcement) {
            assert!(file, "{what}: acknowledged decision {id} is gone");
        }
    }
    for (id, status) in &promise.amended {
        let decision = json(project, &format!("decisions/{id}.json"))
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(decision["status"], status.as_str(), "{what}");
    }
    let summaries: Vec<String> = twining_testkit::files::board(project)
        .expect("checked above")
        .iter()
        .map(|e| e["summary"].as_str().unwrap_or_default().to_owned())
        .collect();
    for queued in &promise.queued {
        assert_eq!(
            summaries.iter().filter(|found| *found == queued).count(),
            1,
            "{what}: {queued}"
        );
    }
    if !promise.kept_somewhere.is_empty() {
        let mut everywhere = on_board.clone();
        for file in
            std::fs::read_dir(project.join(".twining/archive")).into_iter().flatten().flatten()
        {
            let text = std::fs::read_to_string(file.path()).expect("reads");
            let ids: Vec<String> = text
                .lines()
                .map(|line| {
                    serde_json::from_str::<serde_json::Value>(line)
                        .unwrap_or_else(|e| panic!("{what}: {e}"))["id"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                })
                .collect();
            everywhere.extend(ids);
        }
        for id in &promise.kept_somewhere {
            assert!(
                everywhere.contains(id),
                "{what}: {id} is neither on the board nor in the archive"
            );
        }
    }
}

fn sweep(name: &str, operation: Operation) -> usize {
    let mut swept = 0;
    for outcome in OUTCOMES {
        for at in 0.. {
            let world = FixedWorld::new();
            let (project, mut promise) = lived_in(&world);
            let faults = Arc::new(Faults::at(at, outcome));
            let probed = Store::open_probed(project.place(), world.ids(), Some(faults.clone()));
            let what = format!("{name}, call {at}, {outcome:?}");
            world.pass(1);
            if let Ok(store) = &probed {
                let answer = operation(store, &project, &mut promise);
                let fired = faults.calls() > at;
                assert!(fired || answer.is_ok(), "{what}: failed without a fault: {answer:?}");
                if fired && matches!(outcome, FaultOutcome::Fails(_) | FaultOutcome::Tears(_)) {
                    // The process lives on and goes on working.
                    operation(store, &project, &mut promise)
                        .unwrap_or_else(|e| panic!("{what}: afterwards: {e}"));
                }
            }
            let calls = faults.calls();
            drop(probed);
            // A new process comes, finds what there is, and works.
            let store = common::store(&project, &world);
            post(&store, &project, &mut promise)
                .unwrap_or_else(|e| panic!("{what}: next process: {e}"));
            decide(&store, &project, &mut promise)
                .unwrap_or_else(|e| panic!("{what}: next process: {e}"));
            store
                .queues()
                .drain_posts(&mut |line| Ok(entry(&store, line)))
                .unwrap_or_else(|e| panic!("{what}: next drain: {e}"));
            store.housekeep().unwrap_or_else(|e| panic!("{what}: next housekeeping: {e}"));
            if name == "archive" {
                // Archiving again is what completes an archive that was cut short.
                archive(&store, &project, &mut promise)
                    .unwrap_or_else(|e| panic!("{what}: next archive: {e}"));
                promise.on_board.retain(|id| !promise.kept_somewhere.contains(id));
            }
            if name == "drain" {
                promise.queued.sort();
                promise.queued.dedup();
                let twice = matches!(outcome, FaultOutcome::Fails(_) | FaultOutcome::Tears(_));
                if twice {
                    promise.queued.clear();
                }
            }
            if name != "archive" {
                check(&project.path(), &promise, &what);
            } else {
                promise.decided.clear();
                check(&project.path(), &promise, &what);
            }
            if calls <= at {
                break;
            }
            swept += 1;
        }
    }
    swept
}

#[test]
fn r7_posting_survives_a_fault_at_every_call() {
    assert!(sweep("post", post) > 50);
}

#[test]
fn r7_deciding_survives_a_fault_at_every_call() {
    assert!(sweep("decide", decide) > 100);
}

#[test]
fn r7_anchoring_survives_a_fault_at_every_call() {
    assert!(sweep("confirm", confirm) > 50);
}

#[test]
fn r7_amending_survives_a_fault_at_every_call() {
    assert!(sweep("amend", amend) > 100);
}

#[test]
fn r7_archiving_survives_a_fault_at_every_call() {
    assert!(sweep("archive", archive) > 100);
}

#[test]
fn r7_draining_survives_a_fault_at_every_call() {
    assert!(sweep("drain", drain) > 50);
}

#[test]
fn r7_housekeeping_survives_a_fault_at_every_call() {
    assert!(sweep("housekeep", housekeep) > 100);
}

/// Refuses every change of the files with one name, as a folder does that belongs to somebody else.
struct Forbidden {
    name: &'static str,
    is_on: AtomicBool,
}

impl Probe for Forbidden {
    fn before(&self, op: DiskOp, name: &str) -> Fault {
        let is_change = matches!(
            op,
            DiskOp::Create | DiskOp::Write | DiskOp::SetLen | DiskOp::Rename | DiskOp::Remove
        );
        let is_meant = is_change && name.ends_with(self.name) && self.is_on.load(Ordering::SeqCst);
        if is_meant { Fault::Fail(EACCES) } else { Fault::None }
    }
}

#[test]
fn a_refused_decision_is_not_carried_out_by_the_next_writer() {
    each(["entities.json", "index.json", "anchors.jsonl", "blackboard.jsonl"], |name| {
        let world = FixedWorld::new();
        let (project, mut promise) = lived_in(&world);
        let probe = Arc::new(Forbidden { name, is_on: AtomicBool::new(true) });
        let store =
            Store::open_probed(project.place(), world.ids(), Some(probe.clone())).expect("opens");
        world.pass(1);
        let refused = decide(&store, &project, &mut promise).expect_err("cannot be written");
        assert_eq!(refused.code(), "FILE_WRITE_ERROR", "{name}");
        let (id, announcement, concept, anchor) =
            promise.decided.last().cloned().expect("was tried");
        let assert_nothing_of_it = || {
            assert!(
                !project.path().join(format!(".twining/decisions/{id}.json")).exists(),
                "{name}"
            );
            assert!(!board_ids(&project.path()).expect("reads").contains(&announcement), "{name}");
            assert!(!anchor_ids(&project.path()).expect("reads").contains(&anchor), "{name}");
            assert!(
                !array_ids(&project.path(), "graph/entities.json")
                    .expect("reads")
                    .contains(&concept),
                "{name}"
            );
            assert!(
                !array_ids(&project.path(), "decisions/index.json").expect("reads").contains(&id),
                "{name}"
            );
        };
        assert_nothing_of_it();
        probe.is_on.store(false, Ordering::SeqCst);
        post(&store, &project, &mut promise).expect("posts");
        amend(&store, &project, &mut promise).expect("amends");
        assert_nothing_of_it();
    });
}
