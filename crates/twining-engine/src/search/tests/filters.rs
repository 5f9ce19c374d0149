//! A filter narrows what words find and what meaning finds alike.

use super::{LOGGED_OUT, found};
use crate::testing::{Project, caller, choice};
use crate::{DecideInput, Engine, PostInput, QueryInput, SearchDecisionsInput};
use twining_testcases::each;

const INSIDE: &str = "users are logged out when their session token expires";
const OUTSIDE: &str = "users are logged out when the session token is rotated";

/// Both ways of finding: by words with no vector at hand, by meaning with no word in common.
fn both_ways(project: &Project, check: &dyn Fn(&Engine, &str)) {
    check(&project.another_engine(), "session token");
    project.make_vectors();
    check(&project.engine, "session token");
    check(&project.engine, LOGGED_OUT);
}

fn narrowed(project: &Project, filter: &QueryInput) {
    both_ways(project, &|engine, question| {
        let all = engine
            .query(&QueryInput { query: question.into(), ..QueryInput::default() })
            .expect("searches");
        assert!(found(&all).contains(&OUTSIDE), "{question}: {all:?}");
        let some = engine
            .query(&QueryInput { query: question.into(), ..filter.clone() })
            .expect("searches");
        assert_eq!(found(&some), [INSIDE], "{question}");
    });
}

fn post(project: &Project, kind: &str, summary: &str, scope: &str, tags: &[&str]) -> String {
    let input = PostInput {
        entry_type: kind.into(),
        summary: summary.into(),
        scope: Some(scope.into()),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..PostInput::default()
    };
    project.engine.post(&caller("ada"), &input).expect("posts").id
}

#[test]
fn by_type() {
    let project = Project::with_model();
    post(&project, "warning", INSIDE, "src/", &[]);
    post(&project, "finding", OUTSIDE, "src/", &[]);
    narrowed(
        &project,
        &QueryInput { entry_types: vec!["warning".into(), "need".into()], ..QueryInput::default() },
    );
}

#[test]
fn by_tag() {
    let project = Project::with_model();
    post(&project, "finding", INSIDE, "src/", &["auth", "web"]);
    post(&project, "finding", OUTSIDE, "src/", &["authority"]);
    narrowed(
        &project,
        &QueryInput { tags: vec!["auth".into(), "unheard-of".into()], ..QueryInput::default() },
    );
}

#[test]
fn by_scope_and_not_by_a_namesake() {
    let project = Project::with_model();
    post(&project, "finding", INSIDE, "src/auth/session.rs", &[]);
    post(&project, "finding", OUTSIDE, "src/authority/session.rs", &[]);
    narrowed(&project, &QueryInput { scope: Some("src/auth".into()), ..QueryInput::default() });
}

#[test]
fn by_what_is_still_open() {
    let project = Project::with_model();
    post(&project, "warning", INSIDE, "src/", &[]);
    let settled = post(&project, "warning", OUTSIDE, "src/", &[]);
    project.reply("status", "fixed in the gateway", &settled);
    narrowed(&project, &QueryInput { status: Some("open".into()), ..QueryInput::default() });
}

#[test]
fn by_time() {
    let project = Project::with_model();
    post(&project, "finding", OUTSIDE, "src/", &[]);
    project.clock.advance_days(1);
    let since = project.clock.now().to_string();
    post(&project, "finding", INSIDE, "src/", &[]);
    narrowed(&project, &QueryInput { since: Some(since), ..QueryInput::default() });
}

#[test]
fn an_announcement_passes_the_filters_like_any_entry() {
    let project = Project::with_model();
    project.decide(&choice("data", "src/authority/", OUTSIDE));
    project.clock.advance_days(1);
    let since = project.clock.now().to_string();
    project.decide(&choice("api", "src/auth/", INSIDE));
    for filter in [
        QueryInput { scope: Some("src/auth/".into()), ..QueryInput::default() },
        QueryInput { tags: vec!["api".into()], ..QueryInput::default() },
        QueryInput {
            since: Some(since),
            entry_types: vec!["decision".into()],
            ..QueryInput::default()
        },
    ] {
        narrowed(&project, &filter);
    }
    let findings = QueryInput {
        query: "session token".into(),
        entry_types: vec!["finding".into()],
        ..QueryInput::default()
    };
    assert!(project.engine.query(&findings).expect("searches").results.is_empty());
}

