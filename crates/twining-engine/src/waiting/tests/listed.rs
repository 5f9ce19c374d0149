//! What is listed, in which order, and what is said of it.

use super::*;
use crate::ImpactInput;

#[test]
fn a_contradiction_names_both_sides_and_what_each_answer_would_do() {
    let project = Project::new();
    let (jwt, sessions) = contradiction(&project);
    let item = waiting(&project).remove(0);
    assert_eq!(item.id, format!("contested:{sessions}"));
    assert_eq!(item.title, "Use server sessions ⇄ Use stateless JWT");
    assert_eq!((item.by.as_deref(), item.scope.as_deref()), (Some("bob"), Some("src/auth/")));
    let sides: Vec<(String, Option<&str>)> =
        item.subjects.iter().map(|side| (side.id.clone(), side.rests_on_it.as_deref())).collect();
    assert_eq!(
        sides,
        [(sessions.to_string(), Some("")), (jwt.to_string(), Some("1 decision, 1 guard"))]
    );
    let weighed = ImpactInput { decision_id: jwt.to_string() };
    let impact = project.engine.impact(&weighed).expect("weighs");
    assert_eq!(impact.rests_on_it, "1 decision, 1 guard", "its page says the same");
    let labels: Vec<&str> = item.answers.iter().map(|answer| answer.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "Keep \"Use stateless JWT\"",
            "Take \"Use server sessions\"",
            "Keep both",
            "Write a third"
        ]
    );
    assert_eq!(
        item.answers[1].then,
        "\"Use stateless JWT\" is overridden; \"Use server sessions\" is in force. express-session is no longer ruled out by that. 1 decision that rests on what is overridden is flagged."
    );
    assert_eq!(
        Value::Object(item.answers[1].input.clone()),
        json!({"decision_ids": [sessions], "instead_of": [jwt]})
    );
}

#[test]
fn a_contradiction_of_three_speaks_of_no_two() {
    let project = Project::new();
    let first = project.decide(&choice("api", "src/a/", "Use REST")).id;
    let second = project.decide(&choice("api", "src/b/", "Use SOAP")).id;
    let newcomer = project.decide(&choice("api", "src/", "Use gRPC")).id;
    let item = waiting(&project).remove(0);
    assert_eq!(item.title, "Use gRPC ⇄ Use REST and 1 more");
    assert_eq!(item.subjects.len(), 3);
    let said = item.answers.iter().map(|answer| format!("{}: {}\n", answer.label, answer.then));
    let said = said.chain([item.why_you.clone()]).collect::<String>();
    for two in ["oth ", "third", "the other "] {
        assert!(!said.contains(two), "{two}: {said}");
    }
    let keep_all = &item.answers[2];
    assert_eq!(keep_all.label, "Keep all");
    give(&project, keep_all).expect("is given");
    assert_eq!(kinds(&project), []);
    let agreed = project.decision(&newcomer).compatible_with;
    assert_eq!(agreed, [first.to_string(), second.to_string()]);
}

#[test]
fn the_gravest_kind_comes_first_and_in_it_what_waited_longest() {
    let project = Project::new();
    let second = project.post("need", "wait for me");
    let first = project.post("question", "which one?");
    let third = project.post("need", "wait for me too");
    project.clock.advance_ms(LATER_MS);
    doubt(&project);
    project.write("policy.yml", "guards: [\n");
    let ids: Vec<String> = waiting(&project).into_iter().map(|item| item.id).collect();
    assert_eq!(ids[0], "dead_guard:.twining/policy.yml");
    assert!(ids[1].starts_with("contested:"), "{ids:?}");
    let entries = [("question", first), ("need", second), ("need", third)];
    assert_eq!(ids[2..], entries.map(|(kind, id)| format!("{kind}:{id}")));
}

#[test]
fn pages_go_on_through_the_kinds_and_count_all_of_them() {
    let project = Project::new();
    for n in 0..3 {
        project.post_in("src/", "question", &format!("question {n}"));
        project.post_in("docs/", "need", &format!("need {n}"));
    }
    project.clock.advance_ms(LATER_MS);
    project.post("question", "just asked");
    doubt(&project);
    let mut titles = Vec::new();
    let mut offset = Some(0);
    while let Some(at) = offset {
        let page = ask(
            &project,
            &WaitingInput { limit: Some(2), offset: Some(at), ..WaitingInput::default() },
        );
        assert_eq!(page.total, 7);
        titles.extend(page.items.into_iter().map(|item| item.title));
        offset = page.next_offset;
    }
    let expected = [
        "Reconsider: Use REST",
        "question 0",
        "question 1",
        "question 2",
        "need 0",
        "need 1",
        "need 2",
    ];
    assert_eq!(titles, expected);
    let input = WaitingInput {
        kinds: vec!["need".into(), "question".into()],
        scope: Some("docs/".into()),
        ..WaitingInput::default()
    };
    let counts = ask(&project, &input).counts;
    assert_eq!((counts.len(), counts[0].kind, counts[0].count), (1, WaitingKind::Need, 3));
    let unknown = WaitingInput { kinds: vec!["gossip".into()], ..WaitingInput::default() };
    let (user, sources) = (UserPolicy::default(), |user| WaitingSources { user, git: None });
    assert!(project.engine.waiting(&sources(&user), &unknown).is_err());
}

#[test]
fn a_guard_that_fails_its_own_examples_and_a_graph_with_errors_wait() {
    let project = Project::new();
    project.post("finding", "one");
    project.write(
        "policy.yml",
        "guards:\n  - id: no-push\n    tools: [Bash]\n    when: {command: git push}\n    examples: {blocks: [git pull]}\n    say: people push\n",
    );
    project.write("knowledge.dot", "digraph { a [type=nonsense]; b -> ; }\n");
    let items = waiting(&project);
    assert_eq!(
        items.iter().map(|item| (item.id.as_str(), item.gravity)).collect::<Vec<_>>(),
        [
            ("dead_guard:no-push", Gravity::Grave),
            ("knowledge_error:.twining/knowledge.dot", Gravity::Minor)
        ]
    );
    assert_eq!(items[0].answers[0].command, "${EDITOR:-vi} +2 .twining/policy.yml");
    assert_eq!(items[0].answers[0].verb, "", "only a person edits a policy");
}

#[test]
fn nothing_waits_where_there_is_no_memory_and_none_is_made() {
    let project = Project::new();
    assert_eq!(ask(&project, &WaitingInput::default()).total, 0);
    assert!(!project.path().join(".twining").exists());
}

#[test]
fn a_brief_counts_what_is_listed() {
    let project = Project::new();
    contradiction(&project);
    project.post("question", "which one?");
    project.clock.advance_ms(LATER_MS);
    project.post("question", "and which now?");
    assert_eq!(kinds(&project), [WaitingKind::Contested, WaitingKind::Question]);
    let brief = project.engine.waiting_brief().expect("counts");
    let brief: Vec<_> = brief.iter().map(|counted| (counted.kind, counted.count)).collect();
    assert_eq!(brief, [(WaitingKind::Contested, 1), (WaitingKind::Question, 1)]);
}
