//! Output of the reading verbs: why, trace, search, impact.

use serde_json::json;
use twining_model::DecisionStatus;

use crate::testing::{Project, caller, choice};
use crate::{
    DecideInput, ImpactInput, Risk, SearchDecisionsInput, SearchMode, TraceInput, TraceOutcome,
    WhyInput, WhyOutcome,
};

fn why(project: &Project, scope: &str) -> WhyOutcome {
    project
        .engine
        .why(&WhyInput { scope: Some(scope.into()), ..WhyInput::default() })
        .expect("explains")
}

fn page_of_one(project: &Project, scope: &str) -> WhyOutcome {
    project
        .engine
        .why(&WhyInput { scope: Some(scope.into()), limit: Some(1), ..WhyInput::default() })
        .expect("explains")
}

fn summaries(outcome: &WhyOutcome) -> Vec<&str> {
    outcome.decisions.iter().map(|decision| decision.summary.as_str()).collect()
}

fn trace(project: &Project, id: &str, direction: Option<&str>) -> TraceOutcome {
    project
        .engine
        .trace(&TraceInput { decision_id: id.into(), direction: direction.map(str::to_owned) })
        .expect("traces")
}

fn ids(outcome: &TraceOutcome) -> Vec<&str> {
    outcome.chain.iter().map(|link| link.id.as_str()).collect()
}

#[test]
fn why_finds_what_lies_inside_around_and_names_the_file_and_no_namesake() {
    let project = Project::new();
    project.decide(&choice("a", "project", "everywhere"));
    project.decide(&choice("b", "src/auth/", "around"));
    project.decide(&choice("c", "src/auth/jwt.ts", "exact"));
    project.decide(&DecideInput {
        affected_files: vec!["src/auth/jwt.ts".into()],
        ..choice("d", "docs/", "by file")
    });
    project.decide(&choice("e", "src/authority.ts", "namesake"));
    let outcome = why(&project, "src/auth/jwt.ts");
    assert_eq!(summaries(&outcome), ["exact", "by file", "around", "everywhere"]);
    let matched: Vec<&str> =
        outcome.decisions.iter().map(|decision| decision.matched.as_str()).collect();
    assert_eq!(matched, ["exact", "file", "around", "project"]);
    assert_eq!(summaries(&why(&project, "src/auth")), ["around", "by file", "exact", "everywhere"]);
}

#[test]
fn why_project_is_about_everything() {
    let project = Project::new();
    project.decide(&choice("a", "src/auth/", "inside"));
    project.decide(&choice("b", "project", "everywhere"));
    assert_eq!(why(&project, "project").total_count, 2);
}

#[test]
fn why_answers_for_a_symbol() {
    let project = Project::new();
    project.decide(&DecideInput {
        affected_symbols: vec!["verifyJwt".into()],
        ..choice("a", "src/auth/", "check the clock")
    });
    let outcome = why(&project, "verifyJwt");
    assert_eq!(
        (summaries(&outcome), outcome.decisions[0].matched.as_str()),
        (vec!["check the clock"], "symbol")
    );
}

#[test]
fn why_is_a_page_that_says_what_it_left_out() {
    let project = Project::new();
    for n in 0..5 {
        project.decide(&choice(&format!("d{n}"), "src/", &format!("choice {n}")));
    }
    let input = WhyInput { scope: Some("src/".into()), limit: Some(2), ..WhyInput::default() };
    let outcome = project.engine.why(&input).expect("explains");
    assert_eq!((summaries(&outcome), outcome.active_count), (vec!["choice 4", "choice 3"], 5));
    assert_eq!((outcome.total_count, outcome.omitted_count), (5, 3));
}

#[test]
fn binding_decisions_come_before_retired_ones_and_the_sure_before_the_unsure() {
    let project = Project::new();
    let old = project.decide(&choice("a", "src/", "old"));
    project.decide(&DecideInput {
        confidence: Some("low".into()),
        supersedes: Some(old.id.to_string()),
        ..choice("a", "src/", "unsure")
    });
    project.decide(&DecideInput { confidence: Some("high".into()), ..choice("b", "src/", "sure") });
    let outcome = why(&project, "src/");
    assert_eq!(summaries(&outcome), ["sure", "unsure", "old"]);
    assert!(outcome.decisions[2].superseded_by.is_some());
    let binding = WhyInput {
        scope: Some("src/".into()),
        include_retired: Some(false),
        ..WhyInput::default()
    };
    let outcome = project.engine.why(&binding).expect("explains");
    assert_eq!((summaries(&outcome), outcome.omitted_count), (vec!["sure", "unsure"], 1));
}

