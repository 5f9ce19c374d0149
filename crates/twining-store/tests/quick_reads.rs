//! A process that has milliseconds checks the decisions' folder, and the files of the decisions it
//! returns.

use std::fs::{self, File};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use twining_model::{Change, Id};
use twining_store::disk::{DiskOp, Fault, Probe};
use twining_store::{Durability, Store, StoreError};
use twining_testkit::memory::{decision, store};
use twining_testkit::{FixedWorld, TestProject};

/// Counts how often files of decisions are looked at.
#[derive(Default)]
struct Looks(AtomicUsize);

impl Probe for Looks {
    fn before(&self, op: DiskOp, name: &str) -> Fault {
        if op == DiskOp::Stat
            && name.strip_suffix(".json").is_some_and(|stem| Id::read(stem).is_some())
        {
            self.0.fetch_add(1, Ordering::AcqRel);
        }
        Fault::None
    }
}

/// A project with some decisions, all of them looked through some time ago.
struct ScanFixture {
    project: TestProject,
    world: FixedWorld,
    ids: Vec<Id>,
}

impl ScanFixture {
    fn new() -> Self {
        let mut scene =
            Self { project: TestProject::new(), world: FixedWorld::new(), ids: Vec::new() };
        for n in 0..5 {
            scene.decide(&format!("choice {n}"));
        }
        scene.look();
        scene
    }

    fn process(&self) -> Store {
        store(&self.project, &self.world)
    }

    fn decide(&mut self, summary: &str) {
        let store = self.process();
        let change = Change { decisions: vec![decision(&store, summary)], ..Change::default() };
        self.ids.push(change.decisions[0].id.clone());
        store
            .transact::<_, StoreError>(Durability::Normal, |_| Ok((change.clone(), ())))
            .expect("writes");
        store.housekeep().expect("works");
    }

    /// Lets the folder rest, and a process look through it.
    fn look(&self) {
        let folder = File::open(self.project.file("decisions")).expect("opens");
        folder.set_modified(SystemTime::UNIX_EPOCH).expect("dates it back");
        self.process().view::<_, StoreError>(|_| Ok(())).expect("reads");
    }

    /// Returns what a process that cites `told` finds without a scan, and how many decision files
    /// it checked.
    fn view_without_scan(&self, told: &[Id]) -> (Vec<String>, usize) {
        let looks = Arc::new(Looks::default());
        let store = Store::open_probed(self.project.place(), self.world.ids(), Some(looks.clone()))
            .expect("opens");
        let found = store.view_without_scan::<_, StoreError>(
            |view| {
                let found = self
                    .ids
                    .iter()
                    .map(|id| view.decisions().get(id))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(found.into_iter().flatten().map(|decision| decision.summary).collect::<Vec<_>>())
            },
            |_| told.to_vec(),
        );
        (found.expect("reads"), looks.0.load(Ordering::Acquire))
    }

    /// Writes into a decision's file, as some editors do.
    fn edit_in_place(&self, id: &Id, from: &str, to: &str) {
        let path = self.project.file(&format!("decisions/{id}.json"));
        let text = fs::read_to_string(&path).expect("reads").replace(from, to);
        fs::write(path, text).expect("writes");
    }
}

#[test]
fn only_what_is_told_is_looked_at() {
    let scene = ScanFixture::new();
    let (found, looks) = scene.view_without_scan(&scene.ids[..2]);
    assert_eq!(found, ["choice 0", "choice 1", "choice 2", "choice 3", "choice 4"]);
    assert_eq!(looks, 2, "of five");
}

#[test]
fn what_came_went_or_was_replaced_is_seen() {
    let mut scene = ScanFixture::new();
    scene.decide("a sixth");
    assert_eq!(scene.view_without_scan(&[]).0.last().map(String::as_str), Some("a sixth"));
    scene.look();
    fs::remove_file(scene.project.file(&format!("decisions/{}.json", scene.ids[0])))
        .expect("removes");
    assert_eq!(
        scene.view_without_scan(&[]).0,
        ["choice 1", "choice 2", "choice 3", "choice 4", "a sixth"]
    );
    scene.look();
    let path = scene.project.file(&format!("decisions/{}.json", scene.ids[1]));
    let text = fs::read_to_string(&path).expect("reads").replace("choice 1", "choice A");
    fs::write(scene.project.file("decisions/swap"), text).expect("writes");
    fs::rename(scene.project.file("decisions/swap"), path).expect("renames");
    assert_eq!(scene.view_without_scan(&[]).0[0], "choice A");
}

#[test]
fn what_was_edited_in_place_is_seen_where_it_is_told_and_by_whoever_looks_through_all() {
    let scene = ScanFixture::new();
    scene.edit_in_place(&scene.ids[3], "choice 3", "choice X");
    assert_eq!(scene.view_without_scan(&scene.ids[..1]).0[3], "choice 3", "the price of a glance");
    assert_eq!(scene.view_without_scan(&scene.ids).0[3], "choice X");
    scene.edit_in_place(&scene.ids[2], "choice 2", "choice Y");
    scene.process().view::<_, StoreError>(|_| Ok(())).expect("reads");
    assert_eq!(scene.view_without_scan(&[]).0[2], "choice Y");
}

#[test]
fn a_folder_that_changed_a_moment_before_it_was_looked_through_is_looked_through_again() {
    let scene = ScanFixture::new();
    fs::write(scene.project.file("decisions/passing"), "").expect("writes");
    fs::remove_file(scene.project.file("decisions/passing")).expect("removes");
    scene.process().view::<_, StoreError>(|_| Ok(())).expect("reads");
    let (_, looks) = scene.view_without_scan(&[]);
    assert!(looks >= scene.ids.len(), "{looks} looks");
}

#[test]
fn a_note_of_a_look_that_came_from_elsewhere_counts_for_nothing() {
    let scene = ScanFixture::new();
    let note = scene.project.file("local/index.looked");
    let theirs = fs::read_to_string(&note).expect("was written").replacen("local ", "local 1", 1);
    fs::write(note, theirs).expect("writes");
    let (_, looks) = scene.view_without_scan(&[]);
    assert!(looks >= scene.ids.len(), "{looks} looks");
}
