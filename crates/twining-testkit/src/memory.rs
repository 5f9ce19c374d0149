//! A memory to write to, and records made by its own clock.

use crate::{FixedWorld, TestProject, records};
use twining_model::{Decision, Entity, Entry};
use twining_store::Store;

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
