use serde_json::json;
use twining_testcases::each;

use super::{LOGGED_OUT, about_sessions, ask, finding, found};
use crate::testing::{Project, caller, choice};
use crate::{DecideInput, PostInput, QueryInput, SearchDecisionsInput, SearchMode};

#[test]
fn an_entry_is_found_by_its_meaning_though_no_word_is_shared() {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    let outcome = ask(&project.engine, LOGGED_OUT);
    assert_eq!(found(&outcome)[0], "users are logged out when their session token expires");
    assert_eq!(outcome.mode, SearchMode::Hybrid);
    let why = outcome.results[0].why;
    assert!(why.lexical == 0.0 && why.semantic > 0.1, "{why:?}");
}

#[test]
fn an_entry_is_found_by_its_words_at_once_and_by_its_meaning_once_it_is_embedded() {
    let project = Project::with_model();
    project.post("finding", "the release notes are generated from commit messages");
    project.make_vectors();
    project.post("finding", "users are logged out when their session token expires");
    let by_words = ask(&project.engine, "session token");
    assert_eq!(found(&by_words)[0], "users are logged out when their session token expires");
    assert_eq!(by_words.mode, SearchMode::Hybrid, "the others have vectors");
    assert!(
        by_words.results[0].why.lexical > 0.0 && by_words.results[0].why.semantic == 0.0,
        "{by_words:?}"
    );
    let is_found = || {
        found(&ask(&project.engine, LOGGED_OUT))
            .iter()
            .any(|summary| summary.starts_with("users are logged out"))
    };
    assert!(!is_found(), "its meaning is not known yet");
    project.make_vectors();
    assert!(is_found());
}

#[test]
fn a_project_without_vectors_answers_by_keyword_and_says_so() {
    let project = Project::with_model();
    about_sessions(&project);
    let outcome = ask(&project.engine, "session token");
    assert_eq!(
        (outcome.mode, found(&outcome)[0]),
        (SearchMode::Keyword, "users are logged out when their session token expires")
    );
    let by_words_alone = project.another_engine();
    assert_eq!(ask(&by_words_alone, "session token").mode, SearchMode::Keyword);
    let decisions = project.engine.search_decisions(&SearchDecisionsInput {
        query: "session".into(),
        ..SearchDecisionsInput::default()
    });
    assert_eq!(decisions.expect("searches").mode, SearchMode::Keyword);
}

#[test]
fn a_question_without_a_word_is_answered_by_meaning_and_says_so() {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    let outcome = ask(&project.engine, "?! 🔐");
    assert_eq!(outcome.mode, SearchMode::Semantic);
    assert!(outcome.results.iter().all(|hit| hit.why.lexical == 0.0));
}

#[test]
fn what_was_found_says_what_spoke_for_it_and_the_parts_add_up() {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    let outcome = ask(&project.engine, "session token expiry");
    let first = &outcome.results[0];
    assert!(first.why.lexical > 0.0 && first.why.semantic > 0.0, "{:?}", first.why);
    each(&outcome.results, |hit| {
        assert!((0.0..=1.0).contains(&hit.relevance), "{hit:?}");
        assert!((hit.why.worth().clamp(0.0, 1.0) - hit.relevance).abs() < 0.005, "{hit:?}");
    });
    let shown = serde_json::to_value(first).expect("is JSON");
    assert_eq!(
        shown["why"].as_object().expect("an object").keys().collect::<Vec<_>>(),
        ["lexical", "semantic"],
        "only what counted"
    );
    assert!(outcome.results.is_sorted_by(|a, b| a.relevance >= b.relevance), "best first");
}

#[test]
fn an_identifier_answers_to_its_parts_and_its_parts_to_the_identifier() {
    let project = Project::new();
    project.post("finding", "getUserProfile is slow");
    project.post("finding", "the parser is fast");
    each(
        [
            "user profile",
            "user_profile",
            "UserProfile",
            "get-user-profile",
            "getUserProfile",
            "USER_PROFILE",
        ],
        |question| {
            assert_eq!(
                found(&ask(&project.engine, question)),
                ["getUserProfile is slow"],
                "{question}"
            );
        },
    );
    project.post("finding", "parse_http_header drops a comma");
    project.post("finding", "the XMLHttpRequest shim is gone");
    assert_eq!(
        found(&ask(&project.engine, "parseHttpHeader"))[0],
        "parse_http_header drops a comma"
    );
    assert_eq!(
        found(&ask(&project.engine, "xml http request"))[0],
        "the XMLHttpRequest shim is gone"
    );
}

#[test]
fn words_are_found_in_their_other_forms() {
    let project = Project::new();
    project.post("finding", "expired tokens are cached twice");
    each(["token expires", "caching", "expire"], |question| {
        assert_eq!(found(&ask(&project.engine, question)).len(), 1, "{question}");
    });
}

#[test]
fn a_word_in_the_summary_counts_more_than_one_in_the_detail() {
    let project = Project::new();
    let message = |summary: &str, detail: &str| {
        project
            .engine
            .post(&caller("ada"), &PostInput { detail: Some(detail.into()), ..finding(summary) })
            .expect("posts");
    };
    message("the gateway drops bursts", "seen when the load balancer was moved over night");
    message("the load balancer was moved over night", "since then the gateway drops bursts");
    assert_eq!(found(&ask(&project.engine, "gateway bursts"))[0], "the gateway drops bursts");
    assert_eq!(
        found(&ask(&project.engine, "load balancer"))[0],
        "the load balancer was moved over night"
    );
}

