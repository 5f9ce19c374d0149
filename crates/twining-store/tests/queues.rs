//! What hooks queue is taken exactly once.

use std::io::Write;
use std::sync::Arc;

use twining_store::{DrainCount, Store};
use twining_testkit::files::board;
use twining_testkit::memory::{entry, note, store};
use twining_testkit::{FixedWorld, TestProject};

fn queue(project: &TestProject, name: &str, text: &str) {
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(project.file(name))
        .expect("opens");
    file.write_all(text.as_bytes()).expect("writes");
}

fn drain(store: &Store) -> DrainCount {
    store
        .queues()
        .drain_posts(&mut |line| {
            let value: serde_json::Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
            Ok(entry(store, value["summary"].as_str().ok_or("no summary")?))
        })
        .expect("drains")
}

#[test]
fn good_lines_are_posted_once_and_bad_ones_set_aside_with_the_reason() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    note(&store, "first");
    queue(
        &project,
        "pending-posts.jsonl",
        "{\"summary\":\"one\"}\nnot json\n{\"summary\":\"two\"}\n",
    );
    assert_eq!(drain(&store), DrainCount { taken: 2, rejected: 1 });
    assert_eq!(drain(&store), DrainCount::default());
    assert_eq!(board(&project.path()).expect("valid").len(), 3);
    let rejected = std::fs::read_to_string(project.file("pending-rejected.jsonl")).expect("kept");
    assert!(rejected.contains("not json") && rejected.contains("reason"), "{rejected}");
    assert!(!project.file("pending-posts.jsonl").exists());
}

#[test]
fn a_hook_that_still_had_the_queue_open_loses_nothing() {
    let project = TestProject::new();
    let world = FixedWorld::new();
    let store = store(&project, &world);
    note(&store, "first");
    queue(&project, "pending-posts.jsonl", "{\"summary\":\"early\"}\n");
    let mut late = std::fs::OpenOptions::new()
        .append(true)
        .open(project.file("pending-posts.jsonl"))
        .expect("opens");
    drain(&store);
    late.write_all(b"{\"summary\":\"late\"}\n").expect("writes");
    queue(&project, "pending-posts.jsonl", "{\"summary\":\"next\"}\n");
    drain(&store);
    let mut summaries: Vec<String> =
        board(&project.path()).expect("valid").iter().map(|e| e["summary"].to_string()).collect();
    summaries.sort();
    assert_eq!(summaries, ["\"early\"", "\"first\"", "\"late\"", "\"next\""]);
}

#[test]
fn two_servers_racing_for_a_queue_post_each_line_once() {
    let project = TestProject::new();
    note(&store(&project, &FixedWorld::new()), "first");
    for round in 0..20 {
        let lines: String = (0..50).map(|n| format!("{{\"summary\":\"{round}-{n}\"}}\n")).collect();
        queue(&project, "pending-posts.jsonl", &lines);
        let racers: Vec<_> = (0..2)
            .map(|_| {
                let store =
                    Arc::new(Store::open(project.place(), twining_testkit::ids()).expect("opens"));
                std::thread::spawn(move || drain(&store).taken)
            })
            .collect();
        let taken: u64 = racers.into_iter().map(|racer| racer.join().expect("no panic")).sum();
        assert_eq!(taken, 50);
    }
    assert_eq!(board(&project.path()).expect("valid").len(), 1001);
}

#[test]
fn s43_a_flood_in_a_cloned_queue_stops_at_the_limit() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    note(&store, "first");
    let lines: String = (0..1500).map(|n| format!("{{\"summary\":\"{n}\"}}\n")).collect();
    queue(&project, "pending-posts.jsonl", &lines);
    assert_eq!(drain(&store), DrainCount { taken: 1000, rejected: 500 });
}

#[test]
fn a_queue_that_is_a_link_is_not_followed() {
    let project = TestProject::new();
    let store = store(&project, &FixedWorld::new());
    note(&store, "first");
    let target = project.path().join("secret.jsonl");
    std::fs::write(&target, "{\"summary\":\"secret\"}\n").expect("writes");
    std::os::unix::fs::symlink(&target, project.file("pending-posts.jsonl")).expect("links");
    assert!(store.queues().drain_posts(&mut |_| Ok(entry(&store, "x"))).is_err());
    assert!(target.exists());
    assert_eq!(board(&project.path()).expect("valid").len(), 1);
}