#[test]
fn an_announcement_in_scope_is_found_behind_hundreds_of_better_decisions_elsewhere() {
    let project = Project::new();
    project.decide(&choice(
        "api",
        "src/auth/",
        "the gate and its token: a long story of many words about something else altogether",
    ));
    for n in 0..220 {
        let id = format!("01M7EB3QWY4C5CPJF69820{n:04}");
        project.write_decision(&id, &serde_json::json!({"scope": "docs/", "summary": format!("token {n}"), "rationale": "token"}));
    }
    let input = QueryInput {
        query: "token".into(),
        scope: Some("src/auth/".into()),
        ..QueryInput::default()
    };
    assert_eq!(project.engine.query(&input).expect("searches").results.len(), 1);
}

#[test]
fn decisions_are_narrowed_by_domain_status_confidence_scope_and_time() {
    let project = Project::with_model();
    let high = |input| DecideInput { confidence: Some("high".into()), ..input };
    let outside = project.decide(&choice("data", "src/authority/", OUTSIDE));
    project.decide(&DecideInput {
        supersedes: Some(outside.id.to_string()),
        ..choice("data", "src/authority/", "log nobody out")
    });
    project.clock.advance_days(1);
    let since = project.clock.now().to_string();
    project.decide(&high(choice("api", "src/auth/", INSIDE)));
    let any = SearchDecisionsInput::default();
    each(
        [
            SearchDecisionsInput { domain: Some("api".into()), ..any.clone() },
            SearchDecisionsInput { confidence: Some("high".into()), ..any.clone() },
            SearchDecisionsInput { scope: Some("src/auth/".into()), ..any.clone() },
            SearchDecisionsInput { since: Some(since), ..any.clone() },
        ],
        |filter| {
            both_ways(&project, &|engine, question| {
                let outcome = engine
                    .search_decisions(&SearchDecisionsInput {
                        query: question.into(),
                        ..filter.clone()
                    })
                    .expect("searches");
                let summaries: Vec<&str> =
                    outcome.results.iter().map(|hit| hit.decision.summary.as_str()).collect();
                assert_eq!(summaries, [INSIDE], "{question} {filter:?}");
            });
        },
    );
    both_ways(&project, &|engine, question| {
        let of = |status: &str| {
            let input = SearchDecisionsInput {
                query: question.into(),
                status: Some(status.into()),
                ..any.clone()
            };
            let outcome = engine.search_decisions(&input).expect("searches");
            outcome
                .results
                .into_iter()
                .map(|hit| hit.decision.summary)
                .filter(|s| s.starts_with("users"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (of("active"), of("superseded")),
            (vec![INSIDE.to_owned()], vec![OUTSIDE.to_owned()]),
            "{question}"
        );
    });
}

#[test]
fn a_typo_in_a_filter_is_refused_by_name() {
    let project = Project::new();
    let any = QueryInput { query: "x".into(), ..QueryInput::default() };
    each(
        [
            ("status", QueryInput { status: Some("opened".into()), ..any.clone() }),
            ("since", QueryInput { since: Some("yesterday".into()), ..any.clone() }),
            ("entry_types", QueryInput { entry_types: vec!["findings".into()], ..any.clone() }),
            ("scope", QueryInput { scope: Some("../x".into()), ..any.clone() }),
        ],
        |(field, input)| {
            let refused = project.engine.query(&input).expect_err("refused").to_string();
            assert!(refused.starts_with(&format!("`{field}` ")), "{refused}");
        },
    );
}
