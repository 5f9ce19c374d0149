//! A stretch of a log in fewer lines: a folder that takes it in ends as one that takes in every
//! line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use twining_store::disk::Probe;
use twining_store::{Durability, LogLine, Store, StoreError, condense};
use twining_testkit::faults::{EIO, FaultOutcome, Faults};
use twining_testkit::files::shared_state;
use twining_testkit::memory::entry;
use twining_testkit::{MemoryLog, TestProject, ids};

use crate::following::{Follower, Step, change_of, step};

/// Everything that is shared, and what is archived.
fn state_of(project: &TestProject, store: &Store) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let archived = store.documents().archived_ids().expect("reads").into_iter().collect();
    (shared_state(&project.path()), archived)
}

/// A log that these steps made.
fn log_of(steps: &[Step]) -> Vec<LogLine> {
    let log = Arc::new(MemoryLog::default());
    let writer = Follower::new(&log);
    for step in steps {
        let change = change_of(step, &writer.store, &log.all());
        writer
            .store
            .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
            .expect("writes");
    }
    log.all()
}

fn take_in(store: &Store, lines: &[LogLine]) {
    let (Some(first), Some(condensed)) = (lines.first(), condense(lines)) else { return };
    assert!(condensed.changes.len() <= 2);
    assert!(store.follower().take_in_condensed(first.seq - 1, condensed).expect("takes it in"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("CI").is_some() { 24 } else { 48 }))]

    #[test]
    fn condensed_and_following_lines_make_what_the_whole_log_makes(
        steps in proptest::collection::vec(step(), 1..40),
        cuts in (0..40_usize, 0..40_usize),
    ) {
        let lines = log_of(&steps);
        let (one, two) = (cuts.0.min(cuts.1).min(lines.len()), cuts.0.max(cuts.1).min(lines.len()));
        let (whole, parts) = (TestProject::in_memory(), TestProject::in_memory());
        let by_line = Store::open(whole.place(), ids()).expect("opens");
        for line in &lines {
            by_line.follower().take_in(std::slice::from_ref(line)).expect("takes it in");
        }
        let condensed = Store::open(parts.place(), ids()).expect("opens");
        take_in(&condensed, &lines[..one]);
        for line in &lines[one..two] {
            condensed.follower().take_in(std::slice::from_ref(line)).expect("takes it in");
        }
        take_in(&condensed, &lines[two..]);
        prop_assert_eq!(condensed.follower().position().expect("knows"), lines.len() as u64);
        prop_assert_eq!(state_of(&parts, &condensed), state_of(&whole, &by_line));
    }
}

#[test]
fn a_process_that_ends_anywhere_while_it_takes_in_a_stretch_loses_and_doubles_nothing() {
    let lines = log_of(&[
        Step::Decide,
        Step::Entity(1),
        Step::Post,
        Step::Trace,
        Step::Amend(0),
        Step::Archive(1),
    ]);
    let whole = TestProject::in_memory();
    let store = Store::open(whole.place(), ids()).expect("opens");
    take_in(&store, &lines);
    let made = state_of(&whole, &store);
    for outcome in [FaultOutcome::Fails(EIO), FaultOutcome::Dies, FaultOutcome::DiesHalfWay] {
        for at in 0.. {
            let project = TestProject::in_memory();
            let faults = Arc::new(Faults::at(at, outcome));
            let probe: Arc<dyn Probe> = faults.clone();
            let condensed = condense(&lines).expect("has lines");
            let taken = Store::open_probed(project.place(), ids(), Some(probe))
                .and_then(|store| store.follower().take_in_condensed(0, condensed));
            drop(taken);
            let store = Store::open(project.place(), ids()).expect("opens");
            if store.follower().position().expect("knows") == 0 {
                take_in(&store, &lines);
            }
            store.housekeep().expect("finishes");
            assert_eq!(state_of(&project, &store), made, "{outcome:?} at call {at}");
            if faults.calls() <= at {
                break;
            }
        }
    }
}

#[test]
fn a_stretch_is_refused_where_something_waits_or_the_folder_is_elsewhere() {
    let lines = log_of(&[Step::Post, Step::Post, Step::Decide]);
    let project = TestProject::in_memory();
    let store = Store::open(project.place(), ids()).expect("opens");
    let take = |after: u64, lines: &[LogLine]| {
        let condensed = condense(lines).expect("has lines");
        store.follower().take_in_condensed(after, condensed).expect("answers")
    };
    assert!(!take(1, &lines[1..]), "the folder lacks the first line");
    assert!(take(0, &lines[..1]));
    assert!(!take(0, &lines[..1]), "it has it already");
    store.outbox().create().expect("links");
    store.post(&[entry(&store, "waits")]).expect("posts");
    assert!(!take(1, &lines[1..]), "the log may have what waits");
    let waiting = store.outbox().state().expect("reads").waiting;
    assert_eq!((waiting, store.follower().position().expect("knows")), (1, 1));
    assert_eq!(condense(&[]), None);
}
