mod budget;
mod changes;
mod explain;
mod ranking;
mod summary;

use crate::testing::{Project, caller, choice};
use crate::{AssembleInput, AssembledContext, DecideInput, PostInput};
use twining_testcases::each;

fn assemble(
    project: &Project,
    task: &str,
    scope: &str,
    max_tokens: Option<usize>,
) -> AssembledContext {
    let input = AssembleInput {
        task: task.into(),
        scope: scope.into(),
        max_tokens,
        ..AssembleInput::default()
    };
    project.engine.assemble(&caller("ada"), &input).expect("assembles")
}

fn tokens(context: &AssembledContext) -> usize {
    serde_json::to_string(context).expect("is JSON").chars().count().div_ceil(4)
}

#[test]
fn a_task_gets_the_decisions_warnings_needs_and_questions_of_its_scope() {
    let project = Project::new();
    project.decide(&DecideInput {
        affected_files: vec!["src/auth/jwt.ts".into()],
        ..choice("api", "src/auth/", "use JWT")
    });
    project.decide(&choice("api", "docs/", "write less"));
    project.post_in("src/auth/jwt.ts", "warning", "clock skew");
    project.post_in("project", "need", "a reviewer");
    project.post_in("src/auth/", "question", "which library?");
    project.post_in("src/auth/", "finding", "tokens expire");
    project.post_in("docs/", "warning", "typos");
    let context = assemble(&project, "rotate keys", "src/auth/jwt.ts", None);
    assert_eq!(
        context.active_decisions.iter().map(|d| d.summary.as_str()).collect::<Vec<_>>(),
        ["use JWT"]
    );
    assert_eq!(
        context.active_warnings.iter().map(|e| e.summary.as_str()).collect::<Vec<_>>(),
        ["clock skew"]
    );
    assert_eq!(
        (context.open_needs.len(), context.recent_questions.len(), context.recent_findings.len()),
        (1, 1, 1)
    );
    assert_eq!(context.related_entities[0].name, "src/auth/jwt.ts");
    assert_eq!(context.related_entities[0].relations, ["decided_by use JWT"]);
    assert_eq!((context.omitted_count, context.scope.as_str()), (0, "src/auth/jwt.ts"));
}

#[test]
fn whatever_bears_on_the_scope_is_told_named_or_at_least_counted() {
    let project = Project::new();
    for n in 0..130 {
        project.decide(&choice(&format!("d{n}"), "src/x.rs", &format!("choice {n}")));
    }
    let kinds = ["warning", "need", "question", "finding"];
    for kind in kinds {
        (0..70).for_each(|n| {
            drop(project.post_in("src/x.rs", kind, &format!("{kind} number {n} of its own")));
        });
    }
    for max_tokens in [600, 4000, 25_000, 100_000] {
        let context = assemble(&project, "refactor the parser", "src/x.rs", Some(max_tokens));
        let shown = [
            &context.open_needs,
            &context.recent_findings,
            &context.active_warnings,
            &context.recent_questions,
        ]
        .map(Vec::len);
        let shown = context.active_decisions.len() + shown.iter().sum::<usize>();
        assert_eq!(
            shown as u64 + context.omitted_count,
            130 + 4 * 70,
            "at {max_tokens}: {shown} told"
        );
        assert!(tokens(&context) <= max_tokens);
        if max_tokens == 100_000 {
            assert_eq!(context.omitted_count, 0, "there is room for all");
        }
    }
}

#[test]
fn what_is_settled_is_not_told() {
    let project = Project::new();
    let old = project.decide(&choice("api", "src/", "use REST"));
    project.decide(&DecideInput {
        supersedes: Some(old.id.to_string()),
        ..choice("api", "src/", "use gRPC")
    });
    let warning = project.post_in("src/", "warning", "flaky");
    project.reply("status", "fixed", &warning);
    let context = assemble(&project, "use the api", "src/", None);
    assert_eq!(
        context.active_decisions.iter().map(|d| d.summary.as_str()).collect::<Vec<_>>(),
        ["use gRPC"]
    );
    assert!(context.active_warnings.is_empty());
}

#[test]
fn announcements_on_the_board_are_no_decisions_and_no_findings() {
    let project = Project::new();
    let decided = project.decide(&choice("api", "src/", "use REST"));
    let context = assemble(&project, "use REST", "src/", None);
    assert_eq!(context.active_decisions.len(), 1);
    assert_eq!(context.active_decisions[0].id, decided.id);
    assert!(context.recent_findings.is_empty());
}

