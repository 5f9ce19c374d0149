//! Traces: left without waiting, taken in exactly once, and known again.

use std::fs::{self, File};
use std::sync::Arc;

use twining_model::{Change, Trace, limits};
use twining_store::{AppendOutcome, Durability, Store, StoreError};
use twining_testkit::faults::{FaultOutcome, Faults};
use twining_testkit::memory::{note, store};
use twining_testkit::{FixedWorld, TestProject};

fn trace(store: &Store, what: &str) -> Trace {
    let mut trace = Trace {
        id: store.ids().next().to_string(),
        kind: "violation".to_owned(),
        ..Trace::default()
    };
    trace.event.what_happened = what.to_owned();
    trace
}

/// What was traced, oldest line first, and whether it was written here.
fn seen(store: &Store) -> Vec<(String, bool)> {
    let mut seen = Vec::new();
    store
        .traces()
        .each(&mut |line| {
            seen.extend(
                Trace::read(line.line).map(|trace| (trace.event.what_happened, line.written_here)),
            );
            true
        })
        .expect("reads");
    seen
}

fn told(store: &Store) -> Vec<String> {
    seen(store).into_iter().map(|(what, _)| what).collect()
}

fn memory(project: &TestProject) -> Store {
    let store = store(project, &FixedWorld::at(twining_model::Time::from_ms(1_763_197_200_000)));
    note(&store, "there is a memory");
    store
}

/// Somebody else with the write lock.
fn writer(project: &TestProject) -> File {
    let file =
        File::options().read(true).write(true).open(project.file("local/lock")).expect("is there");
    file.try_lock().expect("is free");
    file
}

fn spooled(project: &TestProject) -> Vec<std::path::PathBuf> {
    let own = fs::read_dir(project.file("local"))
        .expect("is there")
        .flatten()
        .find(|dir| dir.file_name().to_string_lossy().starts_with("own-"));
    let Some(own) = own else { return Vec::new() };
    fs::read_dir(own.path().join("spool"))
        .map(|dir| dir.flatten().map(|file| file.path()).collect())
        .unwrap_or_default()
}

fn put(store: &Store, traces: &[Trace]) -> Result<(), StoreError> {
    let change = Change { traces: traces.to_vec(), ..Change::default() };
    store.write(Durability::Normal, &change)
}

#[test]
fn a_hook_that_finds_the_lock_taken_leaves_its_trace_and_the_next_one_brings_it_in() {
    let project = TestProject::new();
    let store = memory(&project);
    let busy = writer(&project);
    assert_eq!(
        store
            .traces()
            .append_or_spool(&[trace(&store, "while busy")])
            .expect("never fails for that"),
        AppendOutcome::Spooled
    );
    assert_eq!(store.traces().drain().expect("steps back"), 0);
    assert!(told(&store).is_empty());
    drop(busy);
    assert_eq!(
        store.traces().append_or_spool(&[trace(&store, "after")]).expect("leaves"),
        AppendOutcome::Written
    );
    assert_eq!(seen(&store), [("while busy".to_owned(), true), ("after".to_owned(), true)]);
    assert!(spooled(&project).is_empty());
    assert_eq!(store.traces().drain().expect("nothing left"), 0);
}

#[test]
fn git_at_work_is_waited_for_by_nobody() {
    let project = TestProject::with_git();
    let store = memory(&project);
    fs::write(project.path().join(".git/index.lock"), "").expect("writes");
    assert_eq!(
        store.traces().append_or_spool(&[trace(&store, "meanwhile")]).expect("leaves"),
        AppendOutcome::Spooled
    );
    fs::remove_file(project.path().join(".git/index.lock")).expect("removes");
    assert_eq!(store.traces().drain().expect("drains"), 1);
    assert_eq!(told(&store), ["meanwhile"]);
}

#[test]
fn two_who_drain_at_once_bring_each_trace_in_once() {
    let project = TestProject::new();
    let first = memory(&project);
    let busy = writer(&project);
    for n in 0..40 {
        first.traces().append_or_spool(&[trace(&first, &format!("{n}"))]).expect("spools");
    }
    drop(busy);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let other = store(&project, &FixedWorld::new());
                for _ in 0..20 {
                    other.traces().drain().expect("drains");
                }
            });
        }
    });
    first.traces().drain().expect("drains");
    let mut told = told(&first);
    told.sort_by_key(|n| n.parse::<u32>().expect("a number"));
    assert_eq!(told, (0..40).map(|n| n.to_string()).collect::<Vec<_>>());
    let lines = fs::read_to_string(project.file("traces.jsonl")).expect("is there");
    assert_eq!(lines.lines().count(), 40, "not even twice in the file");
}

