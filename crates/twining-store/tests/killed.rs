//! Whoever is killed in the middle of a write wrote in Twining's name: nobody is
//! asked about it afterwards.

use std::sync::Arc;

use twining_model::{Amendment, Change, Id};
use twining_store::disk::Op;
use twining_store::{AgentChange, Archival, Durability, Store, StoreError};
use twining_testkit::files::{array_ids, board_ids};
use twining_testkit::memory::{decision, entity, entry, note};
use twining_testkit::{Faults, Outcome, TestProject};

type Deed = fn(&Store, &TestProject) -> Result<(), StoreError>;

fn post(store: &Store, _: &TestProject) -> Result<(), StoreError> {
    store.post(&[entry(store, "one"), entry(store, "two")])
}

fn decide(store: &Store, _: &TestProject) -> Result<(), StoreError> {
    let made = decision(store, "decided");
    let concept = entity(store, made.id.as_str());
    let change = Change { entries: vec![entry(store, "announced")], decisions: vec![made], entities: vec![concept], ..Change::default() };
    store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change, ())))?;
    store.housekeep()
}

fn amend(store: &Store, project: &TestProject) -> Result<(), StoreError> {
    let ids = array_ids(&project.path(), "decisions/index.json").expect("is there");
    let id = ids.first().and_then(|id| Id::read(id)).expect("one was decided");
    let set = [("status".to_owned(), "overridden".into())].into_iter().collect();
    let change = Change { amendments: vec![Amendment { id, set }], ..Change::default() };
    store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change, ())))
}

fn archive(store: &Store, project: &TestProject) -> Result<(), StoreError> {
    let ids = board_ids(&project.path()).unwrap_or_default();
    store.archive::<StoreError>(|_| Ok(Archival { ids, summary: Some(entry(store, "archived")) })).map(drop)
}

fn claim(store: &Store, _: &TestProject) -> Result<(), StoreError> {
    store.transact_agents::<_, StoreError>(|_| Ok((AgentChange { claims: Some("[]\n".into()), ..AgentChange::default() }, ())))
}

/// A memory that was looked at, with a decision on its way into the arrays.
fn seeded() -> TestProject {
    let project = TestProject::new();
    let store = Store::open(project.place(), twining_testkit::ids()).expect("opens");
    note(&store, "before");
    let made = decision(&store, "before");
    let concept = entity(&store, made.id.as_str());
    let change = Change { decisions: vec![made], entities: vec![concept], ..Change::default() };
    store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change, ()))).expect("decides");
    store.housekeep().expect("works");
    assert_eq!(store.audit().expect("compares").differences, []);
    let later = entity(&store, "later");
    let change = Change { entities: vec![later], ..Change::default() };
    store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change, ()))).expect("adds");
    project
}

/// Tries a deed, with the process dying at one of its calls.
fn tried(deed: Deed, at: usize, outcome: Outcome) -> (TestProject, Arc<Faults>) {
    let project = seeded();
    let faults = Arc::new(Faults::at(at, outcome));
    let store = Store::open_probed(project.place(), twining_testkit::ids(), Some(Arc::clone(&faults) as _)).expect("opens");
    let _ = deed(&store, &project);
    (project, faults)
}

fn survives(deed: Deed) {
    let (_, whole) = tried(deed, usize::MAX, Outcome::Dies);
    let changes = |op: &Op| matches!(op, Op::Write | Op::Rename | Op::Remove | Op::SetLen);
    let log = whole.log();
    for at in (0..log.len()).filter(|at| changes(&log[*at].0)) {
        for outcome in [Outcome::Dies, Outcome::DiesHalfWay] {
            let (project, _) = tried(deed, at, outcome);
            let next = Store::open(project.place(), twining_testkit::ids()).expect("opens");
            assert_eq!(next.audit().expect("compares").differences, [], "{outcome:?} at call {at}: {:?}", log[at]);
        }
    }
}

#[test]
fn a_post_that_was_cut_short_is_nobody_else_s() {
    survives(post);
}

#[test]
fn a_decision_that_was_cut_short_is_nobody_else_s() {
    survives(decide);
}

#[test]
fn an_amendment_that_was_cut_short_is_nobody_else_s() {
    survives(amend);
}

#[test]
fn an_archive_that_was_cut_short_is_nobody_else_s() {
    survives(archive);
}

#[test]
fn a_claim_that_was_cut_short_is_nobody_else_s() {
    survives(claim);
}

#[test]
fn housekeeping_that_was_cut_short_is_nobody_else_s() {
    survives(|store, _| store.housekeep());
}
