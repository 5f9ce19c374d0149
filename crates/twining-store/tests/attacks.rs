//! Attacks on the folder, each with the safe outcome. Numbers are those of the
//! threat table in docs/reference/security.md.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, Instant};
use twining_testcases::each;

use twining_store::{Store, StoreError};
use twining_testkit::files::board_ids;
use twining_testkit::memory as common;
use twining_testkit::memory::{entry, note, store};
use twining_testkit::{FixedWorld, TestProject};

fn refused(store: &Store) -> String {
    match store.post(&[entry(store, "x")]) {
        Err(StoreError::Unsafe { path, .. }) => path,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn s4_a_board_that_links_outside_is_refused_and_the_target_untouched() {
    let project = TestProject::new();
    let outside = TestProject::new();
    let target = outside.path().join("authorized_keys");
    std::fs::write(&target, "key\n").expect("writes");
    std::fs::create_dir_all(project.file("")).expect("makes");
    symlink(&target, project.file("blackboard.jsonl")).expect("links");
    assert_eq!(refused(&store(&project, &FixedWorld::new())), ".twining/blackboard.jsonl");
    assert_eq!(std::fs::read_to_string(&target).expect("there"), "key\n");
}

#[test]
fn s5_a_folder_that_links_outside_is_refused() {
    let outside = TestProject::new();
    each([".twining", ".twining/decisions", ".twining/graph", ".twining/local"], |name| {
        let project = TestProject::new();
        if name != ".twining" {
            std::fs::create_dir(project.file("")).expect("makes");
        }
        symlink(outside.path(), project.path().join(name)).expect("links");
        assert_eq!(refused(&store(&project, &FixedWorld::new())), name);
        assert_eq!(std::fs::read_dir(outside.path()).expect("there").count(), 0, "{name}");
    });
}

#[test]
fn s6_a_pipe_or_a_directory_in_place_of_the_board_does_not_hang_us() {
    let started = Instant::now();
    let project = TestProject::new();
    std::fs::create_dir_all(project.file("")).expect("makes");
    let made = std::process::Command::new("mkfifo")
        .arg(project.file("blackboard.jsonl"))
        .status()
        .expect("mkfifo is there");
    assert!(made.success());
    assert_eq!(refused(&store(&project, &FixedWorld::new())), ".twining/blackboard.jsonl");
    std::fs::remove_file(project.file("blackboard.jsonl")).expect("removes");
    std::fs::create_dir(project.file("blackboard.jsonl")).expect("makes");
    assert_eq!(refused(&store(&project, &FixedWorld::new())), ".twining/blackboard.jsonl");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn s7_a_board_with_a_second_name_is_copied_before_we_write() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    note(&store(&project, &world), "first");
    let second = project.path().join("second-name");
    std::fs::hard_link(project.file("blackboard.jsonl"), &second).expect("links");
    let before = std::fs::read(&second).expect("there");
    note(&store(&project, &world), "second");
    assert_eq!(std::fs::read(&second).expect("there"), before, "the other name did not grow");
    assert_eq!(board_ids(&project.path()).expect("valid").len(), 2);
}

#[test]
fn s8_temporary_names_cannot_be_planted() {
    // The name is random, made with O_EXCL, and in a directory only we write to;
    // what a test can show is that nothing under a guessable name is followed.
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    note(&store, "first");
    let target = project.path().join("victim");
    std::fs::write(&target, "safe").expect("writes");
    for name in [
        "tmp-",
        "tmp-00000000000000000000000000000000",
        "recent.old",
        "quarantine",
        "journal.jsonl",
    ] {
        drop(std::fs::remove_file(project.file("local").join(name)));
        symlink(&target, project.file("local").join(name)).expect("links");
    }
    // Whatever it answers, it wrote nothing through the links.
    drop(store.transact::<(), StoreError>(twining_store::Durability::Strict, |_| {
        Ok((
            twining_model::Change {
                decisions: vec![common::decision(&store, "d")],
                ..Default::default()
            },
            (),
        ))
    }));
    drop(store.housekeep());
    assert_eq!(std::fs::read_to_string(&target).expect("there"), "safe");
}

#[test]
fn s39_a_writer_that_sleeps_on_the_lock_is_named_after_five_seconds() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    note(&store, "first");
    let lock = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(project.file("local/lock"))
        .expect("opens");
    lock.lock().expect("locks");
    let started = Instant::now();
    let Err(StoreError::Locked { holder, waited_ms, .. }) = store.post(&[entry(&store, "waits")])
    else {
        panic!("the lock is held")
    };
    assert!(
        started.elapsed() >= Duration::from_secs(5) && started.elapsed() < Duration::from_secs(8)
    );
    assert_eq!(holder, Some(std::process::id()), "the last one who signed");
    assert!(waited_ms >= 5000);
    // Reading needs no lock.
    assert_eq!(store.view(|view| view.counts()).expect("reads").entries, 1);
    drop(lock);
    note(&store, "goes on");
}

#[test]
fn s39_readers_do_not_stand_behind_a_writer_that_hangs_even_with_a_queue() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    note(&store(&project, &world), "first");
    let lock = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(project.file("local/lock"))
        .expect("opens");
    lock.lock().expect("locks");
    std::fs::write(project.file("pending-posts.jsonl"), "queued\n").expect("writes");
    let started = Instant::now();
    let fresh = store(&project, &world);
    assert_eq!(
        fresh
            .queues()
            .drain_posts(&mut |line| Ok(entry(&fresh, line)))
            .expect("waits for another call")
            .taken,
        0
    );
    assert_eq!(fresh.view(|view| view.counts()).expect("reads").entries, 1);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    drop(lock);
    assert_eq!(
        fresh.queues().drain_posts(&mut |line| Ok(entry(&fresh, line))).expect("drains").taken,
        1
    );
}

