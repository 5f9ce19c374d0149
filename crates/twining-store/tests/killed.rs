//! Whoever is killed in the middle of a write wrote in Twining's name: nobody is
//! asked about it afterwards.

use std::sync::Arc;

use twining_model::{Amendment, Change, Id};
use twining_store::{AgentChange, Archival, Durability, Store, StoreError};
use twining_testkit::files::{array_ids, board_ids};
use twining_testkit::memory::{decision, entity, entry, note};
use twining_testkit::{Faults, Outcome, TestProject};

type Deed = fn(&Store, &TestProject) -> Result<(), StoreError>;

const DEEDS: [(&str, Deed); 6] = [
    ("post", |store, _| store.post(&[entry(store, "one"), entry(store, "two")])),
    ("decide", |store, _| {
        let made = decision(store, "decided");
        let concept = entity(store, made.id.as_str());
        let change =
            Change { entries: vec![entry(store, "announced")], decisions: vec![made], entities: vec![concept], ..Change::default() };
        store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change, ())))?;
        store.housekeep()
    }),
    ("amend", |store, project| {
        let ids = array_ids(&project.path(), "decisions/index.json").expect("is there");
        let id = ids.first().and_then(|id| Id::read(id)).expect("one was decided");
        let set = [("status".to_owned(), "overridden".into())].into_iter().collect();
        let change = Change { amendments: vec![Amendment { id, set }], ..Change::default() };
        store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change, ())))
    }),
    ("archive", |store, project| {
        let ids = board_ids(&project.path()).unwrap_or_default();
        store.archive::<StoreError>(|_| Ok(Archival { ids, summary: Some(entry(store, "archived")) })).map(drop)
    }),
    ("claim", |store, _| {
        store.transact_agents::<_, StoreError>(|_| Ok((AgentChange { claims: Some("[]\n".into()), ..AgentChange::default() }, ())))
    }),
    ("housekeep", |store, _| store.housekeep()),
];

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

#[test]
fn a_write_that_was_cut_short_is_nobody_else_s() {
    for (name, deed) in DEEDS {
        for outcome in [Outcome::Dies, Outcome::DiesHalfWay] {
            for at in 0.. {
                let project = seeded();
                let faults = Arc::new(Faults::at(at, outcome));
                let store = Store::open_probed(project.place(), twining_testkit::ids(), Some(Arc::clone(&faults) as _)).expect("opens");
                let _ = deed(&store, &project);
                let calls = faults.calls();
                drop(store);
                let next = Store::open(project.place(), twining_testkit::ids()).expect("opens");
                let audit = next.audit().expect("compares");
                assert_eq!(audit.differences, [], "{name} {outcome:?} at call {at}: {:?}", faults.log().last());
                if calls <= at {
                    break;
                }
            }
        }
    }
}
