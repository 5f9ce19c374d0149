//! The log: numbers without gaps, one line a key, plans that met others, limits.

use std::collections::BTreeSet;
use std::thread;

use twining_model::{Change, Id};
use twining_service::{Grant, GrantScope, Principal, PrincipalKind, TenantLimits, acting_as};
use twining_store::{Log, LogBase, LogError, NewLine};
use twining_testkit::records;

use crate::service::TestService;

#[test]
fn two_nodes_write_at_once_and_the_numbers_have_no_gaps() {
    let Some(service) = TestService::start() else { return };
    let (nodes, callers, each) = ([service.node(), service.node()], 6, 40);
    let mut numbers = Vec::new();
    thread::scope(|scope| {
        let writing: Vec<_> = nodes
            .iter()
            .flat_map(|node| (0..callers).map(move |caller| (node, caller)))
            .map(|(node, caller)| {
                let (log, service) = (node.log(&service.tenant, &service.repo), &service);
                scope.spawn(move || {
                    let post = |at| {
                        // Every fourth has several lines, every fifth was planned.
                        let some = if at % 4 == 0 { 3 } else { 1 };
                        let lines: Vec<NewLine> = (0..some)
                            .map(|line| service.line(&format!("{caller} {at} {line}")))
                            .collect();
                        let base = match at % 5 {
                            0 => LogBase::At(u64::MAX >> 1),
                            _ => LogBase::Any,
                        };
                        log.append(base, &lines).expect("appends")
                    };
                    (0..each).flat_map(post).collect::<Vec<u64>>()
                })
            })
            .collect();
        for caller in writing {
            let of_caller = caller.join().expect("writes");
            assert!(of_caller.is_sorted(), "what a caller writes later has a larger number");
            numbers.extend(of_caller);
        }
    });
    let head = service.wait(nodes[0].head(&service.tenant, &service.repo)).expect("a head");
    assert_eq!(numbers.len() as u64, head);
    assert_eq!(numbers.into_iter().collect::<BTreeSet<_>>(), (1..=head).collect());
    let seen = nodes[1].log(&service.tenant, &service.repo).since(0, 10_000).expect("lines");
    assert_eq!(
        seen.iter().map(|line| line.seq).collect::<Vec<_>>(),
        (1..=head).collect::<Vec<_>>()
    );
}

#[test]
fn a_line_that_is_sent_again_keeps_its_number_on_every_node() {
    let Some(service) = TestService::start() else { return };
    let [first, second] =
        [service.node(), service.node()].map(|node| node.log(&service.tenant, &service.repo));
    let (old, new) = (service.line("old"), service.line("new"));
    assert_eq!(first.append(LogBase::Any, std::slice::from_ref(&old)), Ok(vec![1]));
    assert_eq!(second.append(LogBase::Any, &[new.clone(), old.clone()]), Ok(vec![2, 1]));
    assert_eq!(first.append(LogBase::Any, &[old.clone(), new.clone()]), Ok(vec![1, 2]));
    // Also as a planned one whose answer was lost, although others planned since.
    assert_eq!(first.append(LogBase::At(2), &[service.line("planned")]), Ok(vec![3]));
    assert_eq!(second.append(LogBase::At(0), std::slice::from_ref(&old)), Ok(vec![1]));
    assert_eq!(second.numbers_of(&[new.key, service.ids.next()]), Ok(vec![Some(2), None]));
}

#[test]
fn another_line_under_a_known_key_is_refused_and_changes_nothing() {
    let Some(service) = TestService::start() else { return };
    let log = service.node().log(&service.tenant, &service.repo);
    let line = service.line("one");
    log.append(LogBase::Any, std::slice::from_ref(&line)).expect("appends");
    let other = NewLine { key: line.key.clone(), ..service.line("two") };
    let appended = log.append(LogBase::Any, &[service.line("beside"), other]);
    assert!(matches!(appended, Err(LogError::Refused(_))), "{appended:?}");
    let twice = [line.clone(), line];
    assert!(matches!(log.append(LogBase::Any, &twice), Err(LogError::Refused(_))));
    assert_eq!(log.since(0, 10).expect("lines").len(), 1);
}

#[test]
fn one_key_sent_by_many_at_once_is_one_line() {
    let Some(service) = TestService::start() else { return };
    let nodes = [service.node(), service.node()];
    let line = service.line("once");
    thread::scope(|scope| {
        for at in 0..16 {
            let log = nodes[at % 2].log(&service.tenant, &service.repo);
            let line = &line;
            scope.spawn(move || {
                let appended = log.append(LogBase::Any, std::slice::from_ref(line));
                assert_eq!(appended, Ok(vec![1]));
            });
        }
    });
}