#[test]
fn whoever_is_killed_while_draining_loses_and_doubles_nothing() {
    for outcome in [FaultOutcome::Dies, FaultOutcome::DiesHalfWay] {
        for at in 0..400 {
            let project = TestProject::in_memory();
            let healthy = memory(&project);
            let busy = writer(&project);
            healthy
                .traces()
                .append_or_spool(&[trace(&healthy, "one"), trace(&healthy, "two")])
                .expect("spools");
            healthy.traces().append_or_spool(&[trace(&healthy, "three")]).expect("spools");
            drop(busy);
            let faults = Arc::new(Faults::at(at, outcome));
            let survived =
                Store::open_probed(project.place(), FixedWorld::new().ids(), Some(faults.clone()))
                    .and_then(|killed| killed.traces().drain())
                    .is_ok();
            healthy.traces().drain().expect("the next one goes on");
            let mut told = told(&healthy);
            told.sort();
            assert_eq!(told, ["one", "three", "two"], "{outcome:?} at call {at}");
            let lines = fs::read_to_string(project.file("traces.jsonl")).expect("is there");
            assert_eq!(lines.lines().count(), 3, "{outcome:?} at call {at}: {lines}");
            if survived {
                break;
            }
        }
    }
}

#[test]
fn a_torn_tail_is_set_aside_and_a_line_that_lacks_its_newline_is_kept() {
    let project = TestProject::new();
    let store = memory(&project);
    put(&store, &[trace(&store, "first")]).expect("stores");
    let whole = fs::read_to_string(project.file("traces.jsonl")).expect("is there");
    fs::write(project.file("traces.jsonl"), format!("{whole}{{\"id\":\"01")).expect("writes");
    put(&store, &[trace(&store, "second")]).expect("stores");
    assert_eq!(told(&store), ["first", "second"]);
    assert!(
        fs::read_to_string(project.file("local/quarantine"))
            .expect("kept")
            .contains("{\"id\":\"01")
    );
    let text = fs::read_to_string(project.file("traces.jsonl")).expect("is there");
    fs::write(project.file("traces.jsonl"), text.trim_end()).expect("writes");
    put(&store, &[trace(&store, "third")]).expect("stores");
    assert_eq!(told(&store), ["first", "second", "third"]);
}

#[test]
fn a_line_that_came_with_a_clone_is_known_to() {
    let project = TestProject::new();
    let store = memory(&project);
    put(&store, &[trace(&store, "ours")]).expect("stores");
    let mut text = fs::read_to_string(project.file("traces.jsonl")).expect("is there");
    text.push_str("{\"id\":\"theirs\",\"type\":\"violation\",\"event\":{\"what_happened\":\"theirs\"},\"origin\":{\"via\":\"cli\",\"trust\":\"human\"}}\n");
    let doubled = text.lines().next().expect("one").to_owned();
    text.push_str(&doubled);
    fs::write(project.file("traces.jsonl"), text).expect("writes");
    assert_eq!(
        seen(&store),
        [("ours".to_owned(), true), ("theirs".to_owned(), false)],
        "and a doubled line once"
    );

    // The whole folder copied, with everything in local/: another machine's word.
    let clone = TestProject::new();
    fs::create_dir_all(clone.file("local")).expect("makes");
    fs::copy(project.file("traces.jsonl"), clone.file("traces.jsonl")).expect("copies");
    for entry in fs::read_dir(project.file("local"))
        .expect("is there")
        .flatten()
        .filter(|entry| entry.path().is_dir())
    {
        let copy = clone.file("local").join(entry.file_name());
        fs::create_dir_all(&copy).expect("makes");
        for file in fs::read_dir(entry.path())
            .expect("is there")
            .flatten()
            .filter(|file| file.path().is_file())
        {
            fs::copy(file.path(), copy.join(file.file_name())).expect("copies");
        }
    }
    let elsewhere = memory(&clone);
    assert!(seen(&elsewhere).iter().all(|(_, here)| !here));
}