#[cfg(target_os = "linux")]
#[test]
fn s39_a_holder_that_is_not_ours_is_named_and_not_we() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    note(&store, "first");
    let mut holder = std::process::Command::new("flock")
        .arg("--no-fork")
        .arg(project.file("local/lock"))
        .args(["sleep", "30"])
        .spawn()
        .expect("flock is there");
    let started = Instant::now();
    let named = loop {
        match store.post(&[entry(&store, "waits")]) {
            Err(StoreError::Locked { holder, .. }) => break holder,
            _ if started.elapsed() > Duration::from_secs(20) => panic!("flock never took the lock"),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    holder.kill().expect("it is ours");
    holder.wait().expect("it was ours");
    assert_eq!(named, Some(holder.id()));
}

#[test]
fn s40_garbage_or_a_link_for_a_lock_or_an_index_writes_nothing_outside() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let target = project.path().join("victim");
    std::fs::write(&target, "safe").expect("writes");
    note(&store(&project, &world), "first");
    each(
        [
            "lock",
            "recent",
            "index.lock",
            "index.db",
            "index.db-wal",
            "index.stamp",
            "journal.jsonl",
        ],
        |name| {
            drop(std::fs::remove_file(project.file("local").join(name)));
            std::fs::write(project.file("local").join(name), vec![0xA5; 3000]).expect("writes");
            let store = store(&project, &world);
            note(&store, name);
            store.view(|view| view.counts()).unwrap_or_else(|e| panic!("garbage in {name}: {e}"));
            drop(store);
            std::fs::remove_file(project.file("local").join(name)).expect("removes");
            symlink(&target, project.file("local").join(name)).expect("links");
            let store = common::store(&project, &world);
            drop(store.post(&[entry(&store, name)]));
            drop(store.view(|view| view.counts()));
            assert_eq!(std::fs::read_to_string(&target).expect("there"), "safe", "{name}");
            drop(std::fs::remove_file(project.file("local").join(name)));
        },
    );
}

#[test]
fn threads_of_one_process_take_turns() {
    let project = TestProject::new();
    let store = Arc::new(Store::open(project.place(), twining_testkit::ids()).expect("opens"));
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                (0..50).map(|n| note(&store, &format!("{writer}-{n}"))).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut acked: Vec<String> =
        writers.into_iter().flat_map(|writer| writer.join().expect("no panic")).collect();
    let mut found = board_ids(&project.path()).expect("valid");
    acked.sort();
    found.sort();
    assert_eq!(found, acked);
}