#[test]
fn two_active_decisions_that_a_merge_brought_together_are_contested() {
    let project = Project::new();
    let (left, right) = ("01M7EB3QWY4C5CPJF6982ZJQ18", "01M7EB3QWY4C5CPJF6982ZJQ19");
    project.write_decision(left, &json!({"scope": "src/cache/", "summary": "use redis"}));
    project.write_decision(right, &json!({"scope": "src/cache/", "summary": "use sqlite"}));
    let outcome = why(&project, "src/cache/");
    assert!(outcome.contested && outcome.active_count == 2);
    let contested: Vec<String> =
        outcome.decisions.iter().flat_map(|d| &d.contested_by).map(ToString::to_string).collect();
    assert_eq!(contested, [left, right], "each names the other");
}

#[test]
fn a_rival_that_falls_off_the_page_still_contests() {
    let project = Project::new();
    let (near, far) = ("01M7EB3QWY4C5CPJF6982ZJQ18", "01M7EB3QWY4C5CPJF6982ZJQ19");
    project.write_decision(near, &json!({"scope": "src/cache/", "summary": "use redis"}));
    project.write_decision(
        far,
        &json!({"scope": "project", "summary": "use sqlite", "status": "provisional"}),
    );
    let outcome = page_of_one(&project, "src/cache/");
    assert_eq!((summaries(&outcome), outcome.contested), (vec!["use redis"], true));
    assert_eq!(outcome.decisions[0].contested_by[0].as_str(), far);
}

#[test]
fn a_contest_between_decisions_that_are_not_listed_is_told() {
    let project = Project::new();
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ18",
        &json!({"scope": "src/", "domain": "testing"}),
    );
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ19",
        &json!({"scope": "project", "summary": "use redis"}),
    );
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ1A",
        &json!({"scope": "project", "summary": "use sqlite"}),
    );
    let outcome = page_of_one(&project, "src/");
    assert!(outcome.contested && outcome.decisions[0].contested_by.is_empty());
}

#[test]
fn two_provisional_decisions_do_not_contest_each_other() {
    let project = Project::new();
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ18",
        &json!({"summary": "use redis", "status": "provisional"}),
    );
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ19",
        &json!({"summary": "use sqlite", "status": "provisional"}),
    );
    assert!(!why(&project, "src/").contested);
}

#[test]
fn a_decision_torn_by_a_merge_is_said_to_be_there() {
    let project = Project::new();
    let torn = project.decide(&choice("a", "src/", "use redis")).id;
    let file = format!("decisions/{torn}.json");
    project.write(&file, "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n");
    let failure = project
        .engine
        .trace(&TraceInput { decision_id: torn.to_string(), direction: None })
        .expect_err("torn");
    let expected = format!("decision `{torn}` cannot be read from `{file}`: ");
    assert!(
        failure.code() == "NOT_FOUND" && failure.to_string().starts_with(&expected),
        "{failure}"
    );
    assert!(failure.hint().is_some_and(|hint| hint.contains(&file)));
    let outcome = why(&project, "src/");
    assert_eq!((outcome.total_count, outcome.unreadable), (0, vec![file]));
}

#[test]
fn decisions_of_different_domains_or_namesake_scopes_are_not_contested() {
    let project = Project::new();
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ18",
        &json!({"scope": "src/auth", "domain": "api"}),
    );
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ19",
        &json!({"scope": "src/auth", "domain": "testing"}),
    );
    project.write_decision(
        "01M7EB3QWY4C5CPJF6982ZJQ1A",
        &json!({"scope": "src/authority", "domain": "api"}),
    );
    let outcome = why(&project, "src");
    assert_eq!((outcome.active_count, outcome.contested), (3, false));
}

#[test]
fn a_trace_holds_the_root_what_it_rests_on_and_what_rests_on_it() {
    let project = Project::new();
    let base = project.decide(&choice("a", "src/", "base"));
    let middle = project.decide(&DecideInput {
        depends_on: vec![base.id.to_string(); 2],
        ..choice("b", "src/", "middle")
    });
    let top = project.decide(&DecideInput {
        depends_on: vec![middle.id.to_string()],
        ..choice("c", "src/", "top")
    });
    let both = trace(&project, middle.id.as_str(), None);
    assert_eq!(ids(&both), [middle.id.as_str(), base.id.as_str(), top.id.as_str()]);
    assert_eq!(both.chain[0].depends_on, [base.id.to_string()]);
    assert_eq!(both.chain[0].dependents, std::slice::from_ref(&top.id));
    assert_eq!(
        ids(&trace(&project, middle.id.as_str(), Some("upstream"))),
        [middle.id.as_str(), base.id.as_str()]
    );
    assert_eq!(
        ids(&trace(&project, base.id.as_str(), Some("downstream"))),
        [base.id.as_str(), middle.id.as_str(), top.id.as_str()]
    );
    let sideways = project
        .engine
        .trace(&TraceInput { decision_id: top.id.to_string(), direction: Some("sideways".into()) });
    assert!(sideways.expect_err("refused").to_string().starts_with("`direction` "));
}

