//! How often guards fired, and whether they were right.

use std::fs;
use std::io::Write;

use super::*;
use crate::GuardSummary;
use crate::learning::GuardTally;

const POLICY: &str =
    "guards:\n  - id: no-push\n    tools: [Bash]\n    when: {command: git push}\n    say: no\n";

fn project() -> Project {
    let project = Project::new();
    project.engine.store().installation().prepare().expect("makes the folder");
    fs::write(project.path().join(".twining/policy.yml"), POLICY).expect("writes");
    project
}

fn fires(project: &Project, blocked: bool) {
    seen(project, |seen| (seen.guard, seen.blocked) = (Some("no-push"), blocked));
}

fn guard(project: &Project, id: &str) -> GuardSummary {
    let all = project.engine.guard_report(&UserPolicy::default()).expect("lists").guards;
    all.into_iter().find(|guard| guard.id == id).expect("is listed")
}

fn person() -> Caller {
    let mut caller = agent_in("s-9");
    (caller.agent, caller.origin.trust) = ("kim".to_owned(), Trust::Human);
    caller
}

fn judge(project: &Project, caller: &Caller, kind: &str, about: &str) {
    let input = StoreTraceInput {
        kind: kind.to_owned(),
        what_happened: "the guard fired".to_owned(),
        guard: Some("no-push".to_owned()),
        about: Some(about.to_owned()),
        ..StoreTraceInput::default()
    };
    project.engine.store_trace(caller, &input).expect("stores");
}

fn counts(project: &Project) -> [u64; 5] {
    let guard = guard(project, "no-push");
    [guard.fired, guard.blocked, guard.right, guard.wrong, guard.lifted]
}

#[test]
fn a_guard_tells_how_often_it_fired_was_lifted_and_what_people_found() {
    let project = project();
    assert_eq!(counts(&project), [0; 5]);
    fires(&project, true);
    fires(&project, true);
    fires(&project, false);
    assert_eq!(counts(&project), [3, 2, 0, 0, 0]);
    judge(&project, &person(), "approval", "t-1");
    judge(&project, &person(), "correction", "t-2");
    judge(&project, &agent_in("s-1"), "correction", "t-3");
    assert_eq!(counts(&project), [3, 2, 1, 1, 0], "an agent does not judge");
    judge(&project, &person(), "approval", "t-2");
    assert_eq!(counts(&project), [3, 2, 2, 0, 0], "the last word holds");
    let lifted = project.engine.record_bypass(&person(), "no-push", "2026-11-15", "hotfix");
    lifted.expect("records");
    project.engine.approve(&person(), "no-push", "promoted", "").expect("records");
    assert_eq!(counts(&project), [3, 2, 2, 0, 1]);
    let last = guard(&project, "no-push").last_fired.expect("it fired");
    assert!(last.starts_with("20"), "{last}");
}

#[test]
fn what_an_agent_reports_is_no_firing() {
    let project = project();
    let mut reported = pushed();
    (reported.kind, reported.guard) = ("violation".to_owned(), Some("no-push".to_owned()));
    report(&project, "a", &reported);
    assert_eq!(counts(&project), [0; 5]);
}

#[test]
fn traces_that_git_replaced_are_counted_anew_and_those_that_came_are_added() {
    let project = project();
    for _ in 0..3 {
        fires(&project, true);
    }
    // Not by the verb, which brings back what is lost within seconds.
    let tally = GuardTally::default();
    let fired = || {
        let counts = tally.counts(project.engine.store()).expect("counts");
        counts.get("no-push").map_or(0, |counts| counts.fired)
    };
    assert_eq!(fired(), 3);
    let file = project.path().join(".twining/traces.jsonl");
    let text = fs::read_to_string(&file).expect("is there");
    let first: String = text.lines().take(1).map(|line| format!("{line}\n")).collect();
    // As a checkout does: another file under this name.
    fs::remove_file(&file).expect("removes");
    fs::write(&file, &first).expect("writes");
    assert_eq!(fired(), 1);
    let mut appended = fs::File::options().append(true).open(&file).expect("opens");
    appended.write_all(&text.as_bytes()[first.len()..]).expect("writes");
    appended.write_all(text.lines().last().expect("a line").as_bytes()).expect("writes");
    assert_eq!(fired(), 3, "each id once, and no line that is still being written");
    fs::remove_file(&file).expect("removes");
    assert_eq!(fired(), 0);
}

#[test]
fn a_proposed_guard_comes_with_what_it_would_have_stopped() {
    let project = project();
    for line in ["git push", "ls", "cargo test"] {
        call(&project, "Bash", &serde_json::json!({"command": line}));
    }
    assert!(guard(&project, "no-push").backtest.is_none(), "it is in force");
    let proposed = POLICY.replace("tools:", "status: proposed\n    tools:");
    fs::write(project.path().join(".twining/policy.yml"), proposed).expect("writes");
    let test = guard(&project, "no-push").backtest.expect("is tried");
    assert_eq!((test.calls, test.would_stop, test.allowed_later), (3, 1, 1));
    call(&project, "Bash", &serde_json::json!({"command": "git push"}));
    assert_eq!(guard(&project, "no-push").backtest, Some(test), "a minute old at most");
    project.clock.advance_ms(60_000);
    assert_eq!(guard(&project, "no-push").backtest.expect("is tried").would_stop, 2);
}

#[test]
fn a_judgement_names_its_guard() {
    let project = project();
    let input = StoreTraceInput { about: Some("t-1".to_owned()), ..pushed() };
    let refused = project.engine.store_trace(&person(), &input).expect_err("is refused");
    assert!(refused.to_string().starts_with("`guard` "), "{refused}");
}
