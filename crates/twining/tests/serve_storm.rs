//! Small storms over the team service with the built program; `storm serve` and `storm upgrade`
//! do the full size.

use std::path::Path;
use std::time::Duration;

use twining_testkit::service_storm::{ServiceStorm, StormFindings, rage, upgrade};

use crate::common::PROGRAM;

fn small() -> ServiceStorm {
    ServiceStorm {
        kills: 0,
        writes: 1_500,
        seed: 7,
        callers: 6,
        lines: 4,
        is_faulty: true,
        partition: Duration::ZERO,
        clock: 0,
        slow_flushes: false,
        limit: Duration::from_secs(240),
    }
}

#[test]
fn r1_whatever_dies_nothing_that_was_acknowledged_is_lost_or_doubled() {
    // Each process alone, then two, then all at once.
    let storm = ServiceStorm { kills: 12, writes: 3_000, ..small() };
    let Some(result) = rage(Path::new(PROGRAM), &storm) else { return };
    assert_eq!(result.findings, StormFindings::default(), "{result:?}");
    assert!(result.failed.is_empty() && result.is_complete, "{result:?}");
    assert!(result.swallowed > 10 && result.decisions > 10, "{result:?}");
}

#[test]
fn r1_a_clone_and_a_node_that_were_cut_off_catch_up_although_a_clock_is_wrong() {
    let storm = ServiceStorm { partition: Duration::from_secs(4), clock: 600, ..small() };
    let Some(result) = rage(Path::new(PROGRAM), &storm) else { return };
    assert_eq!(result.findings, StormFindings::default(), "{result:?}");
    assert!(result.failed.is_empty() && result.is_complete, "{result:?}");
    assert!(result.partition_writes > 0, "{result:?}");
}

#[test]
fn r1_nodes_are_replaced_under_load_after_a_migration_and_no_call_fails() {
    let storm = ServiceStorm { is_faulty: false, ..small() };
    let program = Path::new(PROGRAM);
    let Some((result, ended)) = upgrade(program, program, &storm) else { return };
    assert_eq!(ended, [Some(0), Some(0)]);
    assert_eq!(result.findings, StormFindings::default(), "{result:?}");
    assert!(result.failed.is_empty() && result.is_complete, "{result:?}");
}