#[test]
fn a_loop_of_dependencies_made_by_hand_is_walked_once() {
    let project = Project::new();
    let ring =
        ["01M7EB3QWY4C5CPJF6982ZJQ18", "01M7EB3QWY4C5CPJF6982ZJQ19", "01M7EB3QWY4C5CPJF6982ZJQ1A"];
    for (n, id) in ring.iter().enumerate() {
        project.write_decision(
            id,
            &json!({"depends_on": [ring[(n + 1) % 3], id], "supersedes": ring[(n + 2) % 3]}),
        );
    }
    let outcome = trace(&project, ring[0], None);
    assert_eq!((outcome.chain.len(), outcome.truncated), (3, false));
    let impact =
        project.engine.impact(&ImpactInput { decision_id: ring[0].into() }).expect("weighs");
    assert_eq!(impact.dependents.len(), 2);
}

#[test]
fn dependencies_that_are_gone_are_named_and_not_invented() {
    let project = Project::new();
    let (id, gone) = ("01M7EB3QWY4C5CPJF6982ZJQ18", "01M7EB3QWY4C5CPJF6982ZJQ1B");
    project.write_decision(id, &json!({"depends_on": [gone, "../../etc/passwd"]}));
    assert_eq!(trace(&project, id, None).missing, ["../../etc/passwd", gone]);
    let unknown = project
        .engine
        .trace(&TraceInput { decision_id: gone.into(), direction: None })
        .expect_err("unknown");
    assert_eq!(unknown.code(), "NOT_FOUND");
    let hostile = project
        .engine
        .trace(&TraceInput { decision_id: "../../x".into(), direction: None })
        .expect_err("no id");
    assert_eq!(hostile.code(), "INVALID_INPUT");
}

#[test]
fn decisions_are_found_by_words_and_filtered_by_status() {
    let project = Project::new();
    let old = project.decide(&choice("cache", "src/", "use redis for sessions"));
    project.decide(&DecideInput {
        supersedes: Some(old.id.to_string()),
        ..choice("cache", "src/", "use sqlite for sessions")
    });
    let find = |status: Option<&str>| {
        let input = SearchDecisionsInput {
            query: "sessions".into(),
            status: status.map(str::to_owned),
            ..SearchDecisionsInput::default()
        };
        project.engine.search_decisions(&input).expect("searches")
    };
    assert_eq!((find(None).results.len(), find(None).mode), (2, SearchMode::Keyword));
    let active = find(Some("active"));
    assert_eq!(
        (active.results.len(), active.results[0].decision.status),
        (1, DecisionStatus::Active)
    );
    let wrong = SearchDecisionsInput {
        query: "x".into(),
        status: Some("alive".into()),
        ..SearchDecisionsInput::default()
    };
    assert!(
        project
            .engine
            .search_decisions(&wrong)
            .expect_err("refused")
            .to_string()
            .starts_with("`status` ")
    );
}

#[test]
fn the_impact_of_a_decision_is_all_that_rests_on_it() {
    let project = Project::new();
    let base = project.decide(&DecideInput {
        affected_files: vec!["src/a.rs".into()],
        commit_hash: Some("abcdef1".into()),
        ..choice("a", "src/", "base")
    });
    let middle = project.decide(&DecideInput {
        depends_on: vec![base.id.to_string()],
        affected_files: vec!["src/b.rs".into()],
        ..choice("b", "src/", "middle")
    });
    project.decide(&DecideInput {
        depends_on: vec![middle.id.to_string()],
        affected_symbols: vec!["run".into()],
        ..choice("c", "src/", "top")
    });
    let impact =
        project.engine.impact(&ImpactInput { decision_id: base.id.to_string() }).expect("weighs");
    let depths: Vec<u64> = impact.dependents.iter().map(|dependent| dependent.depth).collect();
    assert_eq!((depths, impact.risk), (vec![1, 2], Risk::Medium));
    assert_eq!(
        (impact.affected_files, impact.affected_symbols),
        (vec!["src/a.rs".to_owned(), "src/b.rs".into()], vec!["run".to_owned()])
    );
    assert_eq!(impact.commits, ["abcdef1"]);
    assert!(impact.entities.iter().any(|entity| entity.name == "src/a.rs"));
    assert_eq!(impact.entries.len(), 1, "its announcement relates to it");
    assert_eq!(impact.rests_on_it, "1 decision", "what is direct; no announcement");
    assert!(impact.summary.starts_with("Medium risk: 2 dependent decisions"), "{}", impact.summary);
    let final_one = project
        .engine
        .decide(
            &caller("ada"),
            &DecideInput { reversible: Some(false), ..choice("d", "src/", "burn it") },
        )
        .expect("decides");
    assert_eq!(
        project
            .engine
            .impact(&ImpactInput { decision_id: final_one.id.to_string() })
            .expect("weighs")
            .risk,
        Risk::High
    );
}
