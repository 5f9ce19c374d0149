//! The file of vectors on a disk that fails at every call: what can be read is
//! what was written, whole, and the next writer goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use twining_store::{
    Store, StoreError, VECTOR_BYTES, VectorBytes, VectorCursor, VectorReadOutcome,
};
use twining_testkit::faults::{EIO, ENOSPC};
use twining_testkit::memory::{note, store};
use twining_testkit::{FaultOutcome, Faults, FixedWorld, TestProject};

const MODEL: u64 = 7;
const FILE: &str = "local/vectors-0000000000000007.bin";
const OUTCOMES: [FaultOutcome; 5] = [
    FaultOutcome::Fails(EIO),
    FaultOutcome::Fails(ENOSPC),
    FaultOutcome::Tears(ENOSPC),
    FaultOutcome::Dies,
    FaultOutcome::DiesHalfWay,
];

fn vector(fill: u8) -> VectorBytes {
    [fill; VECTOR_BYTES]
}

fn append(store: &Store, model: u64, fills: &[u8]) -> Result<(), StoreError> {
    let rows: Vec<(u64, VectorBytes)> =
        fills.iter().map(|fill| (u64::from(*fill), vector(*fill))).collect();
    store.vectors(model, |file| file.append(&rows)).map(|_| ())
}

fn read_on(
    store: &Store,
    model: u64,
    cursor: &mut VectorCursor,
) -> (Option<VectorReadOutcome>, BTreeMap<u64, VectorBytes>) {
    let mut rows = BTreeMap::new();
    let mut keep = |name, bytes: &VectorBytes| {
        rows.insert(name, *bytes);
    };
    let read = store.vectors(model, |file| file.read_new(cursor, &mut keep)).expect("reads");
    (read, rows)
}

fn names(store: &Store, model: u64) -> Vec<u64> {
    let (_, rows) = read_on(store, model, &mut VectorCursor::default());
    for (name, bytes) in &rows {
        assert!(
            bytes.iter().all(|byte| u64::from(*byte) == *name),
            "the row of {name} is not the one that was written"
        );
    }
    rows.into_keys().collect()
}

/// A memory that is there, so that it has a place for vectors.
fn lived_in(world: &FixedWorld) -> TestProject {
    let project = TestProject::in_memory();
    note(&store(&project, world), "here before");
    project
}

#[test]
fn whichever_call_fails_what_was_appended_before_is_read_and_the_next_append_goes_on() {
    let world = FixedWorld::new();
    for begun in [false, true] {
        for outcome in OUTCOMES {
            for at in 0.. {
                let project = lived_in(&world);
                if begun {
                    append(&store(&project, &world), MODEL, &[1, 2]).expect("appends");
                }
                let faults = Arc::new(Faults::at(at, outcome));
                let failed = Store::open_probed(project.place(), world.ids(), Some(faults.clone()))
                    .map_or_else(|_| true, |store| append(&store, MODEL, &[3, 4]).is_err());
                let survivor = store(&project, &world);
                let found = names(&survivor, MODEL);
                let what = format!("begun {begun}, call {at}, {outcome:?}: {found:?}");
                assert!(!begun || found.starts_with(&[1, 2]), "{what}");
                assert!(failed || found.ends_with(&[3, 4]), "{what}");
                append(&survivor, MODEL, &[5]).expect("the next writer goes on");
                assert_eq!(names(&survivor, MODEL).last(), Some(&5), "{what}");
                if faults.calls() <= at {
                    break;
                }
            }
        }
    }
}

#[test]
fn whichever_call_fails_a_rewrite_leaves_the_old_rows_or_the_new() {
    let world = FixedWorld::new();
    for outcome in OUTCOMES {
        for at in 0.. {
            let project = lived_in(&world);
            append(&store(&project, &world), MODEL, &[1, 2, 3]).expect("appends");
            let faults = Arc::new(Faults::at(at, outcome));
            if let Ok(store) =
                Store::open_probed(project.place(), world.ids(), Some(faults.clone()))
            {
                let _ = store.vectors(MODEL, |file| file.rewrite(&[(2, vector(2))]));
            }
            let found = names(&store(&project, &world), MODEL);
            assert!(found == [1, 2, 3] || found == [2], "call {at}, {outcome:?}: {found:?}");
            if faults.calls() <= at {
                break;
            }
        }
    }
}

