//! Small storms in every test run; `storm rage` does the full size.

use std::path::Path;
use std::time::Duration;

use twining_testkit::TestProject;
use twining_testkit::crash_storm::{Storm, rage};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_storm"))
}

fn calm() -> Storm {
    Storm {
        writers: 8,
        writes: 50,
        size: 300,
        think: Duration::ZERO,
        kill_every: Duration::ZERO,
        mixed: false,
        git_rounds: 0,
    }
}

#[test]
fn r1_writers_that_are_killed_lose_nothing_they_acknowledged() {
    let project = TestProject::new();
    let storm = Storm { writers: 16, writes: 400, kill_every: Duration::from_millis(20), ..calm() };
    let aftermath = rage(program(), &project.path(), &storm);
    assert!(aftermath.acked > 1000 && aftermath.killed > 5, "{aftermath:?}");
    assert_eq!((aftermath.lost, aftermath.corrupt, aftermath.doubled), (vec![], 0, 0));
}

#[test]
fn r2_large_entries_torn_by_a_kill_cost_nobody_else_theirs() {
    let project = TestProject::new();
    let storm = Storm {
        writers: 8,
        writes: 60,
        size: 20_000,
        kill_every: Duration::from_millis(20),
        ..calm()
    };
    let aftermath = rage(program(), &project.path(), &storm);
    assert_eq!((aftermath.lost, aftermath.corrupt, aftermath.doubled), (vec![], 0, 0));
}

#[test]
fn r1_every_kind_of_write_survives_kills() {
    let project = TestProject::new();
    let storm = Storm {
        writers: 6,
        writes: 60,
        mixed: true,
        kill_every: Duration::from_millis(40),
        ..calm()
    };
    let aftermath = rage(program(), &project.path(), &storm);
    assert!(aftermath.acked > 100, "{aftermath:?}");
    assert_eq!((aftermath.lost, aftermath.corrupt, aftermath.doubled), (vec![], 0, 0));
}

#[test]
fn r4_git_at_work_underneath_takes_nothing_away() {
    let project = TestProject::with_git();
    project.git(["branch", "side"]);
    let storm =
        Storm { writers: 3, writes: 60, think: Duration::from_millis(20), git_rounds: 8, ..calm() };
    let aftermath = rage(program(), &project.path(), &storm);
    assert!(aftermath.git_operations > 20, "{aftermath:?}");
    assert_eq!((aftermath.lost, aftermath.corrupt), (vec![], 0));
}

#[test]
fn r4_git_takes_no_decision_and_no_entity_away_either() {
    let project = TestProject::with_git();
    project.git(["branch", "side"]);
    let storm = Storm {
        writers: 2,
        writes: 60,
        mixed: true,
        think: Duration::from_millis(30),
        git_rounds: 8,
        ..calm()
    };
    let aftermath = rage(program(), &project.path(), &storm);
    assert!(aftermath.git_operations > 20, "{aftermath:?}");
    assert_eq!((aftermath.lost, aftermath.corrupt), (vec![], 0));
}
