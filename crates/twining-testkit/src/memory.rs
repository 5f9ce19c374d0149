//! A memory to write to, and records made by its own clock.

use crate::project::TestProject;
use crate::records;
use crate::world::FixedWorld;
use twining_model::{Anchor, AnchoredRecord, Change, Decision, Entity, Entry, Id};
use twining_store::{Durability, Store, StoreError};

/// The store of a project.
#[must_use]
pub fn store(project: &TestProject, world: &FixedWorld) -> Store {
    Store::open(project.place(), world.ids()).expect("the folder can be opened")
}

/// A finding.
#[must_use]
pub fn entry(store: &Store, summary: &str) -> Entry {
    records::entry(store.ids(), summary)
}

/// Posts one entry and returns its id.
pub fn note(store: &Store, summary: &str) -> String {
    let entry = entry(store, summary);
    store.post(std::slice::from_ref(&entry)).expect("the board takes it");
    entry.id
}

/// An active decision.
#[must_use]
pub fn decision(store: &Store, summary: &str) -> Decision {
    records::decision(store.ids(), summary)
}

/// A concept.
#[must_use]
pub fn entity(store: &Store, name: &str) -> Entity {
    records::entity(store.ids(), name)
}

/// An anchor of a record.
#[must_use]
pub fn anchor(store: &Store, of: &AnchoredRecord, at: &str) -> Anchor {
    records::anchor(store.ids(), of, at)
}

/// A decision with all that comes with one: announced, and in the graph.
pub fn decide(store: &Store, summary: &str) -> Id {
    let (decision, concept) = (decision(store, summary), entity(store, summary));
    let id = decision.id.clone();
    let relation = records::relation(store.ids(), &concept.id, &concept.id);
    let change = Change {
        entries: vec![entry(store, summary)],
        decisions: vec![decision],
        entities: vec![concept],
        relations: vec![relation],
        ..Change::default()
    };
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("decides");
    id
}
