//! Patterns: what keeps happening, and who may say so.

use super::*;
use crate::{Pattern, PatternsInput, ProposalKind};

fn patterns(project: &Project) -> Vec<Pattern> {
    let outcome = project
        .engine
        .extract_patterns(&UserPolicy::default(), &PatternsInput::default())
        .expect("extracts");
    outcome.patterns
}

#[test]
fn five_equal_violations_are_one_pattern_however_often_it_is_asked() {
    let project = Project::new();
    for n in 0..5 {
        seen(&project, |seen| seen.why = format!("it pushes `branch-{n}`, {n}{n} commits"));
    }
    seen(&project, |seen| seen.why = "something else".to_owned());
    let found = patterns(&project);
    assert_eq!(found.len(), 1, "once is no pattern: {found:?}");
    assert_eq!(
        (found[0].count, found[0].counted, found[0].action.as_str()),
        (5, 5, "Bash: git push")
    );
    assert_eq!(found[0].proposal.as_ref().map(|proposal| proposal.kind), Some(ProposalKind::Guard));
    let shown = |found: Vec<Pattern>| serde_json::to_string(&found).expect("prints");
    assert_eq!(shown(found), shown(patterns(&project)));
    assert_eq!(
        std::fs::read_dir(project.path().join(".twining"))
            .expect("is there")
            .filter(|file| file.as_ref().is_ok_and(|file| file.file_name() == "policy.yml"))
            .count(),
        0
    );
}

#[test]
fn a_guard_that_holds_needs_no_second_one_and_one_that_warns_may_be_made_stricter() {
    let project = Project::new();
    for _ in 0..3 {
        seen(&project, |seen| (seen.guard, seen.blocked) = (Some("tested-needs-evidence"), true));
        seen(&project, |seen| seen.guard = Some("read-logs-with-tools"));
    }
    let found = patterns(&project);
    let kind = |guard: &str| {
        found
            .iter()
            .find(|pattern| pattern.guard.as_deref() == Some(guard))
            .and_then(|pattern| pattern.proposal.as_ref())
            .map(|p| p.kind)
    };
    assert_eq!(kind("tested-needs-evidence"), Some(ProposalKind::Prompt));
    assert_eq!(kind("read-logs-with-tools"), Some(ProposalKind::Stricter));
}

#[test]
fn a_guess_and_a_program_are_shown_and_propose_nothing() {
    let project = Project::new();
    for _ in 0..9 {
        seen(&project, |seen| seen.guessed = true);
    }
    let found = patterns(&project);
    assert_eq!((found[0].count, found[0].counted), (9, 0));
    assert!(found[0].proposal.is_none());
}

#[test]
fn s15_a_flood_of_reports_from_one_session_is_one_voice() {
    let project = Project::new();
    for _ in 0..200 {
        report(&project, "evil", &pushed());
    }
    let found = patterns(&project);
    assert_eq!((found[0].count, found[0].counted), (200, 1));
    assert!(found[0].proposal.is_none());
    report(&project, "second", &pushed());
    report(&project, "third", &pushed());
    assert!(patterns(&project)[0].proposal.is_some());
}

#[test]
fn one_process_that_makes_up_sessions_is_one_voice() {
    let project = Project::new();
    for session in ["s-1", "s-2", "s-3", "s-4"] {
        project.clock.advance_ms(1);
        let mut agent = agent_in(session);
        agent.origin.via = Channel::Cli;
        project.engine.store_trace(&agent, &pushed()).expect("stores");
    }
    let found = patterns(&project);
    assert_eq!(
        (found[0].count, found[0].counted),
        (4, 1),
        "a command says of itself in which session it is given"
    );
    assert!(found[0].proposal.is_none());
}

#[test]
fn traces_that_came_with_a_clone_propose_nothing_whatever_they_claim() {
    let project = Project::new();
    report(&project, "s", &pushed());
    let path = project.path().join(".twining/traces.jsonl");
    let ours = std::fs::read_to_string(&path).expect("is there");
    let mut text = ours.clone();
    for n in 0..50 {
        let line = ours
            .trim_end()
            .replace("\"id\":\"", &format!("\"id\":\"{n}-"))
            .replace("\"agent\"}", "\"human\"}")
            .replace("reported", "enforcement_hook");
        text.push_str(&format!("{line}\n"));
    }
    std::fs::write(&path, text).expect("writes");
    let found = patterns(&project);
    assert_eq!((found[0].count, found[0].counted), (51, 1));
    assert!(found[0].proposal.is_none());
    let hits =
        project.engine.query_traces(&crate::QueryTracesInput::default()).expect("finds").traces;
    assert!(
        hits.iter().filter(|hit| hit.trust == Trust::Imported).count() >= 19,
        "and are shown as what they are"
    );
}