#[test]
fn a_reader_follows_a_writer_over_a_torn_tail() {
    let world = FixedWorld::new();
    let project = lived_in(&world);
    let store = store(&project, &world);
    append(&store, MODEL, &[1]).expect("appends");
    let mut cursor = VectorCursor::default();
    assert_eq!(read_on(&store, MODEL, &mut cursor).1.into_keys().collect::<Vec<_>>(), [1]);
    let file = project.file(FILE);
    let mut bytes = std::fs::read(&file).expect("there");
    bytes.extend([9; 77]);
    std::fs::write(&file, bytes).expect("writes");
    assert!(read_on(&store, MODEL, &mut cursor).1.is_empty(), "half a row is none");
    append(&store, MODEL, &[2, 3]).expect("appends");
    assert_eq!(read_on(&store, MODEL, &mut cursor).1.into_keys().collect::<Vec<_>>(), [2, 3]);
    assert_eq!(names(&store, MODEL), [1, 2, 3]);
}

#[test]
fn two_models_on_one_folder_keep_their_own_rows() {
    let world = FixedWorld::new();
    let project = lived_in(&world);
    let store = store(&project, &world);
    append(&store, MODEL, &[1, 2]).expect("appends");
    assert!(names(&store, MODEL + 1).is_empty());
    let mut cursor = VectorCursor::default();
    read_on(&store, MODEL, &mut cursor);
    append(&store, MODEL + 1, &[3]).expect("appends");
    assert_eq!((names(&store, MODEL), names(&store, MODEL + 1)), (vec![1, 2], vec![3]));
    let is_read = store.vectors(MODEL, |file| file.is_read(&cursor)).expect("looks");
    assert_eq!(is_read, Some(true), "a reader of one model has nothing to read again");
}

#[test]
fn two_models_make_their_vectors_at_the_same_time() {
    let world = FixedWorld::new();
    let project = lived_in(&world);
    let (one, other) = (store(&project, &world), store(&project, &world));
    let has_turn = |model: u64| {
        other.vectors(model, |file| Ok(file.try_embedding_lock()?.is_some())).expect("asks")
    };
    one.vectors(MODEL, |file| {
        let _turn = file.try_embedding_lock()?;
        assert_eq!((has_turn(MODEL), has_turn(MODEL + 1)), (Some(false), Some(true)));
        Ok(())
    })
    .expect("has the turn");
}

#[test]
fn rows_of_a_model_go_when_nobody_wrote_any_for_a_month() {
    let world = FixedWorld::new();
    let project = lived_in(&world);
    append(&store(&project, &world), MODEL, &[1]).expect("appends");
    std::fs::write(project.file("local/vectors.bin"), "of the first model").expect("writes");
    let aged = |days: u64, name: &str| {
        let file = std::fs::File::options().append(true).open(project.file(name)).expect("opens");
        let written = file.metadata().and_then(|about| about.modified()).expect("has a time");
        let then = written - std::time::Duration::from_secs(days * 86_400);
        file.set_modified(then).expect("sets its time");
    };
    aged(29, FILE);
    aged(31, "local/vectors.bin");
    append(&store(&project, &world), MODEL + 1, &[2]).expect("appends");
    assert!(!project.file("local/vectors.bin").exists(), "out of use");
    assert_eq!(names(&store(&project, &world), MODEL), [1], "in use");
    aged(31, FILE);
    append(&store(&project, &world), MODEL + 1, &[3]).expect("appends");
    assert!(names(&store(&project, &world), MODEL).is_empty());
    assert_eq!(names(&store(&project, &world), MODEL + 1), [2, 3]);
}

#[test]
fn a_reader_notices_that_the_file_was_replaced_or_removed() {
    let world = FixedWorld::new();
    let project = lived_in(&world);
    let store = store(&project, &world);
    append(&store, MODEL, &[1, 2, 3]).expect("appends");
    let mut cursor = VectorCursor::default();
    read_on(&store, MODEL, &mut cursor);
    store.vectors(MODEL, |file| file.rewrite(&[(2, vector(2))])).expect("rewrites");
    assert_eq!(read_on(&store, MODEL, &mut cursor).0, Some(VectorReadOutcome::Replaced));
    assert_eq!(read_on(&store, MODEL, &mut cursor).1.into_keys().collect::<Vec<_>>(), [2]);
    std::fs::remove_file(project.file(FILE)).expect("removes");
    assert_eq!(read_on(&store, MODEL, &mut cursor).0, Some(VectorReadOutcome::Replaced));
    assert_eq!(
        read_on(&store, MODEL, &mut cursor),
        (Some(VectorReadOutcome::Done), BTreeMap::new())
    );
}
