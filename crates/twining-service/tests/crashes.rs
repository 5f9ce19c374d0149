//! PostgreSQL is killed while many write: what was acknowledged is there, once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use twining_model::Id;
use twining_store::{Log, LogBase, LogError};
use twining_testkit::Flushing;

use crate::service::TestService;

const KILLS: usize = 3;
const CALLERS: usize = 6;

#[test]
fn r1_a_killed_database_loses_nothing_and_doubles_nothing() {
    let Some(service) = TestService::start_with(Flushing::On) else { return };
    let nodes = [service.node(), service.node()];
    let is_over = AtomicBool::new(false);
    let acknowledged: BTreeMap<Id, u64> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let log = nodes[caller % 2].log(&service.tenant, &service.repo);
                let (service, is_over) = (&service, &is_over);
                scope.spawn(move || {
                    let mut acknowledged = Vec::new();
                    while !is_over.load(Ordering::SeqCst) {
                        let line = service.line("x");
                        // Under one key until told.
                        let number = loop {
                            match log.append(LogBase::Any, std::slice::from_ref(&line)) {
                                Ok(numbers) => break numbers[0],
                                Err(LogError::Unknown(_) | LogError::Unreachable(_)) => {}
                                Err(error) => panic!("{error}"),
                            }
                        };
                        acknowledged.push((line.key, number));
                    }
                    acknowledged
                })
            })
            .collect();
        for _ in 0..KILLS {
            thread::sleep(Duration::from_millis(700));
            service.server.kill_and_restart();
        }
        thread::sleep(Duration::from_millis(500));
        is_over.store(true, Ordering::SeqCst);
        callers.into_iter().flat_map(|caller| caller.join().expect("writes")).collect()
    });
    let mut lines = BTreeMap::new();
    let log = service.node().log(&service.tenant, &service.repo);
    let mut after = 0;
    loop {
        let some = log.since(after, 1_000).expect("lines");
        let Some(last) = some.last() else { break };
        after = last.seq;
        lines.extend(some.into_iter().map(|line| (line.key, line.seq)));
    }
    assert!(acknowledged.len() > 100, "{}", acknowledged.len());
    assert_eq!(lines, acknowledged, "lost or doubled");
    assert_eq!(after, acknowledged.len() as u64, "gaps");
}

#[test]
fn a_database_that_stays_away_is_said_to_be_away() {
    let Some(service) = TestService::start() else { return };
    let node = service.node();
    let log = node.log(&service.tenant, &service.repo);
    let (first, second) = (service.line("x"), service.line("y"));
    log.append(LogBase::Any, std::slice::from_ref(&first)).expect("appends");
    service.server.kill();
    // Its children may still answer for a moment.
    thread::sleep(Duration::from_millis(500));
    let appended = log.append(LogBase::Any, std::slice::from_ref(&second));
    let is_temporary = matches!(appended, Err(LogError::Unknown(_) | LogError::Unreachable(_)));
    assert!(is_temporary, "{appended:?}");
    assert!(matches!(log.since(0, 10), Err(LogError::Unreachable(_))));
    assert!(service.wait(node.ping()).is_err_and(|error| error.is_temporary()));
    service.server.restart();
    assert_eq!(log.append(LogBase::Any, &[second, first]), Ok(vec![2, 1]));
}