#[test]
fn a_plan_is_behind_if_others_planned_and_not_if_they_posted() {
    let Some(service) = TestService::start() else { return };
    let log = service.node().log(&service.tenant, &service.repo);
    let append = |base| log.append(base, &[service.line("x")]);
    assert_eq!(append(LogBase::Any), Ok(vec![1]));
    assert_eq!(append(LogBase::Any), Ok(vec![2]));
    assert_eq!(append(LogBase::At(0)), Ok(vec![3]));
    assert_eq!(append(LogBase::At(2)), Err(LogError::Behind));
    assert_eq!(append(LogBase::At(3)), Ok(vec![4]));
    let head = service.wait(service.node().head(&service.tenant, &service.repo));
    assert_eq!(head.expect("a head"), 4);
}

#[test]
fn of_many_plans_on_one_view_one_is_taken() {
    let Some(service) = TestService::start() else { return };
    let nodes = [service.node(), service.node()];
    let taken = thread::scope(|scope| {
        let plans: Vec<_> = (0..12)
            .map(|at| {
                let log = nodes[at % 2].log(&service.tenant, &service.repo);
                let line = service.line("plan");
                scope.spawn(move || log.append(LogBase::At(0), &[line]))
            })
            .collect();
        let outcomes = plans.into_iter().map(|plan| plan.join().expect("plans"));
        outcomes.filter(|outcome| *outcome != Err(LogError::Behind)).collect::<Vec<_>>()
    });
    assert_eq!(taken, [Ok(vec![1])]);
}

#[test]
fn a_full_repository_refuses_and_takes_what_fits() {
    let Some(service) = TestService::start() else { return };
    let nodes = [service.node(), service.node()];
    service
        .wait(service.admin().limit_repository(&service.repo, 1 << 30, 10))
        .expect("sets a limit");
    let refused = thread::scope(|scope| {
        let posts: Vec<_> = (0..16)
            .map(|at| {
                let log = nodes[at % 2].log(&service.tenant, &service.repo);
                let line = service.line("x");
                scope.spawn(move || log.append(LogBase::Any, &[line]))
            })
            .collect();
        let outcomes: Vec<_> = posts.into_iter().map(|post| post.join().expect("posts")).collect();
        outcomes.iter().filter(|outcome| matches!(outcome, Err(LogError::Refused(_)))).count()
    });
    assert_eq!(refused, 6, "ten fit, however many nodes write");
    let log = nodes[0].log(&service.tenant, &service.repo);
    service.wait(service.admin().limit_repository(&service.repo, 10, 100)).expect("sets a limit");
    let appended = log.append(LogBase::Any, &[service.line("x")]);
    assert!(matches!(appended, Err(LogError::Refused(_))), "{appended:?}");
}

#[test]
fn repositories_that_are_written_at_once_hold_together_what_their_tenant_may() {
    let Some(service) = TestService::start() else { return };
    let (admin, nodes) = (service.admin(), [service.node(), service.node()]);
    let mut repos = vec![service.repo.clone()];
    for name in ["two", "three"] {
        let added = service.wait(admin.add_repository(&service.tenant, name));
        repos.push(added.expect("a repository").id);
    }
    let limits = TenantLimits { records: Some(50), bytes: None };
    service.wait(admin.limit_tenant(&service.tenant, limits)).expect("sets a limit");
    let outcomes: Vec<_> = thread::scope(|scope| {
        let posts: Vec<_> = (0..90)
            .map(|at| {
                let log = nodes[at % 2].log(&service.tenant, &repos[at % 3]);
                let line = service.line("x");
                scope.spawn(move || log.append(LogBase::Any, &[line]))
            })
            .collect();
        posts.into_iter().map(|post| post.join().expect("posts")).collect()
    });
    let taken = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let refused = outcomes.iter().filter(|is| matches!(is, Err(LogError::Refused(_)))).count();
    assert_eq!((taken, refused), (50, 40), "all that fit, and not one more");
    let tenants = service.wait(admin.tenants()).expect("answers");
    assert_eq!((tenants[0].holds.records, tenants[0].limits), (50, limits));

    // Somebody else's limit is theirs, and a larger one counts at once.
    let (rival, theirs) = service.another_tenant();
    nodes[0].log(&rival, &theirs).append(LogBase::Any, &[service.line("x")]).expect("appends");
    let limits = TenantLimits { records: Some(51), bytes: None };
    service.wait(admin.limit_tenant(&service.tenant, limits)).expect("sets a limit");
    let append =
        |at: usize, line| nodes[1].log(&service.tenant, &repos[at]).append(LogBase::Any, &[line]);
    append(2, service.line("x")).expect("one more fits");
    let refused = append(0, service.line("x"));
    assert!(matches!(refused, Err(LogError::Refused(_))), "{refused:?}");

    // By bytes, below what is there; and without any.
    let limits = TenantLimits { records: None, bytes: Some(10) };
    service.wait(admin.limit_tenant(&service.tenant, limits)).expect("sets a limit");
    let refused = append(0, service.line("x"));
    assert!(matches!(refused, Err(LogError::Refused(_))), "{refused:?}");
    service.wait(admin.limit_tenant(&service.tenant, TenantLimits::default())).expect("sets");
    append(0, service.line("x")).expect("there is no limit");
}

