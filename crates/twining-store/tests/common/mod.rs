//! Records for tests, made by the store under test.
#![expect(dead_code, reason = "each test file uses its own part")]

use twining_model::{Decision, Entity, Entry};
use twining_store::Store;
use twining_testkit::{FixedWorld, TestProject, records};

pub fn store(project: &TestProject, world: &FixedWorld) -> Store {
    Store::open(project.place(), world.ids()).expect("the folder can be opened")
}

pub fn entry(store: &Store, summary: &str) -> Entry {
    records::entry(store.ids(), summary)
}

/// Posts one entry and returns its id.
pub fn note(store: &Store, summary: &str) -> String {
    let entry = entry(store, summary);
    store.post(std::slice::from_ref(&entry)).expect("the board takes it");
    entry.id
}

pub fn decision(store: &Store, summary: &str) -> Decision {
    records::decision(store.ids(), summary)
}

pub fn entity(store: &Store, name: &str) -> Entity {
    records::entity(store.ids(), name)
}
