//! The feature list and the record of runs: who owns the list, what replaces it, and what a failing
//! disk leaves behind.

use std::fs;
use std::sync::Arc;
use twining_testcases::each;

use twining_model::{Change, limits};
use twining_store::{Documents, Durability, Store, StoreError, TextFile, disk};
use twining_testkit::faults::{EIO, ENOSPC};
use twining_testkit::{FaultOutcome, Faults, TestProject, ids};

fn store(project: &TestProject) -> Store {
    Store::open(project.place(), ids()).expect("opens")
}

fn write(store: &Store, list: &str) -> Result<(), StoreError> {
    store.transact_on(Durability::Strict, Documents::features, |shelf| {
        let runs = vec!["{}".to_owned()];
        Ok((Change { runs, ..Change::of_document(&shelf.path, Some(list.to_owned())) }, ()))
    })
}

#[test]
fn a_link_in_place_of_the_list_is_not_followed() {
    let project = TestProject::new();
    let store = store(&project);
    write(&store, "[]").expect("writes");
    let outside = TestProject::new();
    fs::write(outside.path().join("list.json"), "[1]").expect("writes");
    fs::remove_file(project.file("features.json")).expect("removes");
    std::os::unix::fs::symlink(outside.path().join("list.json"), project.file("features.json"))
        .expect("links");
    assert!(matches!(store.documents().features().expect("reads").file, TextFile::Unusable(_)));
    write(&store, "[2]").expect("replaces the link, not what it leads to");
    assert_eq!(fs::read_to_string(outside.path().join("list.json")).expect("reads"), "[1]");
}

#[test]
fn a_list_in_a_linked_folder_is_left_to_whoever_linked_it() {
    let (project, outside) = (TestProject::new(), TestProject::new());
    fs::create_dir_all(outside.path().join("progress")).expect("makes");
    fs::write(outside.path().join("progress/feature-list.json"), "[1]").expect("writes");
    std::os::unix::fs::symlink(outside.path(), project.path().join(".claude")).expect("links");
    let store = store(&project);
    assert_eq!(store.documents().features().expect("reads").file, TextFile::Missing);
    write(&store, "[2]").expect("writes");
    assert_eq!(
        fs::read_to_string(outside.path().join("progress/feature-list.json")).expect("reads"),
        "[1]"
    );
    assert_eq!(fs::read_to_string(project.file("features.json")).expect("reads"), "[2]");
}

#[test]
fn a_list_that_is_too_large_or_no_text_is_told_and_not_written_over() {
    let project = TestProject::new();
    let other = project.path().join(".claude/progress");
    fs::create_dir_all(&other).expect("makes");
    each([vec![b' '; limits::FEATURES_BYTES + 1], vec![0xFF, 0xFE]], |bytes| {
        fs::write(other.join("feature-list.json"), &bytes).expect("writes");
        let shelf = store(&project).documents().features().expect("reads");
        assert!(matches!(shelf.file, TextFile::Unusable(_)), "{}", bytes.len());
        assert_eq!(shelf.path, ".claude/progress/feature-list.json");
    });
    assert!(write(&store(&project), &" ".repeat(limits::FEATURES_BYTES + 1)).is_err());
}

/// Where runs are kept: in the folder named after this very `local/`.
fn runs_of(project: &TestProject) -> std::path::PathBuf {
    let folders = fs::read_dir(project.file("local")).expect("a folder").filter_map(Result::ok);
    let own = folders.map(|entry| entry.path()).find(|path| path.join("runs.jsonl").is_file());
    own.expect("runs are kept").join("runs.jsonl")
}

#[test]
fn runs_that_came_with_a_clone_are_nobodys() {
    let project = TestProject::new();
    let store = store(&project);
    write(&store, "[]").expect("writes");
    let own = runs_of(&project);
    let elsewhere = project.file("local/own-0123456789abcdef");
    fs::create_dir(&elsewhere).expect("makes it");
    for forged in [project.file("local/runs.jsonl"), elsewhere.join("runs.jsonl")] {
        fs::write(forged, "{\"forged\":1}\n").expect("writes");
    }
    assert_eq!(store.documents().features().expect("reads").runs, "{}\n");
    fs::remove_file(own).expect("removes");
    assert_eq!(store.documents().features().expect("reads").runs, "");
}

#[test]
fn a_torn_line_takes_no_other_with_it() {
    let project = TestProject::new();
    let store = store(&project);
    write(&store, "[]").expect("writes");
    let whole = fs::read_to_string(runs_of(&project)).expect("is there");
    fs::write(runs_of(&project), whole.clone() + &whole[..1]).expect("writes");
    write(&store, "[]").expect("writes");
    assert_eq!(store.documents().features().expect("reads").runs, "{}\n{}\n");
}

#[test]
fn whichever_call_to_the_disk_fails_the_list_is_the_old_one_or_the_new() {
    for outcome in [
        FaultOutcome::Fails(EIO),
        FaultOutcome::Tears(ENOSPC),
        FaultOutcome::Dies,
        FaultOutcome::DiesHalfWay,
    ] {
        for at in 0.. {
            let project = TestProject::in_memory();
            write(&store(&project), "[\"old\"]").expect("writes");
            let faults = Arc::new(Faults::at(at, outcome));
            let failing =
                Store::open_probed(project.place(), ids(), Some(faults.clone())).expect("opens");
            let written = write(&failing, "[\"new\"]");
            let text = fs::read_to_string(project.file("features.json")).expect("is there");
            assert!(
                text == "[\"new\"]" || (written.is_err() && text == "[\"old\"]"),
                "call {at}, {outcome:?}: {text}"
            );
            write(&store(&project), "[\"next\"]").expect("goes on");
            if faults.calls() <= at {
                break;
            }
        }
    }
}

#[test]
fn a_path_is_known_by_its_bytes_and_a_folder_by_all_of_them() {
    let project = TestProject::new();
    fs::create_dir_all(project.path().join("src/inner")).expect("makes");
    fs::write(project.path().join("src/inner/a.rs"), "a").expect("writes");
    let state = |path: &str| {
        disk::state_inside(&project.path(), path, 10, 100).expect("looks").map(|state| state.hash)
    };
    let (file, folder) = (state("src/inner/a.rs"), state("src/"));
    fs::write(project.path().join("src/inner/a.rs"), "a").expect("writes");
    assert_eq!((state("src/inner/a.rs"), state("src/")), (file, folder));
    fs::write(project.path().join("src/inner/a.rs"), "b").expect("writes");
    assert!(state("src/inner/a.rs") != file && state("src/") != folder);
    assert_eq!(state("nowhere"), None);
    (0..11).for_each(|n| fs::write(project.path().join(format!("src/{n}")), "x").expect("writes"));
    assert!(disk::state_inside(&project.path(), "src", 10, 100).is_err());
    assert!(disk::state_inside(&project.path(), "../", 10, 100).is_err());
}