#[test]
fn a_decision_elsewhere_that_speaks_of_the_task_is_found_by_its_words() {
    let project = Project::new();
    project.decide(&choice("data", "src/db/", "paginate with cursors"));
    let context = assemble(&project, "add cursors to the list", "src/api/", None);
    assert_eq!(context.active_decisions[0].summary, "paginate with cursors");
}

#[test]
fn the_budget_holds_for_the_json_that_is_returned_at_any_size() {
    let project = Project::new();
    for n in 0..40 {
        project.decide(&DecideInput {
            rationale: "because \"quotes\" and é ".repeat(30),
            ..choice(&format!("d{n}"), "src/", &format!("choice {n}"))
        });
        let detail = Some("line\nbreaks \\ ".repeat(40));
        let input = PostInput {
            entry_type: "warning".into(),
            summary: format!("beware {n}"),
            detail,
            scope: Some("src/".into()),
            ..PostInput::default()
        };
        project.engine.post(&caller("ada"), &input).expect("posts");
    }
    for budget in [120, 150, 200, 333, 500, 1000, 4000, 20_000] {
        let context = assemble(&project, "do \"it\"", "src/", Some(budget));
        assert!(tokens(&context) <= budget, "{} of {budget}", tokens(&context));
        assert_eq!(context.token_estimate as usize, tokens(&context), "at {budget}");
        let shown = context.active_decisions.len() + context.active_warnings.len();
        assert_eq!(
            shown as u64 + context.omitted_count,
            80,
            "at {budget}: everything is told or counted"
        );
    }
}

#[test]
fn a_board_full_of_warnings_does_not_crowd_out_decisions() {
    let project = Project::new();
    for n in 0..20 {
        project.decide(&DecideInput {
            confidence: Some("low".into()),
            ..choice(&format!("d{n}"), "src/", &format!("choice {n}"))
        });
    }
    project.clock.advance_days(60);
    for n in 0..100 {
        project.post_in(
            "src/",
            "warning",
            &format!("beware of the cache {n}, and of what comes after it"),
        );
    }
    let context = assemble(&project, "beware of the cache", "src/", Some(2000));
    assert!(context.active_decisions.len() >= 10, "{}", context.active_decisions.len());
    assert!(!context.active_warnings.is_empty());
    assert!(context.omitted_count > 0 && !context.omitted.is_empty());
}

#[test]
fn many_decisions_do_not_crowd_out_a_warning_or_a_need() {
    let project = Project::new();
    project.post_in("src/", "warning", "old and true");
    project.post_in("src/", "need", "old and open");
    project.clock.advance_days(60);
    for n in 0..60 {
        project.decide(&DecideInput {
            confidence: Some("high".into()),
            ..choice(&format!("d{n}"), "src/", &format!("choice of cache {n}"))
        });
    }
    let context = assemble(&project, "cache", "src/", Some(2000));
    assert_eq!((context.active_warnings.len(), context.open_needs.len()), (1, 1));
}

#[test]
fn a_budget_too_small_for_the_question_is_refused_with_the_size_it_needs() {
    let project = Project::new();
    let input = AssembleInput {
        task: "t".repeat(2000),
        scope: "src/".into(),
        max_tokens: Some(20),
        ..AssembleInput::default()
    };
    let failure = project.engine.assemble(&caller("ada"), &input).expect_err("refused");
    assert!(failure.to_string().starts_with("`max_tokens` must be at least "), "{failure}");
    each(
        [
            ("task", AssembleInput { scope: "src/".into(), ..AssembleInput::default() }),
            ("scope", AssembleInput { task: "x".into(), ..AssembleInput::default() }),
            (
                "max_tokens",
                AssembleInput {
                    task: "x".into(),
                    scope: "src/".into(),
                    max_tokens: Some(0),
                    ..AssembleInput::default()
                },
            ),
        ],
        |(field, input)| {
            let failure = project.engine.assemble(&caller("ada"), &input).expect_err("refused");
            assert!(failure.to_string().starts_with(&format!("`{field}` ")), "{failure}");
        },
    );
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let project = Project::new();
    for n in 0..30 {
        project.decide(&choice(&format!("d{n}"), "src/", &format!("choice {n}")));
        project.post_in("src/", "finding", &format!("finding {n}"));
    }
    let ask = || {
        serde_json::to_string(&assemble(&project, "choice", "src/", Some(1500))).expect("is JSON")
    };
    assert_eq!(ask(), ask());
}
