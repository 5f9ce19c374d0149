//! What changed, by when it happened.

use twining_model::Authority;

use crate::context::base_records::BaseRecords;
use crate::testing::{Project, caller, choice};
use crate::{DecideInput, PromoteInput, ReconsiderInput, WhatChangedInput, WhatChangedOutcome};

fn since(project: &Project, since: &str, scope: Option<&str>) -> WhatChangedOutcome {
    let input = WhatChangedInput {
        since: since.into(),
        scope: scope.map(str::to_owned),
        ..WhatChangedInput::default()
    };
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
    project.engine.promote(&caller("ada"), Authority::Claimed, &input).expect("promotes");
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
            limit: Some(limit),
            ..WhatChangedInput::default()
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

#[test]
fn each_row_tells_when_by_whom_where_and_why() {
    let project = Project::new();
    let morning = now(&project);
    project.post_in("src/auth/", "finding", "found");
    let made = project.decide(&choice("api", "src/", "use REST"));
    reconsider(&project, &made.id, "a client wants gRPC");
    let shown = since(&project, &morning, None);
    assert_eq!(shown.since, morning);
    let entry = shown.new_entries.iter().find(|entry| entry.summary == "found").expect("is told");
    let decision = &shown.new_decisions[0];
    assert_eq!((entry.by.as_str(), entry.scope.as_str()), ("ada", "src/auth/"));
    assert!(entry.at >= morning && decision.at >= entry.at, "{shown:?}");
    assert_eq!((decision.by.as_str(), decision.scope.as_str()), ("ada", "src/"));
    assert!(!decision.reason.is_empty());
    let doubted = &shown.reconsidered_decisions[0];
    assert_eq!((doubted.by.as_str(), doubted.scope.as_str()), ("bob", "src/"));
    assert!(doubted.at > decision.at);
}

#[test]
fn pages_of_every_list_together_hold_all_of_them_once() {
    let project = Project::new();
    let morning = now(&project);
    for n in 0..7 {
        project.post("finding", &format!("finding {n}"));
        project.decide(&choice(&format!("d{n}"), "src/", &format!("choice {n}")));
    }
    let (mut offset, mut entries, mut decisions) = (Some(0), Vec::new(), Vec::new());
    while let Some(at) = offset {
        let input = WhatChangedInput {
            since: morning.clone(),
            limit: Some(3),
            offset: Some(at),
            ..WhatChangedInput::default()
        };
        let page = project.engine.what_changed(&input).expect("finds");
        assert_eq!(page.total, 14);
        entries.extend(page.new_entries.into_iter().map(|entry| entry.id));
        decisions.extend(page.new_decisions.into_iter().map(|decision| decision.id.to_string()));
        offset = page.next_offset;
    }
    entries.sort();
    entries.dedup();
    assert_eq!((entries.len(), decisions.len()), (7, 7));
}

#[test]
fn a_branch_is_told_by_what_its_base_did_not_have() {
    let project = Project::new();
    let posted = project.post("finding", "on main").to_string();
    let made = project.decide(&choice("api", "src/", "use REST"));
    let base = BaseRecords {
        commit: "c0ffee".to_owned(),
        at: Some(project.clock.now()),
        entries: [posted].into(),
        decisions: [(made.id.clone(), project.decision(&made.id).history)].into(),
    };
    // Older than the base by its clock, and still new on the branch.
    project.post_in("src/", "finding", "on the branch");
    project.decide(&choice("data", "src/", "use SQLite"));
    reconsider(&project, &made.id, "a client wants gRPC");
    let input = WhatChangedInput { base: Some("main".into()), ..WhatChangedInput::default() };
    let shown = project.engine.changed_from_base(&input, &base).expect("finds");
    assert_eq!(counts(&shown)[..4], [1, shown.new_entries.len(), 0, 1]);
    assert_eq!(shown.new_decisions[0].summary, "use SQLite");
    let summaries: Vec<&str> =
        shown.new_entries.iter().map(|entry| entry.summary.as_str()).collect();
    assert!(summaries.contains(&"on the branch") && !summaries.contains(&"on main"));
    assert_eq!(shown.merge_base.as_deref(), Some("c0ffee"));
    let neither = project.engine.what_changed(&WhatChangedInput::default());
    assert!(neither.expect_err("refused").to_string().starts_with("`since` "));
}
