//! What changed, by when it happened.

use twining_model::Authority;

use crate::testing::{Project, caller, choice};
use crate::{DecideInput, PromoteInput, ReconsiderInput, WhatChangedInput, WhatChangedOutcome};

fn since(project: &Project, since: &str, scope: Option<&str>) -> WhatChangedOutcome {
    let input =
        WhatChangedInput { since: since.into(), scope: scope.map(str::to_owned), limit: None };
    project.engine.what_changed(&input).expect("finds")
}

fn now(project: &Project) -> String {
    project.clock.advance_ms(1);
    project.clock.now().to_string()
}

fn counts(outcome: &WhatChangedOutcome) -> [usize; 6] {
    [
        outcome.new_decisions.len(),
        outcome.new_entries.len(),
        outcome.overridden_decisions.len(),
        outcome.reconsidered_decisions.len(),
        outcome.superseded_decisions.len(),
        outcome.promoted_decisions.len(),
    ]
}

fn reconsider(project: &Project, id: &twining_model::Id, why: &str) {
    project.clock.advance_ms(1);
    let input = ReconsiderInput {
        decision_id: id.to_string(),
        new_context: why.into(),
        ..ReconsiderInput::default()
    };
    project.engine.reconsider(&caller("bob"), &input).expect("reconsiders");
}

#[test]
fn a_decision_made_long_ago_and_overridden_today_is_told_as_overridden_today() {
    let project = Project::new();
    let old = project.decide(&choice("api", "src/", "use REST"));
    project.clock.advance_days(300);
    let morning = now(&project);
    assert_eq!(counts(&since(&project, &morning, None)), [0; 6]);
    project.override_as(Authority::Confirmed, &old.id, None);
    let today = since(&project, &morning, None);
    assert!(today.new_decisions.is_empty(), "it was not made today");
    let overridden = &today.overridden_decisions[0];
    assert_eq!(
        (&overridden.id, overridden.summary.as_str(), overridden.reason.as_str()),
        (&old.id, "use REST", "the client said no")
    );
    project.clock.advance_days(1);
    assert_eq!(counts(&since(&project, &now(&project), None)), [0; 6], "and not tomorrow");
}

#[test]
fn a_decision_doubted_superseded_or_promoted_is_told_by_when_it_happened() {
    let project = Project::new();
    let doubted = project.decide(&choice("api", "src/a/", "use REST"));
    let replaced = project.decide(&choice("data", "src/b/", "use SQLite"));
    let settled = project.decide(&choice("test", "src/c/", "test by hand"));
    reconsider(&project, &settled.id, "a doubt of long ago");
    project.clock.advance_days(40);
    let morning = now(&project);
    reconsider(&project, &doubted.id, "a client wants gRPC");
    project.decide(&DecideInput {
        supersedes: Some(replaced.id.to_string()),
        ..choice("data", "src/b/", "use PostgreSQL")
    });
    let input =
        PromoteInput { decision_ids: vec![settled.id.to_string()], ..PromoteInput::default() };
    project.engine.promote(&caller("ada"), &input).expect("promotes");
    let today = since(&project, &morning, None);
    assert_eq!(
        today.new_decisions.iter().map(|made| made.summary.as_str()).collect::<Vec<_>>(),
        ["use PostgreSQL"]
    );
    let reconsidered = &today.reconsidered_decisions[..];
    assert_eq!(
        reconsidered.iter().map(|shown| (&shown.id, shown.reason.as_str())).collect::<Vec<_>>(),
        [(&doubted.id, "a client wants gRPC")]
    );
    assert_eq!(
        today.superseded_decisions.iter().map(|shown| &shown.id).collect::<Vec<_>>(),
        [&replaced.id]
    );
    assert_eq!(
        today.promoted_decisions.iter().map(|shown| &shown.id).collect::<Vec<_>>(),
        [&settled.id]
    );
    assert!(today.overridden_decisions.is_empty());
}

#[test]
fn new_entries_are_told_newest_first_and_announcements_as_decisions_only() {
    let project = Project::new();
    project.post("finding", "before");
    let morning = now(&project);
    project.post("warning", "first");
    project.decide(&choice("api", "src/", "use REST"));
    project.post("finding", "second");
    let today = since(&project, &morning, None);
    let shown: Vec<(&str, &str)> = today
        .new_entries
        .iter()
        .map(|entry| (entry.entry_type.as_str(), entry.summary.as_str()))
        .collect();
    assert_eq!(shown, [("finding", "second"), ("warning", "first")]);
    assert_eq!(today.new_decisions.len(), 1);
    assert_eq!(today.omitted_count, 0);
}

#[test]
fn what_happened_at_the_very_moment_counts() {
    let project = Project::new();
    project.post("finding", "now");
    project.engine.decide(&caller("ada"), &choice("api", "src/", "use REST")).expect("decides");
    let shown = since(&project, &project.clock.now().to_string(), None);
    assert_eq!(counts(&shown), [1, 1, 0, 0, 0, 0]);
}

#[test]
fn a_scope_narrows_every_list_by_path_components() {
    let project = Project::new();
    let morning = now(&project);
    for scope in ["src/auth/", "src/authority/"] {
        project.post_in(scope, "finding", &format!("found in {scope}"));
        let made = project.decide(&choice("api", scope, &format!("made in {scope}")));
        project.override_as(Authority::Confirmed, &made.id, None);
    }
    let by_file = DecideInput {
        affected_files: vec!["src/auth/jwt.rs".into()],
        ..choice("data", "docs/", "made elsewhere, and bears on it")
    };
    project.decide(&by_file);
    let shown = since(&project, &morning, Some("src/auth"));
    let summaries: Vec<&str> =
        shown.new_decisions.iter().map(|made| made.summary.as_str()).collect();
    assert_eq!(summaries, ["made elsewhere, and bears on it", "made in src/auth/"]);
    assert_eq!(
        shown.overridden_decisions.iter().map(|ended| ended.summary.as_str()).collect::<Vec<_>>(),
        ["made in src/auth/"]
    );
    assert!(
        shown.new_entries.iter().all(|entry| !entry.summary.contains("authority")),
        "{shown:?}"
    );
    assert!(shown.new_entries.iter().any(|entry| entry.summary == "found in src/auth/"));
}

#[test]
fn nothing_changed_in_an_empty_project() {
    let project = Project::new();
    let shown = since(&project, "2020-01-01", None);
    assert_eq!((counts(&shown), shown.omitted_count), ([0; 6], 0));
}

#[test]
fn each_list_keeps_its_limit_and_the_rest_is_counted() {
    let project = Project::new();
    let morning = now(&project);
    for n in 0..7 {
        project.post("finding", &format!("finding {n}"));
        project.decide(&choice(&format!("d{n}"), "src/", &format!("choice {n}")));
    }
    let limited = |limit| {
        project.engine.what_changed(&WhatChangedInput {
            since: morning.clone(),
            scope: None,
            limit: Some(limit),
        })
    };
    let shown = limited(3).expect("finds");
    assert_eq!(counts(&shown), [3, 3, 0, 0, 0, 0]);
    assert_eq!(shown.omitted_count, 8);
    assert_eq!(shown.new_decisions[0].summary, "choice 6", "the newest are kept");
    assert_eq!(limited(7).expect("finds").omitted_count, 0);
    assert!(limited(0).expect_err("refused").to_string().starts_with("`limit` "));
    let input = WhatChangedInput { since: "yesterday".into(), ..WhatChangedInput::default() };
    assert!(
        project
            .engine
            .what_changed(&input)
            .expect_err("refused")
            .to_string()
            .starts_with("`since` ")
    );
}
