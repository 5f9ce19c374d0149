//! The summary of a scope.

use twining_model::Authority;

use crate::testing::{Project, choice};
use crate::{DecideInput, ScopeSummary, SummarizeInput};

fn summarize(project: &Project, scope: Option<&str>) -> ScopeSummary {
    project.engine.summarize(&SummarizeInput { scope: scope.map(str::to_owned) }).expect("sums up")
}

fn counts(summary: &ScopeSummary) -> [u64; 5] {
    let ScopeSummary {
        active_decisions,
        provisional_decisions,
        open_needs,
        active_warnings,
        unanswered_questions,
        ..
    } = summary;
    [
        *active_decisions,
        *provisional_decisions,
        *open_needs,
        *active_warnings,
        *unanswered_questions,
    ]
}

/// The position of each part in the text, which contains them all.
fn places(text: &str, parts: &[&str]) -> Vec<usize> {
    parts
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("`{part}` is not in: {text}")))
        .collect()
}

#[test]
fn the_most_important_comes_first_and_each_is_named() {
    let project = Project::new();
    project.post("finding", "the cache is cold after restarts");
    project.post("question", "who owns the gateway?");
    project.post("need", "a reviewer for the importer");
    project.decide(&choice("api", "src/", "use REST"));
    project.decide(&choice("data", "src/", "keep rows in PostgreSQL"));
    project.decide(&choice("data", "src/", "keep rows in SQLite"));
    project.post("warning", "retries charge the card twice");
    let summary = summarize(&project, None);
    assert_eq!(counts(&summary), [2, 1, 1, 2, 1], "the dispute was warned of as well");
    let text = &summary.recent_activity_summary;
    let shown = places(
        text,
        &[
            "retries charge the card twice",
            "In dispute",
            "use REST",
            "a reviewer for the importer",
            "who owns the gateway",
            "the cache is cold",
        ],
    );
    assert!(shown.is_sorted(), "{shown:?} {text}");
    assert!(
        text.contains("keep rows in PostgreSQL") && text.contains("keep rows in SQLite"),
        "{text}"
    );
    assert!(text.contains("provisional"), "{text}");
    assert!(!text.contains('\n') && text.ends_with('.'), "one paragraph: {text}");
}

#[test]
fn an_empty_project_is_said_to_be_empty() {
    let summary = summarize(&Project::new(), None);
    assert_eq!(counts(&summary), [0; 5]);
    assert_eq!(
        (summary.scope.as_str(), summary.recent_activity_summary.as_str()),
        ("project", "Nothing is recorded here yet.")
    );
}

#[test]
fn a_scope_tells_of_itself_alone() {
    let project = Project::new();
    project.post_in("src/auth/", "warning", "clock skew");
    project.post_in("src/authority/", "warning", "typos");
    project.decide(&choice("api", "src/auth/", "tokens are signed"));
    project.decide(&choice("api", "docs/", "write less"));
    let summary = summarize(&project, Some("src/auth/"));
    assert_eq!(counts(&summary), [1, 0, 0, 1, 0]);
    let text = &summary.recent_activity_summary;
    places(text, &["clock skew", "tokens are signed"]);
    assert!(!text.contains("typos") && !text.contains("write less"), "{text}");
    assert_eq!(counts(&summarize(&project, Some("lib/"))), [0; 5]);
}

#[test]
fn what_is_settled_is_not_open() {
    let project = Project::new();
    let warning = project.post("warning", "retries charge the card twice");
    let question = project.post("question", "who owns the gateway?");
    project.reply("status", "fixed", &warning);
    project.reply("answer", "the platform team", &question);
    let summary = summarize(&project, None);
    assert_eq!(counts(&summary), [0; 5]);
    assert!(
        !summary.recent_activity_summary.contains("retries"),
        "{}",
        summary.recent_activity_summary
    );
}

#[test]
fn an_old_decision_overridden_this_week_is_no_longer_settled_and_one_of_last_year_is_not_news() {
    let project = Project::new();
    let old = project.decide(&choice("api", "src/", "use REST"));
    project.decide(&choice("data", "lib/", "keep rows in PostgreSQL"));
    project.clock.advance_days(300);
    let quiet = summarize(&project, None).recent_activity_summary;
    assert!(quiet.starts_with("Quiet: ") && quiet.contains("2 decisions are in force"), "{quiet}");
    project.override_as(Authority::Confirmed, &old.id, None);
    let summary = summarize(&project, None);
    let text = &summary.recent_activity_summary;
    places(text, &["No longer active", "use REST", "overridden", "the client said no"]);
    assert!(!text.contains("Decided in the last"), "{text}");
    assert_eq!(summary.active_decisions, 1);
}

#[test]
fn many_of_a_kind_are_counted_and_a_few_are_named_in_a_paragraph_that_stays_short() {
    let project = Project::new();
    for n in 0..40 {
        project.post(
            "warning",
            &format!("beware of shard {n}, {}", "which is a long story ".repeat(8)),
        );
        project.post("finding", &format!("shard {n} is cold"));
        project.decide(&DecideInput {
            rationale: "r".into(),
            ..choice(&format!("d{n}"), "src/", &format!("move shard {n}"))
        });
    }
    let summary = summarize(&project, None);
    assert_eq!(counts(&summary), [40, 0, 0, 40, 0]);
    let text = &summary.recent_activity_summary;
    assert!(text.chars().count() < 2000, "{}", text.chars().count());
    assert!(text.starts_with("40 open warnings: “beware of shard 39"), "{text}");
    places(text, &["and 37 more", "move shard 39"]);
}
