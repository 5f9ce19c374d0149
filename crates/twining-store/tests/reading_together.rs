//! Reads of one process go together, each on its own snapshot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use twining_store::{EntryFilter, Store, StoreError, View};
use twining_testkit::memory::{note, store};
use twining_testkit::{FixedWorld, TestProject};

const LONG: Duration = Duration::from_secs(20);

fn entries(view: &View<'_>) -> Result<u64, StoreError> {
    Ok(view.counts()?.entries)
}

fn count(store: &Store) -> u64 {
    store.view(entries).expect("reads")
}

/// Opens a view, signals that, and holds it until signalled to go on; returns the counts before and
/// after.
fn hold(store: &Store, open: &Sender<()>, go_on: &Receiver<()>) -> (u64, u64) {
    let held = store.view(|view| {
        let before = entries(view)?;
        open.send(()).expect("somebody listens");
        go_on.recv_timeout(LONG).expect("is told to go on");
        Ok::<_, StoreError>((before, entries(view)?))
    });
    held.expect("reads")
}

#[test]
fn a_read_is_answered_while_another_is_under_way() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    note(&store, "first");
    let ((open, opened), (go, go_on)) = (channel(), channel());
    std::thread::scope(|scope| {
        let store = &store;
        let held = scope.spawn(move || hold(store, &open, &go_on));
        opened.recv_timeout(LONG).expect("opens");
        assert_eq!(count(store), 1);
        go.send(()).expect("listens");
        assert_eq!(held.join().expect("no panic"), (1, 1));
    });
}

#[test]
fn a_read_has_what_was_written_before_it_and_nothing_that_came_later() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    note(&store, "first");
    let ((open, opened), (go, go_on)) = (channel(), channel());
    std::thread::scope(|scope| {
        let store = &store;
        let held = scope.spawn(move || hold(store, &open, &go_on));
        opened.recv_timeout(LONG).expect("opens");
        note(store, "second");
        assert_eq!(count(store), 2);
        go.send(()).expect("listens");
        assert_eq!(held.join().expect("no panic"), (1, 1));
    });
    assert_eq!(count(&store), 2);
}

#[test]
fn an_index_that_is_replaced_under_a_read_is_followed_by_the_next() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let (other, store) = (store(&project, &world), store(&project, &world));
    note(&store, "first");
    let replace: [&dyn Fn(); 3] = [
        &|| assert_eq!(store.rebuild().expect("rebuilds").entries, 1),
        &|| assert_eq!(other.rebuild().expect("another process rebuilds").entries, 2),
        &|| std::fs::write(project.file("local/index.db"), "garbage").expect("breaks it"),
    ];
    for (n, replace) in replace.into_iter().enumerate() {
        let before = n as u64 + 1;
        let ((open, opened), (go, go_on)) = (channel(), channel());
        std::thread::scope(|scope| {
            let store = &store;
            let held = scope.spawn(move || {
                // A reader of the damaged file itself may fail, but must not be wrong.
                drop(store.view(|view| {
                    assert_eq!(entries(view)?, before);
                    open.send(()).expect("listens");
                    go_on.recv_timeout(LONG).expect("is told to go on");
                    assert_eq!(
                        view.entries().newest(&EntryFilter::default(), 9)?.items.len() as u64,
                        before
                    );
                    Ok::<_, StoreError>(())
                }));
            });
            opened.recv_timeout(LONG).expect("opens");
            replace();
            note(store, "next");
            assert_eq!(count(store), before + 1);
            go.send(()).expect("listens");
            held.join().expect("no panic");
        });
        assert_eq!(count(&store), before + 1);
    }
}

#[test]
fn more_readers_than_connections_all_see_what_they_wrote_whatever_happens_to_the_index() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    note(&store, "first");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..12)
            .map(|reader| {
                let store = &store;
                scope.spawn(move || {
                    for n in 0..15 {
                        let id = note(store, &format!("{reader} {n}"));
                        let found = store.view(|view| view.entries().get(&id)).expect("reads");
                        assert!(found.is_some(), "{reader} {n}");
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                store.rebuild().expect("rebuilds");
                store.housekeep().expect("keeps house");
            }
        });
        let ended: Vec<bool> = readers.into_iter().map(|reader| reader.join().is_ok()).collect();
        over.store(true, Ordering::Release);
        assert!(ended.into_iter().all(|fine| fine));
    });
    assert_eq!(count(&store), 1 + 12 * 15);
}