#[test]
fn a_trace_has_a_size_and_a_link_in_its_place_is_refused() {
    let project = TestProject::new();
    let store = memory(&project);
    let large = trace(&store, &"x".repeat(limits::TRACE_BYTES));
    assert!(matches!(store.traces().append_or_spool(&[large]), Err(StoreError::TooLarge { .. })));
    assert!(!project.file("traces.jsonl").exists());
    let target = project.path().join("elsewhere");
    fs::write(&target, "mine\n").expect("writes");
    std::os::unix::fs::symlink(&target, project.file("traces.jsonl")).expect("links");
    assert!(matches!(
        store.traces().append_or_spool(&[trace(&store, "x")]),
        Err(StoreError::Unsafe { .. })
    ));
    fs::remove_file(project.file("traces.jsonl")).expect("removes");
    fs::hard_link(&target, project.file("traces.jsonl")).expect("links");
    put(&store, &[trace(&store, "x")]).expect("copies it first");
    assert_eq!(fs::read_to_string(&target).expect("is there"), "mine\n");
}

#[test]
fn no_folder_is_made_for_a_trace_nobody_asked_for() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    assert_eq!(
        store.traces().append_or_spool(&[trace(&store, "x")]).expect("leaves none"),
        AppendOutcome::NoStore
    );
    store.local_state().record_call("{}").expect("records none");
    assert!(!project.file("").exists());
}

#[test]
fn recorded_calls_take_turns_and_the_newest_stay() {
    let project = TestProject::in_memory();
    let store = memory(&project);
    let padding = "x".repeat(limits::CALL_BYTES - 100);
    let most = limits::CALLS_BYTES / (limits::CALL_BYTES - 100) * 3;
    for n in 0..most {
        store
            .local_state()
            .record_call(&format!("{{\"n\":{n},\"p\":\"{padding}\"}}"))
            .expect("records");
    }
    let calls = store.local_state().calls().expect("reads");
    assert!(calls.len() > most / 3 && calls.len() < most, "{}", calls.len());
    assert!(calls.last().expect("some").starts_with(&format!("{{\"n\":{},", most - 1)));
    assert!(store.local_state().latest_calls().expect("reads").len() < 64);
    assert!(store.local_state().record_call(&"x".repeat(limits::CALL_BYTES + 1)).is_err());
    assert!(store.local_state().record_call("two\nlines").is_err());
}

fn in_git(project: &TestProject) -> Store {
    let store = memory(project);
    put(&store, &[trace(&store, "committed")]).expect("stores");
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", "first"]);
    store
}

#[test]
fn a_trace_that_git_stashed_comes_back_with_the_stash_and_only_once() {
    let project = TestProject::with_git();
    let store = in_git(&project);
    put(&store, &[trace(&store, "stashed")]).expect("stores");
    project.git(["stash", "-q", "-u"]);
    assert_eq!(store.traces().drain().expect("looks"), 0);
    assert_eq!(told(&store), ["committed"], "it is safe in the stash");
    project.git(["stash", "pop", "-q"]);
    assert_eq!(store.traces().drain().expect("looks"), 0);
    assert_eq!(told(&store), ["committed", "stashed"]);
}

#[test]
fn a_file_of_traces_that_git_does_not_know_survives_a_stash_too() {
    let project = TestProject::with_git();
    let store = memory(&project);
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", "first"]);
    put(&store, &[trace(&store, "stashed")]).expect("stores");
    project.git(["stash", "-q", "-u"]);
    assert_eq!((store.traces().drain().expect("looks"), told(&store).len()), (0, 0));
    project.git(["stash", "pop", "-q"]);
    assert_eq!(told(&store), ["stashed"]);
}

#[test]
fn a_trace_written_while_git_was_about_to_reset_comes_back() {
    let project = TestProject::with_git();
    let store = in_git(&project);
    assert_eq!(
        store.traces().append_or_spool(&[trace(&store, "in between")]).expect("leaves"),
        AppendOutcome::Written
    );
    // What the second half of `git stash` or of a failing merge does.
    project.git(["checkout", "-q", "--", "."]);
    assert_eq!(told(&store), ["committed"]);
    // A hook does not wait for git's answer.
    assert_eq!(
        store.traces().append_or_spool(&[trace(&store, "later")]).expect("leaves"),
        AppendOutcome::Spooled
    );
    store.traces().drain().expect("brings in");
    assert_eq!(told(&store), ["committed", "in between", "later"]);
    assert!(seen(&store).iter().all(|(_, written_here)| *written_here));
    assert_eq!(
        store.traces().append_or_spool(&[trace(&store, "and on")]).expect("leaves"),
        AppendOutcome::Written
    );
    assert_eq!(told(&store).len(), 4);
}