#[test]
fn an_announcement_is_found_by_what_only_its_decision_says_and_told_once() {
    let project = Project::with_model();
    about_sessions(&project);
    let input = DecideInput {
        context: "the wombat importer times out".into(),
        ..choice("data", "src/db/", "keep rows in PostgreSQL")
    };
    project.decide(&input);
    let once = |question: &str| {
        let outcome = ask(&project.engine, question);
        assert_eq!(
            found(&outcome).iter().filter(|summary| **summary == "keep rows in PostgreSQL").count(),
            1,
            "{question}: {outcome:?}"
        );
        assert_eq!(outcome.results[0].entry.entry_type, "decision", "{question}");
    };
    once("wombat importer");
    once("PostgreSQL rows");
    project.make_vectors();
    once("wombat importer");
    once("PostgreSQL rows");
    once("which relational database stores our records");
}

#[test]
fn an_announcement_whose_decision_is_missing_is_found_by_its_own_words() {
    let project = Project::new();
    project.post("finding", "here before");
    let foreign = json!({"id": "01M7EB3QWY4C5CPJF6982ZJQ18", "timestamp": "2026-11-14T09:00:00.000Z", "agent_id": "git", "entry_type": "decision",
        "tags": [], "relates_to": ["01M7EB3QWY4C5CPJF6982ZJQ19"], "scope": "src/", "summary": "paginate with cursors", "detail": ""});
    let board =
        format!("{}\n{foreign}\n", serde_json::to_string(&project.board()[0]).expect("is JSON"));
    project.write("blackboard.jsonl", &board);
    assert_eq!(found(&ask(&project.engine, "cursors")), ["paginate with cursors"]);
}

#[test]
fn an_announcement_is_found_after_its_decision_was_reworded_by_hand() {
    let project = Project::new();
    let decided = project.decide(&choice("data", "src/db/", "paginate with cursors"));
    let mut decision = project.decision(&decided.id);
    decision.summary = "page through results by keyset".into();
    project.write(
        &format!("decisions/{}.json", decided.id),
        &serde_json::to_string(&decision).expect("is JSON"),
    );
    assert_eq!(found(&ask(&project.engine, "cursors")), ["paginate with cursors"]);
    let by_new_words =
        SearchDecisionsInput { query: "keyset".into(), ..SearchDecisionsInput::default() };
    assert_eq!(project.engine.search_decisions(&by_new_words).expect("searches").results.len(), 1);
}

#[test]
fn two_entries_with_the_same_text_are_both_found_by_meaning() {
    let project = Project::with_model();
    about_sessions(&project);
    about_sessions(&project);
    project.make_vectors();
    let outcome = ask(&project.engine, LOGGED_OUT);
    assert_eq!(found(&outcome)[..2], ["users are logged out when their session token expires"; 2]);
    assert_ne!(outcome.results[0].entry.id, outcome.results[1].entry.id);
}

#[test]
fn naming_its_author_brings_an_entry_up() {
    let project = Project::new();
    for agent in ["bob", "ada", "carl"] {
        project
            .engine
            .post(
                &caller(agent),
                &finding(&format!("the gateway drops bursts, {} of them", agent.len())),
            )
            .expect("posts");
    }
    let outcome = ask(&project.engine, "what did Carl say of the gateway and its bursts");
    assert_eq!(outcome.results[0].entry.agent_id, "carl");
    assert!(outcome.results[0].why.author > 0.0);
}

#[test]
fn the_same_question_gets_the_same_answer_from_every_process() {
    let project = Project::with_model();
    for n in 0..30 {
        project.post("finding", &format!("the cache of shard {n} is cold"));
        project.decide(&choice(&format!("d{n}"), "src/", &format!("warm the cache of shard {n}")));
    }
    project.make_vectors();
    let answer = |engine: &crate::Engine| {
        serde_json::to_string(&ask(engine, "cold caches after a restart")).expect("is JSON")
    };
    let first = answer(&project.engine);
    assert_eq!(first, answer(&project.engine));
    assert_eq!(first, answer(&project.another_engine_with_model()));
}

#[test]
fn a_question_is_answered_within_its_limit() {
    let project = Project::with_model();
    for n in 0..30 {
        project.post("finding", &format!("the cache of shard {n} is cold"));
    }
    project.make_vectors();
    let limited = |limit| {
        let input = QueryInput { query: "cold cache".into(), limit, ..QueryInput::default() };
        project.engine.query(&input).expect("searches").results.len()
    };
    assert_eq!((limited(Some(1)), limited(None), limited(Some(25))), (1, 10, 25));
}

#[test]
fn nothing_to_do_with_the_question_is_not_an_answer() {
    let project = Project::with_model();
    about_sessions(&project);
    project.make_vectors();
    let outcome = ask(&project.engine, "knead sourdough for ten minutes");
    assert!(outcome.results.is_empty(), "{outcome:?}");
}