#[test]
fn a_batch_that_outgrows_its_share_gets_more_and_one_that_cannot_leaves_the_rest_to_others() {
    let Some(service) = TestService::start() else { return };
    let (admin, node) = (service.admin(), service.node());
    let other =
        service.wait(admin.add_repository(&service.tenant, "two")).expect("a repository").id;
    let limits = TenantLimits { records: Some(100), bytes: None };
    service.wait(admin.limit_tenant(&service.tenant, limits)).expect("sets a limit");
    let append = |repo: &Id, count: usize| {
        let lines: Vec<NewLine> = (0..count).map(|_| service.line("x")).collect();
        node.log(&service.tenant, repo).append(LogBase::Any, &lines).map(|numbers| numbers.len())
    };
    assert_eq!(append(&service.repo, 60), Ok(60));
    // The first holds more of the total than it uses, and gives it back.
    assert_eq!(append(&other, 40), Ok(40));
    assert!(matches!(append(&other, 1), Err(LogError::Refused(_))));
    // What a program of before wrote without asking counts, too.
    service.sql("update twining.tenant set total_records = 110; update twining.repo set records = records + 9 where name = 'two'");
    assert_eq!(append(&service.repo, 1), Ok(1));
    assert!(matches!(append(&service.repo, 1), Err(LogError::Refused(_))));
}

#[test]
fn a_moving_repository_asks_to_come_back_and_a_closed_one_refuses() {
    let Some(service) = TestService::start() else { return };
    let log = service.node().log(&service.tenant, &service.repo);
    service.sql("update twining.repo set state = 'moving'");
    let moving = log.append(LogBase::Any, &[service.line("x")]);
    assert!(matches!(moving, Err(LogError::Unreachable(_))), "{moving:?}");
    service.sql("update twining.repo set state = 'closed'");
    let closed = log.append(LogBase::Any, &[service.line("x")]);
    assert!(matches!(closed, Err(LogError::Refused(_))), "{closed:?}");
}

#[test]
fn large_lines_come_in_several_answers_and_a_newer_form_stops_the_reader() {
    let Some(service) = TestService::start() else { return };
    let log = service.node().log(&service.tenant, &service.repo);
    for _ in 0..5 {
        let mut entry = records::entry(&service.ids, "large");
        entry.detail = "\u{0}'; drop table twining.log; -- ü".repeat(150_000);
        let change = Change::of_entries(vec![entry]);
        log.append(LogBase::Any, &[NewLine { key: service.ids.next(), change }]).expect("appends");
    }
    let (mut after, mut answers) = (0, 0);
    while let Some(last) = log.since(after, 1_000).expect("lines").last() {
        assert!(last.change.entries[0].detail.starts_with('\u{0}'));
        (after, answers) = (last.seq, answers + 1);
    }
    assert_eq!(after, 5);
    assert!(answers > 1, "{answers}");
    service.sql("update twining.log set v = 999 where seq = 5");
    assert_eq!(log.since(3, 10).expect("the line before").len(), 1);
    assert!(matches!(log.since(4, 10), Err(LogError::TooNew { found: 999, .. })));
}

#[test]
fn a_line_bears_the_name_of_who_wrote_it() {
    let Some(service) = TestService::start() else { return };
    let log = service.node().log(&service.tenant, &service.repo);
    let principal = Principal {
        token_id: service.ids.next().to_string(),
        tenant: service.tenant.clone(),
        name: "ada's laptop".to_owned(),
        kind: PrincipalKind::Machine,
        grants: vec![Grant {
            repository: GrantScope::All,
            role: twining_service::AccessRole::Writer,
        }],
    };
    acting_as(&principal, || log.append(LogBase::Any, &[service.line("x")])).expect("appends");
    log.append(LogBase::Any, &[service.line("y")]).expect("appends");
    assert_eq!(
        service.sql("select string_agg(by, ' ' order by seq) from twining.log"),
        "ada's laptop node"
    );
}
